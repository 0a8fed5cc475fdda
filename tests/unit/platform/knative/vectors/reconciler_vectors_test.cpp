#include "autoscaler/core/decision/collector.h"
#include "autoscaler/core/decision/revision_scaler.h"
#include "autoscaler/vectors/case_values.h"
#include "common/kube/objects.h"
#include "tests/unit/platform/knative/vectors/revision_documents.h"

#include <gtest/gtest.h>

#include "platform/kubernetes/core/scale_plan.h"
#include "platform/kubernetes/core/scaler_conditions.h"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

// Knative's recorded answers about the scale of a revision, equal through what runs on Kubernetes:
// documents in, documents out. The same files are played on the cores alone by decision-vectors.
namespace sluice::autoscaler::testing {
namespace {

using nlohmann::json;
using vectors::count;
using vectors::element;
using vectors::flag;
using vectors::number;
using vectors::object_of;
using vectors::seconds_of;
using vectors::strings;
using vectors::text;
using vectors::value_of;
using vectors::zero_config;

json cases_of(const std::string& name) {
  std::ifstream file{std::string{VECTORS} + "/" + name + ".json"};
  return json::parse(file).at("cases");
}

ScaleOrder order_of(std::int32_t desired, Activity activity) {
  ScaleOrder order;
  order.replicas = desired;
  order.report.desired = desired;
  order.report.activity = activity;
  return order;
}

// --- active_condition ---

// Number of ready pods from which on a revision that is wanted is called active; 0: none is needed,
// and it never is.
std::int32_t threshold_of(const RevisionDocuments& before, const ClusterConfig& config) {
  constexpr std::int32_t kMost = 20;
  for (std::int32_t ready = 0; ready <= kMost; ++ready) {
    RevisionDocuments documents = before;
    (void)documents.reconcile(config, order_of(kMost, Activity::active), ready);
    if (documents.state() == "inactive") return 0;
    if (documents.state() == "active") return ready;
  }
  return -1;
}

void play_active_condition(const json& item) {
  const ClusterConfig config = *parse_cluster_config(strings(item, "config"));
  const std::int32_t replicas = count(item, "ready_pods");
  RevisionDocuments documents{strings(item, "annotations"), text(item, "reachability"), replicas};
  documents.set_active(text(item, "state"), std::chrono::seconds{100});
  documents.set_initialized(flag(item, "scale_target_initialized"));
  if (!flag(item, "service_name_set")) documents.without_services();
  constexpr std::int32_t kShown = 7;
  documents.set_desired(kShown);
  const json before = documents.condition("Active");
  const std::int32_t threshold = threshold_of(documents, config);

  // Nothing was decided: there is no order.
  const std::int32_t want = count(item, "want_scale");
  std::optional<ScaleOrder> order;
  if (want >= 0) order = order_of(want, want == 0 ? Activity::inactive : Activity::active);
  (void)documents.reconcile(config, order, replicas);

  const json& expect = object_of(item, "expect");
  EXPECT_EQ(threshold, count(expect, "threshold"));
  EXPECT_EQ(documents.state(), text(expect, "state"));
  const json& after = documents.condition("Active");
  const std::string reason = text(expect, "reason");
  EXPECT_EQ(text(after, "reason"), reason == "(unchanged)" ? text(before, "reason") : reason);
  EXPECT_EQ(after["lastTransitionTime"] == before["lastTransitionTime"],
            after["status"] == before["status"]);
  EXPECT_EQ(documents.shown_desired(), want >= 0 ? want : kShown);
  EXPECT_EQ(documents.condition("ScaleTargetInitialized")["status"],
            flag(expect, "scale_target_initialized") ? "True" : "Unknown");
}

TEST(ReconcilerVectors, ActiveConditionsAreWrittenAsKnativeWritesThem) {
  const json cases = cases_of("active_condition");
  ASSERT_EQ(cases.size(), 300U);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(element("active_condition", i) + " " + cases[i].dump());
    play_active_condition(cases[i]);
  }
}

// --- scale_to_zero ---

Activity activity_named(const std::string& state) {
  if (state == "active") return Activity::active;
  return state == "inactive" ? Activity::inactive : Activity::activating;
}

// What was known of the revision: the state that the case tells, and a window from
// which the case's number follows. Without a number there is nothing in the window.
SavedScaler saved_of(const json& item, const ScalingSpec& scaling) {
  const std::int32_t desired = count(item, "desired_scale");
  Collector collector{scaling.decider};
  if (desired >= 0) {
    collector.record({.average_concurrency = desired * scaling.decider.target_value}, kNow);
  }
  SavedScaler saved;
  saved.collector = collector.saved();
  saved.desired = desired;
  saved.activity = activity_named(text(item, "pa_state"));
  saved.activity_since = kNow - seconds_of(item, "pa_state_for_s");
  saved.serves = text(item, "sks_mode") == "Serve";
  saved.initialized = flag(item, "scale_target_initialized");
  saved.attention = {.evaluated = kNow - std::chrono::seconds{2},
                     .step = std::chrono::seconds{2},
                     .usual = std::chrono::seconds{2},
                     .known = scaling.decider.stable_window,
                     .had_data = true,
                     .settled = true};
  return saved;
}

RevisionDocuments zero_documents(const json& item) {
  const std::int32_t replicas = count(item, "current_replicas");
  const std::string state = text(item, "pa_state");
  RevisionDocuments documents{strings(item, "annotations"), text(item, "reachability"), replicas};
  documents.set_active(state, seconds_of(item, "pa_state_for_s"));
  documents.set_initialized(flag(item, "scale_target_initialized"));
  documents.set_desired(state == "inactive" ? 0 : replicas);
  documents.set_mode(text(item, "sks_mode"), seconds_of(item, "sks_proxy_for_s"));
  return documents;
}

struct Look {
  ScaleState state;
  ScaleOrder order;
};

// As Revision does it: with the time that the ServerlessService tells, and without the answer of a
// probe until one was asked for.
Look look(RevisionScaler& scaler, const model::Revision& watched, ScaleInputs inputs) {
  inputs.proxy_for.reset();
  if (watched.proxied_since) inputs.proxy_for = kNow - *watched.proxied_since;
  Look look{scaler.evaluate(inputs, kNow), {}};
  look.order = order_of(look.state.want, look.state.activity);
  look.order.route_mode = look.state.route_mode;
  look.order.activators = look.state.activators;
  return look;
}

// How many cases went another way than most; all of them are played.
struct Tally {
  std::size_t turned = 0;    // inactive now: Knative too looks again at once, and asks then
  std::size_t settling = 0;  // the PodAutoscaler has one look more to go until it is as ordered
};

// A RequestScaler with the same order: the same replicas, and Active turned alike.
void compare_request_scaler(const RevisionDocuments& before, const RevisionDocuments& after,
                            const ScaleOrder& order, const Written& written, bool settling) {
  const auto workload = kube::decode_workload(before.deployment.dump()).value();
  EXPECT_EQ(plan_replicas(workload, {}, order).replicas, written.replicas);
  if (settling) return;
  const kube::RequestScaler object;
  ConditionView view;
  view.scaler = &object;
  view.report = order.report;
  EXPECT_EQ(status_of(conditions_of(view, kNow), "Active"), after.condition("Active")["status"]);
}

// An initial scale of zero that was not noted yet, and nothing that runs of what is waited for: the
// conditions of such a PodAutoscaler follow only from what is written for it now.
bool settles(const json& item, const ScalingSpec& scaling, const ScaleOrder& order) {
  if (scaling.decider.initial_scale == 0 && !flag(item, "scale_target_initialized")) {
    return scaling.bounds.min == 0;
  }
  return order.replicas == 0 && order.report.activity == Activity::activating;
}

void play_scale_to_zero(const json& item, Tally& tally) {
  const ClusterConfig config = zero_config(object_of(item, "config"));
  RevisionDocuments documents = zero_documents(item);
  const RevisionDocuments before = documents;
  const model::Revision watched = documents.watched();
  const ScalingSpec scaling = documents.scaling(config);
  const std::string state = text(item, "pa_state");
  const bool initialized = flag(item, "scale_target_initialized");
  const std::int32_t threshold =
      std::max({scaling.bounds.min, initialized ? 1 : scaling.decider.initial_scale, 1});
  const std::int32_t ready = state == "active" ? threshold : 0;

  RevisionScaler scaler{{.scaling = scaling,
                         .revision = watched.id.name,
                         .replicas = documents.replicas(),
                         .taken_over = true},
                        0,
                        kNow - std::chrono::seconds{2}};
  EXPECT_TRUE(scaler.restore(saved_of(item, scaling), kNow));
  ScaleInputs inputs{.ready = ready, .probe_ok = std::nullopt};
  // Without a scrape target only an activator that is gone leaves the number unknown. While it is
  // activating an unknown number counts as none.
  inputs.activator_connected = count(item, "desired_scale") >= 0 ||
                               scaling.decider.has_scrape_target || state == "activating";
  Look seen = look(scaler, watched, inputs);
  const bool turned = state != "inactive" && seen.state.activity == Activity::inactive;
  const bool probed = seen.state.probe;
  if (probed && !turned) {
    inputs.trigger = Trigger::change;
    inputs.probe_ok = text(item, "activator_probe") == "ok";
    seen = look(scaler, watched, inputs);
  }
  const Written written = documents.reconcile(config, seen.order, ready);

  const json& expect = object_of(item, "expect");
  const std::int32_t returned = count(expect, "returned_scale");
  EXPECT_EQ(documents.shown_desired(), returned >= 0 ? returned : before.shown_desired());
  const json& applied = value_of(expect, "applied_replicas");
  EXPECT_EQ(written.replicas ? json(*written.replicas) : json{}, applied);
  const bool settling = settles(item, scaling, seen.order);
  tally.settling += settling ? 1 : 0;
  compare_request_scaler(before, documents, seen.order, written, settling);
  if (turned) {
    ++tally.turned;
    return;
  }
  const json& requeue = value_of(expect, "requeue_after_s");
  const auto wait = seen.state.requeue;
  EXPECT_EQ(wait ? json::array({std::llround(to_seconds(*wait))}) : json::array(),
            requeue.is_null() ? json::array() : requeue);
  EXPECT_EQ(probed, flag(expect, "sync_probe_called"));
  EXPECT_EQ(seen.state.probe_later, flag(expect, "async_probe_started"));
}

TEST(ReconcilerVectors, TheWayToZeroIsThatOfKnative) {
  const json cases = cases_of("scale_to_zero");
  ASSERT_EQ(cases.size(), 220U);
  Tally tally;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(element("scale_to_zero", i) + " " + cases[i].dump());
    play_scale_to_zero(cases[i], tally);
  }
  EXPECT_EQ(tally.turned, 26U);
  EXPECT_EQ(tally.settling, 7U);
}

