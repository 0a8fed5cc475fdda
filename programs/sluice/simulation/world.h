#pragma once

#include "autoscaler/core/decision/revision_scaler.h"
#include "autoscaler/core/recording/recorded_input.h"
#include "common/base/ids.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include "load/core/histogram.h"
#include "programs/sluice/simulation/times.h"
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace sluice::simulation {

/// A request to come, or only a moment at which the traffic is asked again.
struct NextArrival {
  Duration at{0};                        ///< since the start; never before now
  bool comes = true;                     ///< false: nothing arrives then
  std::optional<Duration> service = {};  ///< that a replica takes; absent: by World::service
};

/// What follows the arrival of now. Asked once at the start and at each moment that it named, with
/// the time since the start and the generator of the run. Nothing: the load is over.
using Traffic = std::function<std::optional<NextArrival>(Duration since, std::mt19937_64& random)>;

/// Other settings apply from now on.
struct NewScaling {
  autoscaler::ScalingSpec scaling;
};

/// By hand.
struct OrderToWake {};

struct OrderToSleep {};

/// A ready replica ends by itself.
struct LostReplica {};

/// No more replicas are started than there are then so many; absent: as many as are wanted.
struct Room {
  std::optional<std::int32_t> replicas = {};
};

/// Door and autoscaler stand still, as those of a process that is stopped.
struct Standstill {
  Duration length{0};
};

/// What happens to the service beside its requests.
struct Happening {
  Duration at{0};  ///< since the start; never before that of the one before
  std::variant<NewScaling, autoscaler::BoundsInput, OrderToWake, OrderToSleep, LostReplica, Room,
               Standstill>
      what;
};

/// The next one, asked for at the start and after each. Nothing: there is none.
using Happenings = std::function<std::optional<Happening>()>;

/// Facts of the world beside a decision.
struct Circumstances {
  std::int32_t want_before = 0;  ///< replicas asked for until now
  std::uint64_t in_flight = 0;   ///< requests that run or wait, as far as they were reported
  std::int32_t waiting = 0;      ///< those of them that wait for a replica
};

/// Sees each decision, once. What it returns, if that is not empty, is a breach and ends the run.
using Judge = std::function<std::string(const autoscaler::ScaleState&, const Circumstances&)>;

/// One service and the world around it. Everything random comes from `seed` and from the traffic.
struct World {
  std::uint64_t seed = 1;
  /// Both say when the autoscaler looks at it.
  RevisionId revision{"default", "app-00001"};
  TimePoint begin{std::chrono::seconds{1'700'000'000}};
  /// Replicas that are ready at the beginning, and the state from which the autoscaler continues;
  /// absent: there is none of either.
  std::optional<autoscaler::ScalerStart> from = {};
  autoscaler::ScalingSpec scaling;
  std::int32_t container_concurrency = 10;  ///< requests at once on a replica; 0: without a limit
  std::int32_t queue_depth = 1000;          ///< how many may wait, at least 1
  Times start = Times::even(std::chrono::milliseconds{50}, std::chrono::seconds{3});
  /// Of the first replicas, in the order in which they are started; then by `start`.
  std::vector<Duration> first_starts = {};
  Times service = Times::even(std::chrono::milliseconds{5}, std::chrono::seconds{2});
  Times stat_delay = Times::even(Duration{0}, std::chrono::milliseconds{900});
  double stat_loss = 0;            ///< share of per-second stats and scrapes that never arrive
  double kills_per_second = 0;     ///< chance that a ready pod exits in a given second
  double failed_starts = 0;        ///< share of starts that end in death
  std::optional<Times> life = {};  ///< of a ready pod until it exits by itself; absent: no limit
  /// Pods crash no more from here on; what still waits is served.
  Duration healed{std::chrono::hours{24 * 365}};
  Duration length{std::chrono::minutes{10}};  ///< of the load, at most; what follows is quiet
  Duration quiet{std::chrono::seconds{150}};  ///< after the last request, for the way to zero
  /// The run ends before that when no request is left and so many pods; absent: it does not.
  std::optional<std::int32_t> rest = {};
  std::optional<Duration> until = {};  ///< the run ends then, whatever runs; absent: as above
  Traffic traffic = {};
  Happenings happenings = {};  ///< empty: there are none
  Judge judge = {};            ///< empty: nothing is judged
};

/// The result of the run. Every request ends in exactly one of answered, refused and cut, or is
/// left at the end.
struct Outcome {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;    ///< those dismissed included
  std::uint64_t dismissed = 0;  ///< waited until no replica was possible any more
  std::uint64_t cut = 0;        ///< ran on a pod that exited
  std::uint64_t left = 0;       ///< ran or waited when the run ended
  std::uint64_t wakes = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t cold_starts = 0;  ///< times that a request found no replica ready, nor one waiting
  std::uint64_t panics = 0;       ///< times that panic mode began
  std::int32_t pods_max = 0;
  std::int32_t pods_at_end = 0;
  std::uint64_t deaths = 0;    ///< of pods, starting or ready
  double pod_seconds = 0;      ///< of pods that start, serve or drain
  Duration length{0};          ///< of the run
  Duration stranded{0};        ///< the longest that requests waited while there was no pod
  loadgen::Histogram waits{};  ///< of requests that began to run: for a replica
  std::string breach;          ///< the first invariant that was broken, with its time; empty: none
};

/// Adds the run of another service; what is the most or the longest stays that of one of them.
void add_to(Outcome& all, const Outcome& one);

/// Replicas that remain when no request has come for long.
[[nodiscard]] std::int32_t at_rest(const autoscaler::ScalingSpec& scaling);

}  // namespace sluice::simulation
