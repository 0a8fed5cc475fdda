#pragma once

#include "load/core/trace.h"
#include "load/core/trace_arrivals.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::loadgen {

inline constexpr double kReplaySpeedMin = 0.001;
inline constexpr double kReplaySpeedMax = 1000;
inline constexpr std::uint64_t kReplayTimesMax = 1000;

/// What a request is sent as.
enum class SentAs : std::uint8_t {
  planned,  ///< with the method and the body of the plan
  get,      ///< with this method and no body, as the three below
  head,
  options,
  remove,  ///< DELETE
  post,    ///< with this method and the body of the plan, as all below
  put,
  patch,
};

inline constexpr std::size_t kSentAs = 8;

/// Whether such a request has the body of the plan.
[[nodiscard]] bool has_body(SentAs as);

/// Which requests of a trace are sent, by their methods.
enum class Methods : std::uint8_t {
  safe,  ///< GET, HEAD and OPTIONS: the others may change something where they go
  all,   ///< DELETE, POST, PUT and PATCH too
};

/// What a recorded request with this method is sent as; an empty method is one that the trace does
/// not name. Nothing: it is not sent.
[[nodiscard]] std::optional<SentAs> sent_as(std::string_view method, Methods methods);

/// The part of a trace that is sent.
struct ReplayPart {
  Duration from{0};                  ///< since the start of the trace
  Duration until = Duration::max();  ///< after `from`
  Methods methods = Methods::safe;

  /// Whether the requests of `cell` are in it by their time, which is where the cell begins.
  [[nodiscard]] bool covers(const TraceCell& cell) const {
    return cell.at >= from && cell.at < until;
  }
};

/// Recorded traffic that an open loop sends again. What follows `times` is known once the trace was
/// read.
struct Replay {
  TraceName trace = {};
  double speed = 1;         ///< so many times as fast: kReplaySpeedMin to kReplaySpeedMax
  std::uint64_t times = 1;  ///< each request so many times: 1 to kReplayTimesMax
  ReplayPart part = {};     ///< the rest of the trace is as if it were not there

  TraceFormat format = TraceFormat::csv;
  std::uint64_t requests = 0;  ///< to be sent: those of the part, each `times` times
  std::uint64_t left_out = 0;  ///< of the part: with methods that are not sent
  Duration length{0};          ///< of the part, at `speed`
  Duration resolution{0};      ///< of the times of the trace; 0: exact
  std::string skipped = {};    ///< lines that were not read and why; empty: none
};

/// A request of an open loop.
struct PlannedRequest {
  Duration at{0};  ///< since the start of the run
  SentAs as = SentAs::planned;
  std::size_t target = 0;  ///< its place in the plan, as that of the phase
  std::size_t phase = 0;
  std::uint64_t index = 0;   ///< among those of the run, from 0
  std::uint64_t number = 0;  ///< among those of its target, from 1
};

/// Passes further cells of a trace to the sink. False: no cell follows those of this call.
using CellReader = std::function<bool(const CellSink&)>;

/// The requests of a replay in order of their times. Reads cells as they are needed, about
/// order_kept() ahead. One seed gives the same times on every machine.
class ReplaySchedule {
 public:
  ReplaySchedule(const Replay& replay, std::uint64_t seed, CellReader cells);

  /// The next request, never before the one taken last; nothing after the last one.
  [[nodiscard]] const std::optional<PlannedRequest>& next() const { return next_; }

  /// Moves on to the request after next().
  void take();

 private:
  void add(const TraceCell& cell);

  double speed_;
  std::uint64_t times_;
  ReplayPart part_;
  TraceArrivals arrivals_;
  CellReader cells_;
  bool ended_ = false;
  TraceCell cell_;  // what is kept of one: no names
  std::optional<PlannedRequest> next_;
};

}  // namespace sluice::loadgen
