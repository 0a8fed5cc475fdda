#pragma once

#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/api.h"
#include "autoscaler/io/fleet.h"
#include "autoscaler/io/ring_history.h"
#include "common/api/event_ring.h"
#include "common/loop/manual_loop.h"
#include "tests/unit/autoscaler/io/fake_platform.h"
#include "tests/unit/autoscaler/io/records_of.h"
#include "tests/unit/autoscaler/io/unanswered.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

inline const RevisionId kShop{"shop", "web"};

/// A fleet of one revision in virtual time.
class FleetTest : public ::testing::Test {
 protected:
  // `target` runs that many pods, none of which answers a scrape.
  void watch(const std::string& target, std::int32_t pods) {
    model::Revision revision;
    revision.id = kShop;
    revision.target = target;
    for (std::int32_t i = 0; i < pods; ++i) {
      model::Pod& pod = revision.pods.emplace_back();
      pod.id = {target + "-" + std::to_string(i)};
      pod.address = {.host = "10.0.0." + std::to_string(i + 1), .port = 8012, .path = {}};
      pod.ready = true;
    }
    fleet_.on_revision(std::move(revision));
  }

  // Of each pod "ready", "starting", "going", or why it fails.
  static void add_pods(model::Revision& revision, const std::vector<std::string>& states) {
    for (const std::string& state : states) {
      model::Pod& pod = revision.pods.emplace_back();
      pod.id = {"pod-" + std::to_string(revision.pods.size())};
      pod.address = {
          .host = "10.0.0." + std::to_string(revision.pods.size()), .port = 8012, .path = {}};
      pod.ready = state == "ready";
      pod.terminating = state == "going";
      if (state != "ready" && state != "starting" && state != "going") pod.failed = state;
    }
  }

  void runs(const std::string& target, std::int32_t pods) {
    platform_.replicas = pods;
    watch(target, pods);
  }

  void load(double concurrency) {
    const Stat stat{.average_concurrency = concurrency, .request_count = concurrency};
    fleet_.heard({.stats = {{kShop, stat, clock_.now()}}});
    evaluate();
  }

  void evaluate() { fleet_.revisions().at(kShop)->evaluate(Trigger::tick); }

  // How many are kept of it.
  [[nodiscard]] std::size_t decisions() const {
    model::Revision of;
    of.id = kShop;
    return records_of(history_.decisions(of, TimePoint{})).size();
  }

  [[nodiscard]] std::string order() const {
    return std::to_string(platform_.applied.replicas) + " without " +
           std::to_string(platform_.applied.remove.size()) + " avoiding " +
           std::to_string(platform_.applied.avoid.size());
  }

  // The API over what is below.
  [[nodiscard]] Api api_of(const std::string& program) {
    return {{.name = program, .version = "1", .platform = "test", .started = {}},
            {.fleet = fleet_,
             .seen = events_,
             .history = history_,
             .hub = hub_,
             .nodes = &nodes_,
             .placement = placement_,
             .events = ring_}};
  }

  ManualTime time_;
  ManualLoop clock_{time_};
  Unanswered stats_;
  log::Logger log_{"test", log::Severity::error};
  std::mt19937_64 random_{1};
  ScaleLoop loop_{clock_};
  // For so long that no activator of an earlier start holds up a removal.
  ActivatorHub hub_{{"replica", "1"}, {}, clock_.now() - std::chrono::minutes{1}};
  NodeBook nodes_;
  placement::Placement placement_{nodes_.gates()};
  testing::FakePlatform platform_;
  api::EventRing ring_;
  RingHistory history_;
  FleetEvents events_{clock_, ring_, history_};
  Surroundings around_{.clock = clock_,
                       .stats = stats_,
                       .log = log_,
                       .loop = loop_,
                       .hub = hub_,
                       .placement = placement_,
                       .throttled = nodes_,
                       .platform = platform_,
                       .events = events_,
                       .random = random_,
                       .activator_connected = [this] { return connected_; },
                       .news = [] {}};
  bool connected_ = true;
  Fleet fleet_{around_};
};

}  // namespace sluice::autoscaler
