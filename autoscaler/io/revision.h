#pragma once

#include "autoscaler/core/activators/activator_hub.h"
#include "autoscaler/core/decision/metric_health.h"
#include "autoscaler/core/nodes/removals.h"
#include "autoscaler/core/nodes/throttled_pods.h"
#include "autoscaler/core/recording/recording.h"
#include "autoscaler/core/recording/replica_watch.h"
#include "autoscaler/io/fleet_events.h"
#include "autoscaler/io/platform.h"
#include "autoscaler/io/scale_loop.h"
#include "autoscaler/io/stat_scraper.h"
#include "autoscaler/placement/core/move_view.h"
#include "autoscaler/placement/core/placement.h"
#include "common/base/lifetime.h"
#include "common/log/log.h"
#include "common/loop/loop.h"
#include "common/metrics/histogram.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// What the revisions of a replica share. All of it outlives them.
struct Surroundings {
  Loop& clock;        ///< the time, and what waits for it
  StatSource& stats;  ///< of the pods
  const log::Logger& log;
  ScaleLoop& loop;
  ActivatorHub& hub;
  placement::Placement& placement;
  const ThrottledPods& throttled;
  Platform& platform;
  FleetEvents& events;
  std::mt19937_64& random;
  std::function<bool()> activator_connected;
  std::function<void()> news;  ///< the hub may have something to send
  /// Requests on a pod right now, where the activator is in the same process; null elsewhere: what
  /// the last scrape said counts.
  std::function<double(const RevisionId&, const PodId&)> load_now = {};
  /// The same for the bytes that those requests have moved (ReplicaView::progress).
  std::function<std::uint64_t(const RevisionId&, const PodId&)> moved_now = {};
  /// A revision has no room for all that it wants; null where nothing is moved for it.
  std::function<void()> on_shortage = {};
  /// Which services are moved so that the revision has room, as a clause; empty: none is. Its
  /// requests wait for that.
  std::function<std::string(const RevisionId&)> room_is_made = {};
  Recordings* recordings = nullptr;  ///< null: nothing is recorded
};

/// What a revision is scaled by, and what that was resolved from; null where nothing is recorded.
struct ResolvedScaling {
  ScalingSpec spec;
  std::shared_ptr<const GivenScaling> given = {};
};

/// One revision of the platform: it is scraped, evaluated, and its orders go to the activators and
/// to the platform. How: gather, decide, publish.
class Revision final : public ScaledRevision {
 public:
  struct PodFacts {
    model::Pod watched;
    TimePoint seen{};  ///< when it appeared; the epoch for pods from before the start
    std::optional<TimePoint> ready_since{};
    std::optional<double> load{};  ///< requests in flight when it was last scraped
  };

  struct Counts {
    std::int32_t ready = 0;
    std::int32_t starting = 0;   ///< neither ready nor leaving
    std::int32_t leaving = 0;    ///< chosen to go, or going
    std::int32_t throttled = 0;  ///< held back on their node: neither ready nor starting
    std::int32_t terminating = 0;
  };

  /// What the last evaluation that had data said; gauges show nothing else.
  struct Gauges {
    bool known = false;  ///< there was one
    std::int32_t desired = 0;
    double excess_burst_capacity = 0;
    bool panic = false;
    ScalingMetric metric = ScalingMetric::concurrency;
    double stable = 0;
    double window_panic = 0;
    double target = 0;
  };

  /// Registers with the loop; see registered(). `surroundings` outlives this.
  Revision(Surroundings& surroundings, model::Revision watched, const ResolvedScaling& scaling);
  ~Revision() override;
  Revision(const Revision&) = delete;
  Revision& operator=(const Revision&) = delete;

  /// False: the loop has no room for another. It is good for nothing then.
  [[nodiscard]] bool registered() const { return handle_.has_value(); }

