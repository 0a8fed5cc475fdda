#include "autoscaler/placement/core/guard.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sluice::placement {
namespace {

constexpr std::array<std::string_view, 2> kFreezes{"unhealthy", "observer_suspect"};

constexpr std::int64_t kPercent = 100;

// Of a place this small every node matters; of the next larger ones one may go.
constexpr std::int32_t kSmall = 3;

// More than half of the nodes that fall silent within this time do not fail one by one.
constexpr Duration kSilenceWindow = std::chrono::seconds{30};

// What is seen is noted for this long before it is noted again, so that the notes of a window are
// few.
constexpr Duration kGrain = std::chrono::seconds{1};

std::int32_t percent_of(std::int32_t percent, std::int32_t count) {
  return static_cast<std::int32_t>(std::int64_t{percent} * count / kPercent);
}

}  // namespace

std::string_view name(Freeze freeze) {
  return kFreezes.at(static_cast<std::size_t>(freeze));
}

void Guard::observe(const Health& health, TimePoint now) {
  const Duration at = elapsed_.at(now);
  note(health, at);
  ready_ = std::max(0, health.nodes - health.bad);
  frozen_.reset();
  if (health.bad > std::max(limits_.bad_least, percent_of(limits_.bad_percent, health.nodes))) {
    frozen_ = Freeze::unhealthy;
  }
  if (blind(health, at)) frozen_ = Freeze::observer_suspect;
}

void Guard::note(const Health& health, Duration at) {
  const bool again = seen_.size() > 1 && at - seen_.back().at < kGrain;
  if (again) {
    // The least silence is what a sudden one is compared with.
    seen_.back().nodes = health.nodes;
    seen_.back().silent = std::min(seen_.back().silent, health.silent);
  } else {
    seen_.push_back({.at = at, .nodes = health.nodes, .silent = health.silent});
  }
  drop_old(at);
}

void Guard::drop_old(Duration at) {
  const Duration window = std::max(limits_.window, kSilenceWindow);
  while (seen_.size() > 1 && seen_[1].at <= at - window) seen_.pop_front();
  while (!removed_.empty() && removed_.front().at <= at - limits_.window) removed_.pop_front();
}

// Once set it holds until the agents of half of the nodes send again.
bool Guard::blind(const Health& health, Duration at) {
  std::int32_t least = health.silent;
  for (auto seen = seen_.rbegin(); seen != seen_.rend(); ++seen) {
    least = std::min(least, seen->silent);
    if (at - seen->at > kSilenceWindow) break;  // as it was when the window began
  }
  const bool most_now = std::int64_t{health.silent} * 2 > health.nodes;
  const bool together = std::int64_t{health.silent - least} * 2 > health.nodes;
  silent_ = together || (silent_ && most_now);
  return silent_ || health.watch_lost || health.writes_fail || health.offers_silent;
}

std::int32_t Guard::allowance(TimePoint now, std::optional<std::int32_t> percent) {
  const Duration at = elapsed_.at(now);
  drop_old(at);
  if (frozen_ || seen_.empty()) return 0;
  const std::int32_t before = seen_.front().nodes;
  std::int32_t removed = 0;
  for (const Removed& each : removed_) removed += each.count;
  const std::int32_t share =
      std::min(std::max(0, percent.value_or(limits_.percent)), limits_.percent_top);
  std::int32_t allowed = percent_of(share, before);
  if (before <= kSmall) allowed = before > 1 ? 1 : 0;
  // The last one that is ready stays.
  return std::max(0, std::min(allowed - removed, ready_ - 1));
}

std::int32_t Guard::take(std::int32_t asked, TimePoint now, std::optional<std::int32_t> percent) {
  const std::int32_t taken = std::min(std::max(0, asked), allowance(now, percent));
  if (taken == 0) return 0;
  const Duration at = elapsed_.at(now);
  if (!removed_.empty() && removed_.back().at == at) {
    removed_.back().count += taken;
  } else {
    removed_.push_back({.at = at, .count = taken});
  }
  ready_ -= taken;
  return taken;
}

}  // namespace sluice::placement
