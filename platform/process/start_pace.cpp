#include "platform/process/start_pace.h"

#include <algorithm>

namespace sluice::local {

std::int32_t StartPace::room(const std::string& revision, TimePoint now) const {
  return line_.empty() || revision == turn_ ? places(now) : 0;
}

std::int32_t StartPace::places(TimePoint now) const {
  // A clock that was set back makes every start a new one.
  const auto counted = std::count_if(starts_.begin(), starts_.end(), [now](const auto& start) {
    return now - start.second < kCounts;
  });
  return std::max(0, at_once_ - static_cast<std::int32_t>(counted));
}

void StartPace::wait(const std::string& revision, bool awaited) {
  if (const auto found = places_.find(revision); found != places_.end()) {
    const bool was_awaited = !found->second.first;
    if (was_awaited || !awaited) return;
    leave(revision);
  }
  const Place place{!awaited, ++last_};
  line_.emplace(place, revision);
  places_.emplace(revision, place);
}

void StartPace::leave(const std::string& revision) {
  const auto found = places_.find(revision);
  if (found == places_.end()) return;
  line_.erase(found->second);
  places_.erase(found);
}

std::optional<std::string> StartPace::next(TimePoint now) {
  turn_.clear();
  if (line_.empty()) return std::nullopt;
  const bool awaited = !line_.begin()->first.first;
  if (!awaited && places(now) == 0) return std::nullopt;
  turn_ = line_.begin()->second;
  leave(turn_);
  return turn_;
}

std::optional<TimePoint> StartPace::due(TimePoint now) const {
  if (line_.empty()) return std::nullopt;
  std::optional<TimePoint> first;
  for (const auto& [replica, since] : starts_) {
    const bool counts = now - since < kCounts;
    if (counts && (!first || since < *first)) first = since;
  }
  return first ? std::optional{*first + kCounts} : std::nullopt;
}

}  // namespace sluice::local
