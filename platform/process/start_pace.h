#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sluice::local {

/// In what order replicas start. What a request waits for starts at once; of the rest, such as the
/// initial replicas of all services at the start of an engine, a few start at a time, the ones that
/// have waited longest first. Decides; the platform gives each revision its turn.
class StartPace {
 public:
  /// A start counts until its replica is ready or has ended, and no longer than this: programs that
  /// take their time hold up the others for no more than that.
  static constexpr Duration kCounts = std::chrono::seconds{1};

  /// Replicas of one revision that start in one turn of the loop, whatever waits for them.
  static constexpr std::int32_t kPerTurn = 4;

  /// `at_once`: how many starts may count at the same time.
  explicit StartPace(std::int32_t at_once) : at_once_{at_once} {}

  /// How many more replicas of the revision may start now for which no request waits: none while
  /// others stand in the line, unless it is its turn.
  [[nodiscard]] std::int32_t room(const std::string& revision, TimePoint now) const;

  /// The replica starts now.
  void started(const std::string& replica, TimePoint now) { starts_[replica] = now; }

  /// It is ready, or has ended.
  void settled(const std::string& replica) { starts_.erase(replica); }

  /// The revision has more to start. `awaited`: by a request, so that its turn comes first and
  /// needs no room. Once in the line it keeps its place.
  void wait(const std::string& revision, bool awaited);

  /// It has nothing left to start.
  void leave(const std::string& revision);

  [[nodiscard]] bool waits(const std::string& revision) const { return places_.contains(revision); }

  /// The revision whose turn has come, which is taken out of the line; nothing: none's has. The
  /// turn lasts until the next call.
  [[nodiscard]] std::optional<std::string> next(TimePoint now);

  /// When a turn comes because time has passed; nothing: none waits, or a turn can come now.
  [[nodiscard]] std::optional<TimePoint> due(TimePoint now) const;

 private:
  // Those that are awaited before the others, each in the order in which they came.
  using Place = std::pair<bool, std::uint64_t>;

  [[nodiscard]] std::int32_t places(TimePoint now) const;

  std::int32_t at_once_;
  std::map<std::string, TimePoint> starts_;  // by replica; no more than the engine runs
  std::map<Place, std::string> line_;        // at most every revision once
  std::map<std::string, Place> places_;
  std::string turn_;  // whose it is; empty: no revision has it
  std::uint64_t last_ = 0;
};

}  // namespace sluice::local
