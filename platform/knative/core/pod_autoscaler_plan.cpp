#include "platform/knative/core/pod_autoscaler_plan.h"

#include "autoscaler/core/decision/scale_to_zero.h"
#include "common/scaling/annotations.h"
#include "common/values/rfc3339.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::string_view kInitialScale = "autoscaling.knative.dev/initial-scale";

// Two may fail at once; what Knative asks for before anything is known.
constexpr std::int32_t kActivatorsAtFirst = 2;

constexpr std::string_view kActive = "Active";
constexpr std::string_view kInitialized = "ScaleTargetInitialized";
constexpr std::string_view kServerlessReady = "SKSReady";
constexpr std::string_view kReady = "Ready";

struct State {
  std::string_view status = "Unknown";
  std::string reason{};
  std::string message{};
};

bool holds(const PodAutoscaler& object, std::string_view type) {
  const kube::Condition* const found = find_condition(object.status.conditions, type);
  return found != nullptr && found->status == "True";
}

Activity activity_of(const PodAutoscaler& object) {
  const kube::Condition* const found = find_condition(object.status.conditions, kActive);
  if (found == nullptr || found->status == "Unknown") return Activity::activating;
  return found->status == "True" ? Activity::active : Activity::inactive;
}

std::string_view message_of(std::string_view reason) {
  if (reason == "Queued") return "Requests are held until a pod is ready.";
  if (reason == "NoTraffic") return "The target receives no traffic.";
  if (reason == "TimedOut") return "Its pods did not become ready in time.";
  return {};
}

State active_state(const ActivityChange& change) {
  const std::string reason{change.reason};
  const std::string message{message_of(change.reason)};
  switch (change.activity) {
    case Activity::inactive:
      return {"False", reason, message};
    case Activity::activating:
      return {"Unknown", reason, message};
    case Activity::active:
      break;
  }
  return {"True", {}, {}};
}

State present_state(const PodAutoscaler& object, std::string_view type) {
  const kube::Condition* const found = find_condition(object.status.conditions, type);
  if (found == nullptr) return {};
  const std::string_view status = found->status == "True"    ? "True"
                                  : found->status == "False" ? "False"
                                                             : "Unknown";
  return {status, found->reason, found->message};
}

State serverless_state(const ServerlessObject* serverless) {
  if (serverless == nullptr || serverless->private_name.empty()) {
    return {"Unknown", "NotReady", "There is no private Service yet."};
  }
  if (!serverless->ready || serverless->observed_generation != serverless->generation) {
    return {"Unknown", "NotReady", "Its Services are not ready yet."};
  }
  return {"True", {}, {}};
}

// What is false speaks first, then what is unknown.
State all_of(std::initializer_list<const State*> parts) {
  for (const std::string_view status : {"False", "Unknown"}) {
    for (const State* const each : parts) {
      if (each->status == status) return *each;
    }
  }
  return {"True", {}, {}};
}

class Conditions {
 public:
  Conditions(const PodAutoscaler& object, TimePoint now) : object_{object}, now_{now} {}

  void add(std::string_view type, State state) {
    kube::Condition condition;
    condition.type = type;
    condition.status = state.status;
    condition.reason = std::move(state.reason);
    condition.message = std::move(state.message);
    const kube::Condition* const before = find_condition(object_.status.conditions, type);
    const bool same = before != nullptr && before->status == condition.status;
    condition.last_transition_time =
        same ? before->last_transition_time : rfc3339(now_, Fraction::none);
    all_.push_back(std::move(condition));
  }

  // In the order of their names, as Knative writes them.
  [[nodiscard]] std::vector<kube::Condition> sorted() && {
    std::sort(all_.begin(), all_.end(),
              [](const auto& a, const auto& b) { return a.type < b.type; });
    return std::move(all_);
  }

 private:
  const PodAutoscaler& object_;
  TimePoint now_;
  std::vector<kube::Condition> all_;
};

std::string_view mode_text(RouteMode mode) {
  return mode == RouteMode::serve ? "Serve" : "Proxy";
}

}  // namespace

const kube::Condition* find_condition(const std::vector<kube::Condition>& all,
                                      std::string_view type) {
  const auto found =
      std::find_if(all.begin(), all.end(), [type](const auto& each) { return each.type == type; });
  return found == all.end() ? nullptr : &*found;
}

