#pragma once

#include "common/base/result.h"

#include "load/core/arrivals.h"
#include "load/core/expression.h"
#include "load/core/mix.h"
#include "load/core/path_template.h"
#include "load/core/replay.h"
#include "load/core/target.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::loadgen {

inline constexpr std::size_t kConnectionsMax = 10'000;
inline constexpr std::size_t kThreadsMax = 64;
inline constexpr std::size_t kStreamsMax = 1000;  // of a connection of HTTP/2
inline constexpr std::size_t kBodyBytesMax = 16U << 20U;
inline constexpr std::size_t kHeadersMax = 100;
inline constexpr std::size_t kTargetsMax = 100;
inline constexpr std::size_t kPhasesMax = 1000;
inline constexpr std::size_t kConditionsMax = 100;
inline constexpr double kTolerance = 0.1;  ///< of a comparison, unless given
inline constexpr Duration kEveryMin = std::chrono::milliseconds{1};  // of a WebSocket
inline constexpr Duration kRunMax = std::chrono::hours{24};

/// Who decides when the next request is sent.
enum class Loop {
  open,    ///< the schedule: answers that take long do not slow it down
  closed,  ///< each connection sends when its last answer has come
};

/// What is sent to one place.
struct TargetPlan {
  std::string name;  ///< in reports and conditions; of a run without a scenario empty
  std::string url;   ///< as given
  Target target = {};
  PathTemplate path = PathTemplate::literal("/");
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};  ///< at most kBodyBytesMax; of a WebSocket each message, empty: `ping`
  Duration every = std::chrono::seconds{1};  ///< WebSocket: from message to message
  Duration hold = std::chrono::seconds{10};  ///< WebSocket: how long a session lasts
};

/// A stretch of a run with its own rates and its own mix of targets.
struct Phase {
  std::string name;  ///< of a run without a scenario empty
  std::vector<Segment> segments{{50, std::chrono::seconds{30}}};  ///< open loop: rates over time
  std::string shape = {};             ///< what the segments came from, as given; empty: one rate
  std::optional<Replay> replay = {};  ///< open loop: recorded times; then there are no segments
  std::vector<double> mix = {};       ///< share by target, one above 0; empty: all alike

  /// Planned from the first to the last instant.
  [[nodiscard]] Duration length() const;
};

/// How servers are called over TLS; all as PEM.
struct TlsPlan {
  bool verify = true;       ///< false: any certificate will do
  std::string ca;           ///< the authorities that are trusted; empty: those of the machine
  std::string certificate;  ///< shown to servers that ask for one; empty: none
  std::string key;
};

/// Everything one run does, settled before it starts.
struct LoadPlan {
  std::string name;                    ///< of the scenario; empty: there is none
  std::string run_name = {};           ///< of its reports, if another; see run_name()
  std::vector<TargetPlan> targets{1};  ///< 1 to kTargetsMax
  std::vector<Phase> phases{1};        ///< in turn, 1 to kPhasesMax; of a closed loop one

  Loop loop = Loop::open;
  Arrivals arrivals = Arrivals::poisson;
  std::uint64_t seed = 1;
  /// Closed loop: how many send; open loop: how many may be open at once. 1 to kConnectionsMax.
  std::size_t connections = kConnectionsMax;
  /// Requests that a connection carries before it is closed, at least 1; absent: as many as the
  /// server lets it.
  std::optional<std::uint64_t> reuse = {};

  /// HTTP/2: streams at once on a connection, at least 1; absent: as many as the server allows, and
  /// in a closed loop one.
  std::optional<std::size_t> streams = {};
  /// That send, 1 to kThreadsMax and no more than connections; the schedule is the same for any.
  std::size_t threads = 1;

  std::optional<std::uint64_t> count;                           ///< stop after so many requests
  std::optional<Duration> duration = std::chrono::seconds{30};  ///< of the measured part
  Duration warmup{0};                           ///< before the measured part; not counted
  Duration timeout = std::chrono::seconds{30};  ///< from taking up a request to its whole answer
  TlsPlan tls;
  std::string ids;  ///< not empty: each request carries `X-Request-Id: <ids>-<n>`, n from 1

  std::vector<Expression> conditions;  ///< at most kConditionsMax

  std::string baseline;           ///< path of the report to compare with; empty: none
  double tolerance = kTolerance;  ///< of that comparison; 0.1 is 10 %

  /// Whether a target is under TLS.
  [[nodiscard]] bool any_tls() const;
  /// The place of a target or a phase with this name; nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> target_named(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> phase_named(std::string_view name) const;
  /// When a phase begins, as an offset from the start of the run; the first after the warm-up.
  [[nodiscard]] Duration begin_of(std::size_t phase) const;
};

