#pragma once

#include "common/scaling/cluster_config.h"
#include "common/time/time_point.h"
#include "tests/simulation/activators_timeline.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sluice::simulation {

/// What goes wrong while the load lasts; nothing does afterwards. Figures `per_second` are chances
/// of each thing that can suffer, in each second; `share`s are chances of each event.
struct Faults {
  double cuts_per_second = 0;  ///< of each stream; what is under way is lost
  Between cut_noticed{std::chrono::milliseconds{1}, std::chrono::seconds{6}};  ///< by each end
  double stalls_per_second = 0;  ///< of each stream; nothing arrives until it is over
  Between stall{std::chrono::milliseconds{100}, std::chrono::seconds{4}};
  double autoscaler_kills_per_second = 0;
  Between autoscaler_down{std::chrono::milliseconds{200}, std::chrono::seconds{9}};
  double activator_leaves_per_second = 0;  ///< one drains and goes
  double activator_joins_per_second = 0;   ///< up to twice the ordinary number
  double pod_kills_per_second = 0;         ///< of each pod
  double share_failed_starts = 0;
  double share_slow_starts = 0;  ///< ten times as long
  double share_refused_connects = 0;
  double share_silent_probes = 0;
  double clock_jumps_per_second = 0;  ///< of one program
  Duration clock_jump_max{std::chrono::seconds{90}};
  double share_lost_batches = 0;  ///< of the WebSocket form, as the next two
  double share_doubled_batches = 0;
  double share_late_batches = 0;  ///< late enough to come in another order
  double share_lost_scrapes = 0;
  double share_late_files = 0;  ///< a program looks at a file seconds after it changed
  double share_leaving_clients = 0;
  double shortages_per_second = 0;  ///< the platform starts nothing, and reports it
  Between shortage{std::chrono::milliseconds{500}, std::chrono::seconds{6}};
};

/// A world that does one thing wrong, to prove that a rule notices. Faults of the programs
/// are planted in their own files (plant_fault.py).
enum class Mutant : std::uint8_t {
  none,
  answers_twice,        ///< a pod answers a request again
  retries_begun,        ///< a request that was cut goes to another pod
  sidecar_lets_all_in,  ///< no limit at the sidecar
  deaf_autoscaler,      ///< messages of activators are ignored
  versions_restart,     ///< a new autoscaler begins at its first version
  stream_loses_states,  ///< on an open stream
};

/// Everything there is around the cores. All that is random comes from `seed`.
struct ActivatorsWorld {
  std::string shape = "custom";
  std::uint64_t seed = 1;
  bool websocket = false;  ///< the activators speak Knative's form instead of the stream
  std::int32_t activators = 2;
  std::int32_t revisions = 1;
  std::int32_t container_concurrency = 2;
  std::int32_t queue_depth = 200;    ///< of a revision at an activator
  std::int64_t queue_total = 1'000;  ///< of an activator
  std::int32_t sidecar_depth = 20;
  autoscaler::StringMap annotations;          ///< of each revision
  std::function<double(Duration)> rate = {};  ///< arrivals per second at each revision
  Between start{std::chrono::milliseconds{50}, std::chrono::seconds{2}};
  Between service{std::chrono::milliseconds{5}, std::chrono::milliseconds{800}};
  Between travel{std::chrono::microseconds{200}, std::chrono::milliseconds{3}};  ///< one way
  Between message{std::chrono::milliseconds{1}, std::chrono::milliseconds{40}};  ///< one way
  Between file{std::chrono::milliseconds{1}, std::chrono::milliseconds{50}};
  Between late_file{std::chrono::milliseconds{50}, std::chrono::seconds{3}};
  Duration timeout{std::chrono::seconds{30}};  ///< of a request
  Duration queue_wait{0};                      ///< as SLUICE_QUEUE_WAIT
  double share_with_body = 0.5;
  Duration length{std::chrono::seconds{60}};  ///< of the load, and of the faults
  Duration quiet{std::chrono::seconds{90}};   ///< for the way to zero
  Faults faults;
  Mutant mutant = Mutant::none;
};

/// The result of a run.
struct ActivatorsOutcome {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
  std::uint64_t cut = 0;
  std::uint64_t left = 0;
  std::uint64_t retried = 0;
  std::uint64_t waited = 0;
  std::uint64_t wakes = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t pods_started = 0;
  std::uint64_t pods_killed = 0;
  std::uint64_t pods_removed = 0;
  std::uint64_t streams_cut = 0;
  std::uint64_t autoscalers_killed = 0;
  std::uint64_t activators_gone = 0;
  std::uint64_t clock_jumps = 0;
  std::uint64_t shortages = 0;
  std::uint64_t events = 0;
  std::map<std::string, std::uint64_t> refused_by = {};  ///< reasons
  std::string breach = {};  ///< the first rule that was broken, with seed and time; empty: none

  /// Adds the figures of another run.
  void add(const ActivatorsOutcome& other);
};

/// The figures on one line.
[[nodiscard]] std::string printed(const ActivatorsOutcome& outcome);

/// Plays a world from beginning to end.
[[nodiscard]] ActivatorsOutcome play(const ActivatorsWorld& world);

}  // namespace sluice::simulation
