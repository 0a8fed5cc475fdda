#pragma once

#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <list>
#include <optional>
#include <string>

namespace sluice::autoscaler {

/// Something people should see in `kubectl describe`.
struct ScalerEvent {
  RevisionId scaler;
  std::string uid;  ///< of the scaler
  bool warning = false;
  std::string reason;
  std::string message;
  std::uint32_t count = 1;  ///< how often since the first time
  TimePoint first{};
  TimePoint last{};
};

/// Events on their way: the same of the same scaler are one with a count, one a second goes out
/// (api-server.md 2, row L8), and what does not fit is forgotten, the oldest first.
class EventLog {
 public:
  static constexpr Duration kPace = std::chrono::seconds{1};
  static constexpr std::size_t kWaitingMax = 1000;

  void add(ScalerEvent event, TimePoint now);

  /// The next one, when its time has come.
  [[nodiscard]] std::optional<ScalerEvent> take(TimePoint now);

  /// When take() has one; absent: nothing waits.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }

 private:
  std::list<ScalerEvent> waiting_;
  TimePoint free_at_{};
  std::uint64_t forgotten_ = 0;
};

}  // namespace sluice::autoscaler
