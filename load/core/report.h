#pragma once

#include "load/core/error_samples.h"
#include "load/core/generator_watch.h"
#include "load/core/load_plan.h"
#include "load/core/replica_track.h"
#include "load/core/results.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// A generator whose requests start later than this, at the 99th percentile, measures itself.
inline constexpr Duration kLagTolerated = std::chrono::milliseconds{10};

/// All that is known at the end of a run: what every form of the report reads.
struct Report {
  LoadPlan plan;
  Results results;
  ReplicaTrack track;                ///< of all services together
  std::vector<ReplicaTrack> tracks;  ///< by target; empty: none was watched
  Duration length{0};                ///< start to end, draining included
  std::size_t connections = 0;       ///< most open at once
  std::uint64_t cap_waits = 0;    ///< times a request fell due with every allowed connection busy
  GeneratorWatch generator = {};  ///< how this machine ran the generator
  bool interrupted = false;
  ErrorSamples errors;  ///< why requests failed
};

/// A condition after the run.
struct Verdict {
  std::string expression;
  Use use = Use::fail_if;
  std::optional<double> actual;  ///< seconds, requests or a fraction; nothing: not known
  std::string shown;             ///< `actual` with its unit
  bool failed = false;           ///< a `--fail-if` that is true, an assertion that is not
};

/// Judges every condition of the plan. A time to zero that was not reached counts as infinite.
[[nodiscard]] std::vector<Verdict> judge(const Report& report);

/// True when the generator did not keep to its own plan, so that its figures are in doubt: requests
/// were not sent, or so many late that the rate was not kept. Never when nothing was answered: then
/// the reason is elsewhere. A run is late if one of its phases is.
[[nodiscard]] bool is_late(const Report& report, const Part& part = {});

/// True when requests started later than kLagTolerated, at the 99th percentile.
[[nodiscard]] bool is_behind(const Report& report, const Part& part = {});

/// Why a generator was late.
enum class LateCause {
  own_core,       ///< it used up its core
  no_connection,  ///< every connection it may have was busy
  no_local_port,  ///< the machine had no port for another connection
  server,         ///< none of these: what it talks to was too slow
};

/// `own_core` and so on, as in reports.
[[nodiscard]] std::string_view name_of(LateCause cause);

/// Nothing of a run that is not late.
[[nodiscard]] std::optional<LateCause> late_cause(const Report& report);

/// Requests per second that were really taken up in the measured part, or in the time of a phase.
[[nodiscard]] double achieved_rate(const Report& report, const Part& part = {});

/// Answers per second, from the start of the measured part to its end or, if that is later, to the
/// last answer.
[[nodiscard]] double answered_rate(const Report& report);

/// A run `at` this time since its start, in one line without a newline: what was sent and how it
/// ended.
[[nodiscard]] std::string progress_text(const LoadPlan& plan, const Tally& tally, Duration at);

/// The report for a person (one-machine.md 9), ending in a newline.
[[nodiscard]] std::string report_text(const Report& report, const std::vector<Verdict>& verdicts);

}  // namespace sluice::loadgen