// --- decider_status ---

/// A decider's answers on their way to the documents; all pods that could be wanted are ready.
class Informed {
 public:
  explicit Informed(const json& item) : documents_{{}, "Reachable", 0} {
    DeciderSpec spec;
    spec.initial_scale = count(item, "initial_scale");
    spec.total_value = number(item, "total_value");
    spec.target_burst_capacity = number(item, "target_burst_capacity");
    status_ = DeciderStatus{spec};
    (void)documents_.reconcile(config_, std::nullopt, kReady);
  }

  // What was written for one answer, and whether the decider tells its owner.
  std::pair<Written, bool> take(const json& result) {
    const bool informed =
        status_.take({.valid = flag(result, "scale_valid"),
                      .desired = count(result, "desired"),
                      .excess_burst_capacity = count(result, "excess_burst_capacity")});
    if (status_.desired() < 0)
      return {documents_.reconcile(config_, std::nullopt, kReady), informed};
    ScaleOrder order =
        order_of(status_.desired(), status_.desired() == 0 ? Activity::inactive : Activity::active);
    order.route_mode =
        route_mode(status_.desired(), status_.excess_burst_capacity(), RouteMode::proxy, 0);
    return {documents_.reconcile(config_, order, kReady), informed};
  }

  void compare(const json& want) const {
    const std::int32_t desired = count(want, "desired");
    EXPECT_EQ(documents_.shown_desired(), desired < 0 ? std::nullopt : std::optional{desired});
    EXPECT_EQ(documents_.replicas(), std::max(desired, 0));
    const bool serves = desired > 0 && count(want, "excess_burst_capacity") >= 0;
    EXPECT_EQ(documents_.mode(), serves ? "Serve" : "Proxy");
  }

