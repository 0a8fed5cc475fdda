#include "memory-pressure/core/kin.h"

#include "common/values/whole_number.h"

#include "memory-pressure/core/record_line.h"
#include <algorithm>
#include <cmath>

namespace sluice::node_agent {
namespace {

/// What was watched longer ago fades.
constexpr double kWindow = 600;
/// In which what lies between a peak and present use is halved.
constexpr double kPeakHalves = 600;
/// Larger figures are no memory of any machine.
constexpr std::int64_t kBytesMax = std::int64_t{1} << 50;
constexpr std::int64_t kWatchedMax = std::int64_t{1} << 40;  // ms

/// Each second weighs the same until the window is full, and then an equal part of it.
void weigh_in(Kin& kin, double bytes, double seconds) {
  const double before = to_seconds(kin.watched);
  const double weight = seconds / std::min(before + seconds, kWindow);
  const double off = bytes - kin.mean;
  kin.mean += weight * off;
  kin.variance = (1 - weight) * (kin.variance + weight * off * off);
  kin.watched += std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds});
}

std::string whole(double value) {
  return std::to_string(std::llround(value));
}

bool take(std::string_view value, std::int64_t most, double& to) {
  const auto number = whole_number<std::int64_t>(value);
  if (!number || *number < 0 || *number > most) return false;
  to = static_cast<double>(*number);
  return true;
}

/// False when the line is none of a kind.
bool parse(std::string_view line, std::string& kind, Kin& kin) {
  const auto body = body_of(line);
  if (!body) return false;
  std::string_view rest = *body;
  double deviation = 0;
  double watched = 0;
  while (!rest.empty()) {
    const std::string_view word = next_word(rest);
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    const std::string_view key = word.substr(0, equals);
    if (key == "kind") kind = unescaped(value).value_or("");
    if (key == "mean" && !take(value, kBytesMax, kin.mean)) return false;
    if (key == "sd" && !take(value, kBytesMax, deviation)) return false;
    if (key == "peak" && !take(value, kBytesMax, kin.peak)) return false;
    if (key == "ms" && !take(value, kWatchedMax, watched)) return false;
  }
  kin.variance = deviation * deviation;
  kin.watched = std::chrono::milliseconds{static_cast<std::int64_t>(watched)};
  return !kind.empty();
}

}  // namespace

std::string KinBook::kind_of(const Container& container) {
  const std::string& name =
      container.job_template.empty() ? container.name : container.job_template;
  return container.image + ' ' + name + ' ' + std::to_string(container.memory_limit);
}

void KinBook::take(const std::vector<Sample>& samples, Duration passed) {
  ++turn_;
  const double seconds = to_seconds(passed);
  std::map<std::string_view, std::int64_t> largest;
  for (const Sample& sample : samples) {
    std::int64_t& most = largest[sample.kind];
    most = std::max(most, sample.bytes);
    if (sample.typical && seconds > 0) {
      weigh_in(entry(sample.kind).kin, static_cast<double>(sample.bytes), seconds);
    }
  }
  const double kept = std::exp2(-seconds / kPeakHalves);
  for (const auto& [kind, bytes] : largest) {
    Entry& seen = entry(kind);
    const auto now = static_cast<double>(bytes);
    seen.kin.peak = now + std::max(0.0, seen.kin.peak - now) * kept;
    seen.seen = turn_;
  }
}

KinBook::Entry& KinBook::entry(std::string_view kind) {
  const auto found = all_.find(kind);
  if (found != all_.end()) return found->second;
  if (all_.size() >= kKinMax) {
    all_.erase(std::min_element(all_.begin(), all_.end(), [](const auto& a, const auto& b) {
      return a.second.seen < b.second.seen;
    }));
  }
  return all_.emplace(kind, Entry{.kin = {}, .seen = turn_}).first->second;
}

const Kin* KinBook::known(std::string_view kind) const {
  const auto found = all_.find(kind);
  const bool enough = found != all_.end() && found->second.kin.watched >= known_after_;
  return enough ? &found->second.kin : nullptr;
}

// The longest unseen first, so that reading keeps the order.
std::string KinBook::text() const {
  std::vector<const std::pair<const std::string, Entry>*> order;
  for (const auto& each : all_) order.push_back(&each);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.seen < b->second.seen; });
  std::string lines;
  for (const auto* each : order) {
    const Kin& kin = each->second.kin;
    const auto watched = std::chrono::duration_cast<std::chrono::milliseconds>(kin.watched);
    lines += record_line("kind=" + escaped(each->first) + " mean=" + whole(kin.mean) +
                         " sd=" + whole(std::sqrt(kin.variance)) + " peak=" + whole(kin.peak) +
                         " ms=" + std::to_string(watched.count()));
  }
  return lines;
}

void KinBook::read(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string kind;
    Kin kin;
    if (parse(text.substr(0, end), kind, kin) && !all_.contains(kind)) {
      ++turn_;
      entry(kind).kin = kin;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace sluice::node_agent
