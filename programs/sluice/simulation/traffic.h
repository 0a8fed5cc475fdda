#pragma once

#include "common/base/result.h"

#include "load/core/segment.h"
#include "load/core/trace_arrivals.h"
#include "load/io/trace_file.h"
#include "programs/sluice/simulation/world.h"
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::simulation {

/// Independent arrivals at the rates of `segments`, those of `sluice load` with this seed. The load
/// lasts as long as they do, a pause at their end included.
[[nodiscard]] Traffic of_shape(std::vector<loadgen::Segment> segments, std::uint64_t seed);

/// The requests of a recorded trace, read while it runs.
class TraceTraffic {
 public:
  /// `service`: of a trace of several, the one whose requests come; empty: all. Of azure2019, whose
  /// functions follow one another in the file, one has to be named: see FunctionTraces.
  [[nodiscard]] static Result<TraceTraffic, Problem> open(const std::string& name,
                                                          std::string service, std::uint64_t seed);

  /// The next request, with what the trace has of how long it took.
  [[nodiscard]] std::optional<NextArrival> next();

  /// Why the traffic ended too early, or had nothing; absent: it did not.
  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

  /// Which lines were not used; empty: all were.
  [[nodiscard]] std::string skipped() const { return loadgen::describe_skipped(file_.facts()); }

 private:
  TraceTraffic(loadgen::TraceFile file, std::string name, std::string service, std::uint64_t seed);

  void read();
  void take(const loadgen::TraceCell& cell);

  loadgen::TraceFile file_;
  std::string name_;
  std::string service_;
  loadgen::TraceArrivals arrivals_;
  bool taken_ = false;  // a cell was
  std::optional<Problem> problem_;
};

/// A function of azure2019, and when its requests came, by minutes.
struct FunctionTrace {
  std::string name;
  std::vector<loadgen::TraceCell> cells;
};

/// The functions of a trace of azure2019 one after the other, those without a request left out.
/// Some are kept at a time.
class FunctionTraces {
 public:
  [[nodiscard]] static Result<FunctionTraces, Problem> open(const std::string& name);

  /// The next one; nothing at the end, or with a problem.
  [[nodiscard]] std::optional<FunctionTrace> next();

  /// Of the trace: its minutes, whether requests came in them or not.
  [[nodiscard]] Duration length() const { return length_; }

  /// As of TraceTraffic.
  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

  [[nodiscard]] std::string skipped() const { return loadgen::describe_skipped(file_.facts()); }

 private:
  FunctionTraces(loadgen::TraceFile file, Duration length)
      : file_{std::move(file)}, length_{length} {}

  void take(const loadgen::TraceCell& cell);

  loadgen::TraceFile file_;
  Duration length_;
  std::deque<FunctionTrace> read_;  // the last one may not be whole
  std::optional<Problem> problem_;
};

/// The requests of a function in a trace of that length.
[[nodiscard]] Traffic of_function(const FunctionTrace& function, Duration length,
                                  std::uint64_t seed);

}  // namespace sluice::simulation
