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
#include "common/loop/manual_loop.h"
#include "common/time/time_point.h"

#include "programs/sluice/simulation/limited_site.h"
#include "programs/sluice/simulation/world.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::simulation {

/// One revision on virtual time, request by request: a front door (throttler and reporter), pods
/// with start and service times, links that delay and drop stats, and between them the engine's own
/// Revision and ScaleLoop. Invariants are checked at each event that could break them.
class Loop final : private autoscaler::Platform, private autoscaler::StatSource {
 public:
  explicit Loop(World world);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() override;

  /// The time at which the world begins.
  [[nodiscard]] TimePoint start() const { return start_; }

  /// Runs it to its end; once.
  [[nodiscard]] Outcome run();

 private:
  // A slot, which another request takes when this one has ended.
  struct Request {
    TimePoint since{};  // it came
    std::optional<Duration> service{};
    activator::PodRef pod{};
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

  void begin_with_replicas();
  void plan_happening();
  void happen(const Happening& happening);
  void plan_arrival();
  void arrive();
  void enter(const NextArrival& arrival);
  void refuse(std::uint64_t request);
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
  void count_pods();
  void watch_waiting();
  void breach(const std::string& what);
  [[nodiscard]] model::Revision facts() const;
  [[nodiscard]] std::int32_t count(PodPhase phase) const;
  [[nodiscard]] std::int32_t wanted_pods() const;
  [[nodiscard]] std::uint64_t open_requests() const;
  [[nodiscard]] double chance();
  [[nodiscard]] bool loaded() const;
  [[nodiscard]] TimePoint end() const;
  [[nodiscard]] bool rests() const;

  [[nodiscard]] TimePoint now() const { return time_.now(); }

  World world_;
  std::mt19937_64 random_;
  ManualTime time_{world_.begin};
  TimePoint start_ = time_.now();
  activator::Throttler throttler_;
  activator::RequestReporter reporter_;
  activator::RequestReporter::Handle handle_;
  std::vector<Request> requests_;
  std::vector<std::uint64_t> free_;  // slots of requests
  NextArrival next_;
  std::optional<TimePoint> load_ended_;  // by the traffic itself
  std::map<std::uint64_t, Pod> pods_;
  std::uint64_t next_pod_ = 1;
  std::size_t started_ = 0;            // of World::first_starts
  TimePoint last_open_ = start_;       // when load or a request was last seen
  TimePoint stranded_since_ = start_;  // since when a request waits and no pod exists
  std::optional<autoscaler::ScaleOrder> order_;
  std::int32_t want_ = 0;
  std::optional<TimePoint> checked_;  // the decision that was
  bool panics_ = false;
  bool cold_ = false;           // the cold start that was counted last is not over
  TimePoint counted_ = start_;  // until when pod_seconds is
  Outcome outcome_;

  // The engine.
  ManualLoop clock_{time_};
  log::Logger log_{"simulation", log::Severity::error};
  autoscaler::ScaleLoop scale_loop_{clock_};
  autoscaler::ActivatorHub hub_;
  autoscaler::NodeBook nodes_;
  LimitedSite site_;
  placement::Placement placement_{site_};
  api::EventRing ring_;
  autoscaler::RingHistory history_;
  autoscaler::FleetEvents events_{clock_, ring_, history_};
  autoscaler::Surroundings around_;
  std::unique_ptr<autoscaler::Revision> revision_;
};

}  // namespace sluice::simulation