  /// The platform reports a change of it. With another target it starts fresh, like one taken over
  /// from another replica.
  void update(model::Revision watched, const ResolvedScaling& scaling);

  /// Changed settings apply live.
  void update(const ResolvedScaling& scaling);

  /// `probe_ok`: the result of the probe that the previous evaluation requested.
  void evaluate(Trigger trigger, std::optional<bool> probe_ok = std::nullopt);

  /// At least one replica from now on, for a stable window after it is ready.
  void wake();

  /// Whether the next request would be reported, so that it ends a sleep.
  [[nodiscard]] bool may_sleep() const { return around_.activator_connected(); }

  /// No replicas from now on, until the next request or wake().
  void sleep();

  /// Requests are held for it, of that age at most: one that came after the order to sleep ends the
  /// sleep, whatever the stats of the second of the order show.
  void heed_held(Duration oldest);

  /// Other bounds until its scaling is changed, or this program ends. Absent: as it is.
  void set_bounds(std::optional<std::int32_t> min, std::optional<std::int32_t> max);

  [[nodiscard]] const Bounds& bounds() const { return scaler().spec().bounds; }

  /// An activator has applied a version.
  void on_applied();

  /// What a move of its replicas between two places orders.
  struct MoveOrder {
    std::string from;
    std::string to;
    placement::MoveState state = placement::MoveState::planned;
    placement::MoveOrders orders{};
  };

  /// What such a move is shown: all but the tallies, and the room at `to`.
  [[nodiscard]] placement::MoveView move_view(const std::string& from, const std::string& to) const;

  /// The move that runs; null: none does.
  [[nodiscard]] const MoveOrder* moving() const { return move_ ? &*move_ : nullptr; }

  /// In flight on its replicas, as far as that is known.
  [[nodiscard]] std::int64_t requests_now() const;

  /// The orders are in force until others are, or none. Meanwhile no replica is chosen to go but by
  /// them.
  void set_move(std::optional<MoveOrder> order);

  /// What it got and decided of late; null where nothing is recorded.
  [[nodiscard]] Recording* recording() const { return recording_.get(); }

  /// Placement answers otherwise now: gates open or shut, or pods are throttled or are no longer.
  void on_room_changed() { publish(); }

  [[nodiscard]] const model::Revision& facts() const { return facts_; }

  [[nodiscard]] const std::vector<PodFacts>& pods() const { return pods_; }

  [[nodiscard]] Counts counts() const;
  [[nodiscard]] bool leaving(const PodFacts& pod) const;
  [[nodiscard]] bool throttled(const PodFacts& pod) const;

  /// How many of the requested replicas there is room for, as last reported.
  [[nodiscard]] std::int32_t granted() const { return granted_; }

  /// Why not all that are wanted are granted; null: they are.
  [[nodiscard]] const placement::Missing* missing() const {
    return shortage_ ? &shortage_->why : nullptr;
  }

  /// Which services are moved so that it has room: "room is being made in fast: pay -> slow
  /// (warming)"; empty: none is.
  [[nodiscard]] std::string room_is_made() const {
    return around_.room_is_made ? around_.room_is_made(facts_.id) : std::string{};
  }

  /// Where those that are granted are to be, the most liked place first; empty: there is one only.
  [[nodiscard]] const std::vector<placement::PlaceShare>& places() const { return places_; }

  /// The last decision, with what of it is granted now, and why not all.
  [[nodiscard]] DecisionRecord last() const;

  /// Why none of its pods becomes ready, as a sentence, as last reported; empty: one is ready,
  /// or may become so.
  [[nodiscard]] const std::string& start_failure() const { return start_failure_; }

  /// Replicas that there should be, by load or by choice.
  [[nodiscard]] std::int32_t want() const;

  [[nodiscard]] const Gauges& gauges() const { return gauges_; }

  /// What the last scrape said of all ready pods; absent: none succeeded yet.
  [[nodiscard]] const std::optional<Stat>& scraped() const { return scraped_; }

