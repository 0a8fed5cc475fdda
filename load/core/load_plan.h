#pragma once

#include "load/core/arrivals.h"
#include "load/core/expression.h"
#include "load/core/replay.h"
#include "load/core/target.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::loadgen {

inline constexpr std::size_t kConnectionsMax = 10'000;
inline constexpr std::size_t kBodyBytesMax = 16U << 20U;

/// Who decides when the next request is sent.
enum class Loop {
  open,    ///< the schedule: answers that take long do not slow it down
  closed,  ///< each connection sends when its last answer has come
};

/// Everything one run does, settled before it starts.
struct LoadPlan {
  std::string url;  ///< as given, for the report
  Target target;
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  ///< at most kBodyBytesMax

  Loop loop = Loop::open;
  std::vector<Segment> segments{{50, std::chrono::seconds{30}}};  ///< open loop: rates over time
  std::string shape;  ///< the --shape that the segments came from, as given; empty: one rate
  std::optional<Replay> replay;  ///< open loop: recorded times; then there are no segments
  Arrivals arrivals = Arrivals::poisson;
  std::uint64_t seed = 1;
  /// Closed loop: how many send; open loop: how many may be open at once. 1 to kConnectionsMax.
  std::size_t connections = kConnectionsMax;
  /// Requests that a connection carries before it is closed, at least 1; absent: as many as the
  /// server lets it.
  std::optional<std::uint64_t> reuse = {};

  std::optional<std::uint64_t> count;                           ///< stop after so many requests
  std::optional<Duration> duration = std::chrono::seconds{30};  ///< of the measured part
  Duration warmup{0};                           ///< before the measured part; not counted
  Duration timeout = std::chrono::seconds{30};  ///< from taking up a request to its whole answer
  std::string ids;  ///< not empty: each request carries `X-Request-Id: <ids>-<n>`, n from 1

  std::vector<Expression> fail_if;
};

/// The method with which a request is sent.
[[nodiscard]] std::string_view method_of(const LoadPlan& plan, SentAs as);

/// Mean requests per second of an open loop.
[[nodiscard]] double mean_rate(const LoadPlan& plan);

/// The plan as the first line of a report: `open loop, 200/s for 60 s, poisson, seed 1`.
[[nodiscard]] std::string describe(const LoadPlan& plan);

/// Hands out the planned requests of an open loop: schedule or replay, warm-up and count together.
class Pacer {
 public:
  /// `cells` are those of the plan's replay, if it has one.
  explicit Pacer(const LoadPlan& plan, CellReader cells = {});

  /// When the next request is planned, as an offset from the start; nothing once all are taken.
  [[nodiscard]] std::optional<Duration> next() const;

  [[nodiscard]] bool due(Duration now) const { return next().has_value() && *next() <= now; }

  /// Takes the request at next(), which must be there.
  PlannedRequest take();

  /// How many requests planned up to `until` were never taken. Takes them.
  std::uint64_t skip_until(Duration until);

 private:
  ArrivalSchedule schedule_;
  std::optional<ReplaySchedule> replay_;
  std::optional<std::uint64_t> left_;
};

}  // namespace sluice::loadgen