  [[nodiscard]] const DeciderStatus& status() const { return status_; }

 private:
  static constexpr std::int32_t kReady = 3;

  ClusterConfig config_;
  RevisionDocuments documents_;
  DeciderStatus status_{DeciderSpec{}};
};

// Returns how many decisions notified the owner and left nothing to write: spare capacity of a
// revision without pods changes no route.
std::size_t play_decider_status(const json& item) {
  Informed revision{item};
  revision.compare(object_of(item, "initial"));
  std::size_t idle = 0;
  for (const json& event : vectors::list_of(item, "events")) {
    SCOPED_TRACE(event.dump());
    const json& ignored = value_of(event, "poke_ignored_before");
    if (!ignored.is_null()) {
      EXPECT_FALSE(revision.status().pokes(number(ignored, "stat_concurrency")));
    }
    if (text(event, "trigger") == "poke") {
      EXPECT_TRUE(revision.status().pokes(number(event, "stat_concurrency")));
    }
    const std::int32_t before = revision.status().desired();
    const auto [written, informed] = revision.take(object_of(event, "result"));
    EXPECT_EQ(informed, flag(event, "informed"));
    revision.compare(object_of(event, "status"));
    const bool same_zero = before == 0 && revision.status().desired() == 0;
    EXPECT_EQ(written.anything(), informed && !same_zero);
    if (informed && same_zero) ++idle;
  }
  return idle;
}

TEST(ReconcilerVectors, WhatADeciderTellsIsWrittenAndNothingElse) {
  const json cases = cases_of("decider_status");
  ASSERT_EQ(cases.size(), 60U);
  std::size_t events = 0;
  std::size_t idle = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(element("decider_status", i));
    events += value_of(cases[i], "events").size();
    idle += play_decider_status(cases[i]);
  }
  EXPECT_EQ(events, 726U);
  EXPECT_EQ(idle, 19U);
}

}  // namespace
}  // namespace sluice::autoscaler::testing