  [[nodiscard]] const metrics::Histogram<14>& scrape_seconds() const { return scrape_seconds_; }

 private:
  void on_due(bool evaluate) override;
  void on_wanted() override;
  void begin(const ResolvedScaling& scaling);
  void restart(const ResolvedScaling& scaling);
  void merge(std::vector<model::Pod> pods);
  void note_leaving();
  void note_replicas();
  void publish();
  void take_room();
  void announce();
  [[nodiscard]] bool limit_is_news(const DecisionRecord& record);
  void tell(const DecisionRecord& record);

  [[nodiscard]] bool by_hand() const { return facts_.retired || facts_.chosen.has_value(); }

  void probe();
  [[nodiscard]] std::optional<Duration> proxied_for() const;
  [[nodiscard]] ScaleReport report() const;
  [[nodiscard]] placement::RevisionDemand demand();
  [[nodiscard]] std::int32_t load_wants(std::int32_t want) const;
  void note_shortage(const placement::Grant& granted);
  void warn_of_shortage();
  [[nodiscard]] std::string failing_start() const;
  void note_start_failure();
  [[nodiscard]] bool refuses_starts() const;
  void look_again(TimePoint when);
  [[nodiscard]] std::optional<proto::CannotScale> cannot_scale() const;
  [[nodiscard]] RouteMode route_mode() const;
  void release();
  void scrape();
  void scrape_answered(const std::string& address, const Stat& stat);
  void scrape_ended(const ScrapeResult& result);
  [[nodiscard]] RevisionScaler& scaler() const;
  [[nodiscard]] std::vector<std::string> avoided() const;
  [[nodiscard]] bool is_avoided(const PodFacts& pod) const;
  [[nodiscard]] std::vector<RemovalCandidate> candidates() const;
  [[nodiscard]] std::vector<placement::PlaceShare> ordered_places() const;
  [[nodiscard]] std::vector<PodId> removable() const;
  [[nodiscard]] bool shifting() const;
  void note_avoided(std::uint64_t version);

  Surroundings& around_;
  model::Revision facts_;         // its pods are in pods_
  ScalingSpec scaling_;           // as last reported: set_bounds() is not in it
  std::vector<PodFacts> pods_;    // in the order they were first seen
  std::unique_ptr<Timer> again_;  // to publish
  std::optional<TimePoint> again_at_;
  Removals removals_;
  StatScraper scraper_;
  std::unique_ptr<Recording> recording_;  // of the scaler at handle_
  ReplicaWatch replica_watch_;            // for it
  std::optional<ScalerHandle> handle_;
  std::int32_t granted_ = 0;
  std::vector<placement::PlaceShare> places_;   // of those granted; empty: there is one place only
  std::vector<placement::ReplicaAt> replicas_;  // of the last demand()
  std::optional<MoveOrder> move_;
  std::uint32_t failed_before_move_ = 0;         // starts in a row
  std::map<PodId, std::uint64_t> avoided_from_;  // by a move: the version that brought it

  // Why not all that is wanted is granted, since when requests wait for it.
  struct Shortage {
    placement::Missing why{};
    TimePoint since{};
    bool warned = false;

    [[nodiscard]] bool is_told(TimePoint now) const {
      return why.patience && now - since >= *why.patience;
    }
  };

  std::optional<Shortage> shortage_;
  bool told_limit_ = false;  // the decision reported last was not granted whole
  std::int32_t told_granted_ = -1;
  std::string start_failure_;  // see start_failure()
  bool metrics_missing_ = false;
  bool probing_ = false;
  std::int32_t activators_ = 2;  // as the last evaluation said
  MetricHealth scrape_health_;
  TimePoint scrape_began_{};
  std::optional<Stat> scraped_;
  metrics::Histogram<14> scrape_seconds_;
  Gauges gauges_;
  Lifetime alive_;
};

}  // namespace sluice::autoscaler
