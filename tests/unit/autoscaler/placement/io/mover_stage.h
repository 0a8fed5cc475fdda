#pragma once

#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/fleet.h"
#include "autoscaler/io/ring_history.h"
#include "autoscaler/placement/io/mover.h"
#include "common/api/event_ring.h"
#include "common/loop/manual_loop.h"
#include "tests/unit/autoscaler/io/unanswered.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// Groups of one machine, of one node each, where everything starts that there is room for.
class Groups final : public placement::Site {
 public:
  void add(const std::string& name, std::int32_t preference, std::int64_t replicas);

  [[nodiscard]] placement::Ledger& ledger() override { return ledger_; }

  [[nodiscard]] std::optional<placement::NodeId> find(std::string_view node) const override;

  [[nodiscard]] bool reports_settled() const override { return false; }

  [[nodiscard]] Terms terms(const RevisionId& revision, const placement::RevisionDemand& demand,
                            std::int64_t held) override;

  [[nodiscard]] GateAnswer may_start(const RevisionId& /*revision*/, std::int32_t /*nth*/,
                                     placement::NodeId /*node*/,
                                     const placement::Resources& /*each*/,
                                     TimePoint /*now*/) override {
    return {};
  }

  [[nodiscard]] std::int64_t on_start(placement::NodeId /*node*/, TimePoint /*now*/) override {
    return 0;
  }

  [[nodiscard]] std::optional<TimePoint> rested(
      const placement::Resources& /*each*/) const override {
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t spare() const override { return max_replicas - replicas(); }

  [[nodiscard]] std::string spare_bound() const override {
    return "max-replicas " + std::to_string(max_replicas);
  }

  void explain(const RevisionId& revision, const placement::RevisionDemand& demand,
               const placement::Refusal& refusal, placement::Missing& missing) override;

  std::int64_t max_replicas = 100;

 private:
  [[nodiscard]] std::int64_t replicas() const;

  placement::Ledger ledger_;
  std::vector<placement::NodeId> nodes_;
};

/// A platform that does what it is ordered in the next step of advance().
class Machine final : public Platform {
 public:
  struct Service {
    model::Revision facts;  ///< with what runs
    ScaleOrder order;
    std::map<std::string, TimePoint> made;  ///< of its pods
    int starts = 0;
  };

  [[nodiscard]] std::optional<Problem> open(model::Listener& /*listener*/, TimePoint /*now*/,
                                            Settled /*settled*/) override {
    return std::nullopt;
  }

  [[nodiscard]] std::optional<ScaleOrder> last(const RevisionId& /*revision*/) override {
    return std::nullopt;
  }

  void apply(const RevisionId& revision, const ScaleOrder& order) override;

  void forget(const RevisionId& /*revision*/) override {}

  void probe(const RevisionId& /*revision*/, std::function<void(bool ok)> /*done*/) override {}

  [[nodiscard]] std::vector<std::string> wrong() const override { return {}; }

  [[nodiscard]] std::vector<HealthCheck> checks() const override { return {}; }

  /// Stops and starts what is ordered, and reports what has changed.
  void advance(model::Listener& listener, TimePoint now);

  std::map<RevisionId, Service> services;
  std::set<std::string> broken;  ///< places where no further replica becomes ready
  Duration start = std::chrono::seconds{1};

 private:
  [[nodiscard]] bool advance(Service& service, TimePoint now) const;
};

/// The fleet and the mover of one machine with groups, in virtual time and without requests but
/// those that a test says there are.
class MoverTest : public ::testing::Test {
 protected:
  static constexpr Duration kStep = std::chrono::milliseconds{50};

  /// What a revision is made of.
  struct Form {
    std::int32_t replicas = 1;
    std::vector<std::string> clusters{};
    int number = 1;
    std::string called{};    ///< the name shown to people; empty: that of the service
    bool in_service = true;  ///< false: it is to take the place of another
  };

  [[nodiscard]] static RevisionId id(const std::string& service, int number = 1) {
    return {"default", service + "-0000" + std::to_string(number)};
  }

  /// The revision exists from now on.
  void add(const std::string& service, const Form& form);

  void add(const std::string& service) { add(service, Form{}); }

  /// The same, until its replicas are ready.
  void run(const std::string& service, const Form& form);

  /// So many replicas are wanted.
  void want(const std::string& service, std::int32_t replicas);

  /// The revision is deleted.
  void remove(const std::string& service);

  void play(Duration length);

  /// False: it did not come true within 20 minutes.
  [[nodiscard]] bool until(const std::function<bool()>& holds);

  [[nodiscard]] bool until_state(placement::MoveState state);

  /// No move runs or waits.
  [[nodiscard]] bool until_idle();

  /// What moving it says: empty, or why nothing is moved.
  std::string move(const std::vector<RevisionId>& revisions, const std::string& to);

  std::string move(const std::string& service, const std::string& to) {
    return move(std::vector{id(service)}, to);
  }

  /// "fast 2, slow 1": replicas that exist.
  [[nodiscard]] std::string where(const std::string& service, int number = 1) const;

  /// Every move, the oldest first: "shop 2 fast->slow done", "… aborted: why".
  [[nodiscard]] std::string moves() const;

  /// "stays shop: why", "empties", "empty"
  [[nodiscard]] std::string drain_of(const std::string& place) const;

  ManualTime time_;
  ManualLoop clock_{time_};
  Unanswered stats_;
  log::Logger log_{"test", log::Severity::error};
  std::mt19937_64 random_{1};
  ScaleLoop loop_{clock_};
  // For so long that no activator of an earlier start holds up a removal.
  ActivatorHub hub_{{"replica", "1"}, {}, clock_.now() - std::chrono::minutes{1}};
  NodeBook no_nodes_;
  Groups groups_;
  placement::Placement placement_{groups_};
  Machine machine_;
  api::EventRing ring_;
  RingHistory history_;
  FleetEvents events_{clock_, ring_, history_};
  Surroundings around_{
      .clock = clock_,
      .stats = stats_,
      .log = log_,
      .loop = loop_,
      .hub = hub_,
      .placement = placement_,
      .throttled = no_nodes_,
      .platform = machine_,
      .events = events_,
      .random = random_,
      .activator_connected = [] { return true; },
      .news = [] {},
      .load_now = [this](const RevisionId&, const PodId& pod) { return in_flight_[pod.name]; },
      .moved_now = [this](const RevisionId&, const PodId& pod) { return moved_[pod.name]; },
      .on_shortage = [this] { mover_.on_shortage(); },
      .room_is_made =
          [this](const RevisionId& revision) { return mover_.room_made_for(revision); }};
  Fleet fleet_{around_};
  std::map<std::string, double> in_flight_;     // by pod
  std::map<std::string, std::uint64_t> moved_;  // bytes, by pod
  std::vector<std::string> place_news_;
  int steps_ = 0;
  Mover mover_{{.clock = clock_,
                .fleet = fleet_,
                .placement = placement_,
                .news = [](const placement::MoveRecord&) {},
                .place_news = [this](const std::string& place) { place_news_.push_back(place); }}};
};

}  // namespace sluice::autoscaler