/// Adds a header, of which a plan has at most kHeadersMax. Those that follow from the body are
/// refused.
[[nodiscard]] std::optional<Problem> add_header(
    std::vector<std::pair<std::string, std::string>>& headers, std::string name, std::string value);

/// The same in place of one with the same name.
[[nodiscard]] std::optional<Problem> set_header(
    std::vector<std::pair<std::string, std::string>>& headers, const std::string& name,
    std::string value);

/// Sets the method of `target`, empty for the one that its body asks for, and looks at the size of
/// that.
[[nodiscard]] std::optional<Problem> settle_method(TargetPlan& target, const std::string& method);

/// What keeps `target` of `plan` from being called by gRPC or WebSocket, if that is how it is
/// spoken to.
[[nodiscard]] std::optional<Problem> protocol_problem(const LoadPlan& plan,
                                                      const TargetPlan& target);

/// `uniform` or `poisson`; nothing for another word.
[[nodiscard]] std::optional<Arrivals> parse_arrivals(std::string_view word);

/// Sets how many requests a connection carries: `always` as many as the server lets it, `never` 1,
/// or a number from 1 on. A problem begins with `name`.
[[nodiscard]] std::optional<Problem> set_reuse(LoadPlan& plan, std::string_view word,
                                               const std::string& name);

/// What is wrong with the target or the phase that `condition` names: the plan has no such one.
[[nodiscard]] std::optional<ExpressionProblem> unknown_part(const LoadPlan& plan,
                                                            const Expression& condition);

/// The method with which a request is sent.
[[nodiscard]] std::string_view method_of(const TargetPlan& target, SentAs as);

/// Mean requests in a whole phase.
[[nodiscard]] double expected_requests(const Phase& phase);

/// Mean requests to `target` from one instant of the run to another, of phases with rates: replayed
/// ones count as none. Warm-up is left out.
[[nodiscard]] double expected_requests(const LoadPlan& plan, std::size_t target, Duration from,
                                       Duration to);

/// The phase that an instant belongs to, the last one from its end on.
[[nodiscard]] std::size_t phase_at(const LoadPlan& plan, Duration at);

/// Mean requests per second of an open loop.
[[nodiscard]] double mean_rate(const LoadPlan& plan);

/// By what name reports know the run: the one it was given, that of its scenario, or `load`.
[[nodiscard]] std::string run_name(const LoadPlan& plan);

/// The plan as the first line of a report: `open loop, 200/s for 60 s, poisson, seed 1`.
[[nodiscard]] std::string describe(const LoadPlan& plan);

/// The whole plan of a scenario, a line for each target, phase and condition.
[[nodiscard]] std::string plan_text(const LoadPlan& plan);

/// Which requests of a run a thread sends: those whose index is `thread` modulo `threads`.
struct Share {
  std::size_t thread = 0;
  std::size_t threads = 1;
};

/// Hands out the planned requests of an open loop: phases in turn, warm-up and count together.
class Pacer {
 public:
  /// `plan` outlives the pacer. `cells` are those of the replays, by phase. Of one schedule, the
  /// same for any number of threads, those of `share` are handed out.
  explicit Pacer(const LoadPlan& plan, std::vector<CellReader> cells = {}, Share share = {});

  /// The next request, its time an offset from the start; nothing once all are taken.
  [[nodiscard]] const std::optional<PlannedRequest>& next() const { return next_; }

  [[nodiscard]] bool due(Duration now) const { return next_.has_value() && next_->at <= now; }

  /// Takes the request at next(), which must be there.
  PlannedRequest take();

  /// Takes the requests planned up to `until`, and passes them to `skipped`.
  void skip_until(Duration until, const std::function<void(const PlannedRequest&)>& skipped);

 private:
  void enter(std::size_t phase);
  void plan_next();
  bool draw_next();
  void pass();

  const LoadPlan& plan_;
  std::vector<CellReader> cells_;
  Share share_;
  std::uint64_t index_ = 0;
  std::vector<std::uint64_t> numbers_;  // by target
  std::size_t phase_ = 0;
  Duration begin_{0};  // of the phase, or of the warm-up before it
  Duration end_{0};
  // Of a phase there is one of both.
  std::optional<ArrivalSchedule> schedule_;
  std::optional<ReplaySchedule> replay_;
  std::optional<Mix> mix_;
  std::optional<std::uint64_t> left_;
  std::optional<PlannedRequest> next_;
};

}  // namespace sluice::loadgen