bool is_ours(const PodAutoscaler& object, const ClusterConfig& config) {
  const auto annotated = object.annotations.find(kClassAnnotation);
  return owns(
      {.annotated = annotated == object.annotations.end() ? std::string_view{} : annotated->second,
       .cluster_default = config.pod_autoscaler_class,
       .knative_autoscaler_runs = config.pod_autoscaler_class != kOurClass});
}

// An initial scale of 1 and one that was reached are equivalent wherever they are used. Without a
// named metric, Knative's webhook writes an empty one for a class that is not its own.
StringMap scaling_annotations(const PodAutoscaler& object) {
  StringMap all = object.annotations;
  if (const auto metric = find_annotation(all, "metric"); metric && metric->value.empty()) {
    all.erase(metric->key);
  }
  if (!holds(object, kInitialized)) return all;
  if (const auto initial = find_annotation(all, "initial-scale")) all.erase(initial->key);
  all.insert_or_assign(std::string{kInitialScale}, "1");
  return all;
}

ServerlessWish plan_serverless(const PodAutoscalerSight& sight) {
  using Step = ServerlessWish::Step;
  const PodAutoscaler& object = *sight.object;
  const ServerlessObject* const present = sight.serverless;
  ServerlessWish wish;
  wish.activators = kActivatorsAtFirst;
  if (present == nullptr) {
    wish.step = object.terminating ? Step::nothing : Step::create;
    return wish;
  }
  if (present->owner.uid != object.uid) {
    wish.step = Step::not_owned;
    return wish;
  }
  if (!present->private_name.empty()) {
    if (sight.order != nullptr) {
      wish.mode = sight.order->route_mode;
      wish.activators = sight.order->activators;
    } else {
      wish.mode = present->mode == "Serve" ? RouteMode::serve : RouteMode::proxy;
      wish.activators = present->activators;
    }
  }
  const bool same = present->mode == mode_text(wish.mode) &&
                    present->activators == wish.activators && present->target == object.target &&
                    present->protocol == object.protocol;
  if (!same && !object.terminating) wish.step = Step::correct;
  return wish;
}

std::optional<std::int32_t> plan_target(const PodAutoscalerSight& sight) {
  if (sight.order == nullptr || sight.target == nullptr || sight.target->terminating ||
      sight.object->terminating) {
    return std::nullopt;
  }
  if (sight.target->replicas == sight.order->replicas) return std::nullopt;
  return sight.order->replicas;
}

// While it activates, nothing wanted is nothing known: -1 (autoscaler.md 8.3, step 4).
std::int32_t shown_want(const ScaleReport& report) {
  if (report.activity == Activity::inactive) return 0;
  if (report.activity == Activity::activating && report.desired == 0) return -1;
  return report.desired;
}

PodAutoscaler::Status plan_status(const PodAutoscalerSight& sight, TimePoint now) {
  const PodAutoscaler& object = *sight.object;
  PodAutoscaler::Status status = object.status;
  status.observed_generation = object.generation;

  const bool owned = sight.serverless != nullptr && sight.serverless->owner.uid == object.uid;
  if (owned) {
    status.metrics_service_name = sight.serverless->private_name;
    if (!sight.serverless->private_name.empty()) {
      status.service_name = sight.serverless->service_name;
    }
  }
  const std::int32_t want = sight.order != nullptr ? shown_want(sight.order->report) : -1;
  const std::int32_t shown = reported_scale(want, status.desired.value_or(-1));
  status.desired = shown < 0 ? std::nullopt : std::optional{shown};
  status.actual = sight.ready;

  const ActivityChange change =
      next_activity(sight.scaling, {
                                       .activity = activity_of(object),
                                       .initialized = holds(object, kInitialized),
                                       .service_name_set = !status.service_name.empty(),
                                       .want = want,
                                       .ready = sight.ready,
                                   });
  State active = change.marked ? active_state(change) : present_state(object, kActive);
  if (sight.serverless != nullptr && !owned) {
    active = {"False", "NotOwned",
              "A ServerlessService of the same name has another owner; delete it."};
  }
  State initialized;
  if (change.initialized) initialized.status = "True";
  State serverless = serverless_state(owned ? sight.serverless : nullptr);
  State ready = all_of({&active, &initialized, &serverless});

  Conditions conditions{object, now};
  conditions.add(kActive, std::move(active));
  conditions.add(kInitialized, std::move(initialized));
  conditions.add(kServerlessReady, std::move(serverless));
  conditions.add(kReady, std::move(ready));
  status.conditions = std::move(conditions).sorted();
  return status;
}

}  // namespace sluice::autoscaler
