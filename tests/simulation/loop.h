#pragma once

#include "activator/core/request_reporter.h"
#include "activator/core/throttler.h"
#include "autoscaler/core/decision/revision_scaler.h"
#include "common/load/request_stats.h"
#include "common/time/time_point.h"
#include "tests/simulation/properties.h"

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
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
  double kills_per_second = 0;  ///< chance that a ready pod dies in a given second
  double failed_starts = 0;     ///< share of starts that end in death
  Range life{};                 ///< of a ready pod until it dies by itself; zero: for ever
  /// Pods crash no more from here on; what still waits is served.
  Duration healed{std::chrono::hours{24 * 365}};
  Duration length{std::chrono::minutes{10}};  ///< of the load; what follows is quiet
  Duration quiet{std::chrono::seconds{150}};  ///< after the last request, for the way to zero
  std::function<double(Duration)> rate = {};  ///< arrivals per second at a time since the start
  bool print = false;                         ///< keep every decision in Outcome::decisions
};

/// What became of the run. Every request ends in exactly one of answered, refused and cut.
struct Outcome {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
  std::uint64_t cut = 0;  ///< ran on a pod that died
  std::uint64_t wakes = 0;
  std::uint64_t sleeps = 0;
  std::int32_t pods_max = 0;
  std::int32_t pods_at_end = 0;
  std::uint64_t deaths = 0;  ///< of pods, starting or ready
  std::string breach;        ///< the first invariant that was broken, with its time; empty: none
  std::string decisions;     ///< all of them, printed, if the world asks for it
};

/// The whole loop on virtual time: a front door (throttler and reporter), pods with start and
/// service times, the scaler of one revision, and links that delay and drop stats. No clock, no
/// thread: one queue of events. Invariants are checked at each event that could break them.
class Loop {
 public:
  explicit Loop(World world);

  [[nodiscard]] Outcome run();

 private:
  enum class Kind : std::uint8_t { arrival, finish, pod_ready, pod_dies, second, evaluate, stat };

  struct Event {
    TimePoint at;
    std::uint64_t order;
    Kind kind;
    std::uint64_t subject;

    friend bool operator>(const Event& a, const Event& b) {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

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

  struct SentStat {
    autoscaler::Stat stat;
    TimePoint at;
  };

  void schedule(Duration after, Kind kind, std::uint64_t subject = 0);
  void play(const Event& event);
  void arrive();
  void finish(std::uint64_t request);
  void run_on(std::uint64_t request, activator::PodRef pod);
  void admit(const std::vector<activator::Admission>& admitted);
  void pod_ready(std::uint64_t number);
  void second();
  void report();
  void scrape();
  void deliver(std::uint64_t index);
  void evaluate(autoscaler::Trigger trigger);
  void follow(std::int32_t want);
  void start_pod();
  void stop_idlest();
  void kill_one();
  void die(std::uint64_t number);
  void drop_if_drained(std::uint64_t number);
  void list_pods();
  void check_waiting();
  void breach(const std::string& what);
  [[nodiscard]] std::int32_t count(PodPhase phase) const;
  [[nodiscard]] std::int32_t wanted_pods() const;
  [[nodiscard]] std::uint64_t open_requests() const;
  [[nodiscard]] double chance();
  [[nodiscard]] Duration draw(const Range& range);

  World world_;
  std::mt19937_64 random_;
  TimePoint start_;
  TimePoint now_;
  autoscaler::RevisionScaler scaler_;
  activator::Throttler throttler_;
  activator::RequestReporter reporter_;
  activator::RequestReporter::Handle handle_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  std::vector<Request> requests_;
  std::map<std::uint64_t, Pod> pods_;
  std::uint64_t next_pod_ = 1;
  std::vector<SentStat> sent_stats_;
  Properties properties_;
  bool redrawn_ = true;       // the coming arrival event is a fresh draw, not an arrival
  TimePoint last_open_;       // when the load or a request was last seen going on
  TimePoint stranded_since_;  // since when somebody waits and no pod exists
  Outcome outcome_;
};

}  // namespace sluice::simulation
