#pragma once

#include "activator/core/request_reporter.h"
#include "activator/core/throttler.h"
#include "autoscaler/core/activators/activator_hub.h"
#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/fleet_events.h"
#include "autoscaler/io/platform.h"
#include "autoscaler/io/revision.h"
#include "autoscaler/io/ring_history.h"
#include "autoscaler/io/scale_loop.h"
#include "autoscaler/io/stat_source.h"
#include "common/api/event_ring.h"
#include "common/load/request_stats.h"
#include "common/log/log.h"
#include "common/time/time_point.h"
#include "tests/simulation/properties.h"
#include "tests/support/manual_loop.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::simulation {

/// A range that a value is drawn from, evenly.
struct Range {
  Duration from{0};
  Duration to{0};
};

/// The world around the cores. Everything random comes from `seed`.
struct World {
  std::uint64_t seed = 1;
  autoscaler::ScalingSpec scaling;
  std::int32_t container_concurrency = 10;
  std::int32_t queue_depth = 1000;
  Range start{std::chrono::milliseconds{50}, std::chrono::seconds{3}};
  Range service{std::chrono::milliseconds{5}, std::chrono::seconds{2}};
  Range stat_delay{Duration{0}, std::chrono::milliseconds{900}};
  double stat_loss = 0;         ///< share of per-second stats and scrapes that never arrive
  double kills_per_second = 0;  ///< chance that a ready pod exits in a given second
  double failed_starts = 0;     ///< share of starts that end in death
  Range life{};                 ///< of a ready pod until it exits by itself; zero: without a limit
  /// Pods crash no more from here on; what still waits is served.
  Duration healed{std::chrono::hours{24 * 365}};
  Duration length{std::chrono::minutes{10}};  ///< of the load; what follows is quiet
  Duration quiet{std::chrono::seconds{150}};  ///< after the last request, for the way to zero
  std::function<double(Duration)> rate = {};  ///< arrivals per second at a time since the start
  bool print = false;                         ///< keep every decision in Outcome::decisions
};

/// The result of the run. Every request ends in exactly one of answered, refused and cut.
struct Outcome {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
  std::uint64_t cut = 0;  ///< ran on a pod that exited
  std::uint64_t wakes = 0;
  std::uint64_t sleeps = 0;
  std::int32_t pods_max = 0;
  std::int32_t pods_at_end = 0;
  std::uint64_t deaths = 0;  ///< of pods, starting or ready
  std::string breach;        ///< the first invariant that was broken, with its time; empty: none
  std::string decisions;     ///< all of them, printed, if the world wants it
};

/// One revision on virtual time, request by request: a front door (throttler and reporter), pods
/// with start and service times, links that delay and drop stats, and between them the engine's own
/// Revision and ScaleLoop. Invariants are checked at each event that could break them.
class Loop final : private autoscaler::Platform, private autoscaler::StatSource {
 public:
  explicit Loop(World world);
  ~Loop() override;

  [[nodiscard]] Outcome run();

 private:
  struct Request {
    activator::PodRef pod;
    std::uint64_t pod_number = 0;
    bool running = false;
  };

  enum class PodPhase : std::uint8_t { starting, ready, draining };

  struct Pod {
    PodPhase phase = PodPhase::starting;
    load::RequestStats stats;
    std::vector<std::uint64_t> running = {};  // requests
  };

  // As the platform of the engine.
  [[nodiscard]] std::optional<Problem> open(model::Listener& listener, TimePoint now,
                                            Settled settled) override;
  [[nodiscard]] std::optional<autoscaler::ScaleOrder> last(const RevisionId& revision) override;
  void apply(const RevisionId& revision, const autoscaler::ScaleOrder& order) override;

  void forget(const RevisionId& /*revision*/) override {}

  void probe(const RevisionId& revision, std::function<void(bool ok)> done) override;

  [[nodiscard]] std::vector<std::string> wrong() const override { return {}; }

  [[nodiscard]] std::vector<autoscaler::HealthCheck> checks() const override { return {}; }

  // As its source of stats.
  [[nodiscard]] std::unique_ptr<Question> ask(const std::string& address,
                                              Answered answered) override;

  template <class Action>
  void after(Duration wait, Action action) {
    time_.after(wait, action);
  }

  void arrive(bool redrawn);
  void finish(std::uint64_t request);
  void run_on(std::uint64_t request, activator::PodRef pod);
  void admit(const std::vector<activator::Admission>& admitted);
  void pod_ready(std::uint64_t number);
  void second();
  void report();
  void push(const autoscaler::Stat& stat, std::optional<TimePoint> at);
  void put_in_force();
  void check(const autoscaler::ScaleOrder& order);
  void obey();
  void start_pod();
  void drain(std::uint64_t number);
  void kill_one();
  void die(std::uint64_t number);
  void drop_if_drained(std::uint64_t number);
  void pods_changed();
  void check_waiting();
  void breach(const std::string& what);
  [[nodiscard]] model::Revision facts() const;
  [[nodiscard]] std::int32_t count(PodPhase phase) const;
  [[nodiscard]] std::int32_t wanted_pods() const;
  [[nodiscard]] std::uint64_t open_requests() const;
  [[nodiscard]] double chance();
  [[nodiscard]] Duration draw(const Range& range);

  [[nodiscard]] TimePoint now() const { return time_.now(); }

  World world_;
  std::mt19937_64 random_;
  ManualTime time_;
  TimePoint start_ = time_.now();
  activator::Throttler throttler_;
  activator::RequestReporter reporter_;
  activator::RequestReporter::Handle handle_;
  std::vector<Request> requests_;
  std::map<std::uint64_t, Pod> pods_;
  std::uint64_t next_pod_ = 1;
  Properties properties_;
  TimePoint last_open_ = start_;       // when load or a request was last seen
  TimePoint stranded_since_ = start_;  // since when a request waits and no pod exists
  std::optional<autoscaler::ScaleOrder> order_;
  std::int32_t want_ = 0;
  std::optional<TimePoint> checked_;  // the decision that was
  Outcome outcome_;

  // The engine.
  ManualLoop clock_{time_};
  log::Logger log_{"simulation", log::Severity::error};
  autoscaler::ScaleLoop scale_loop_{clock_};
  autoscaler::ActivatorHub hub_;
  autoscaler::NodeBook nodes_;
  placement::Placement placement_{nodes_.gates()};
  api::EventRing ring_;
  autoscaler::RingHistory history_;
  autoscaler::FleetEvents events_{clock_, ring_, history_};
  autoscaler::Surroundings around_;
  std::unique_ptr<autoscaler::Revision> revision_;
};

}  // namespace sluice::simulation
