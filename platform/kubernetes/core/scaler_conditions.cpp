#include "platform/kubernetes/core/scaler_conditions.h"

#include "common/values/rfc3339.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::autoscaler {
namespace {

kube::Condition make(std::string type, std::string status, std::string reason,
                     std::string message = {}) {
  kube::Condition condition;
  condition.type = std::move(type);
  condition.status = std::move(status);
  condition.reason = std::move(reason);
  condition.message = std::move(message);
  return condition;
}

kube::Condition troubled(std::string type, const Trouble& trouble) {
  return make(std::move(type), trouble.waiting ? "Unknown" : "False", trouble.reason,
              trouble.message());
}

constexpr const char* kPaused =
    "spec.replicas is set, so that many replicas run whatever the load; remove it to scale by load "
    "again: "
    "kubectl patch rqs NAME --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/replicas\"}]'";

std::optional<Trouble> start_failed(const ConditionView& view) {
  if (!view.report || view.report->start_failed.empty()) return std::nullopt;
  return Trouble{"StartFailed", "its pods fail to start: " + view.report->start_failed,
                 "correct the workload: kubectl describe pod shows the details"};
}

kube::Condition ready(const ConditionView& view) {
  const std::optional<Trouble> start = start_failed(view);
  const std::array all{&view.access,  &view.target,  &view.conflict,
                       &view.service, &view.sidecar, &start};
  for (const bool waiting : {false, true}) {
    for (const std::optional<Trouble>* each : all) {
      if (*each && (*each)->waiting == waiting) return troubled("Ready", **each);
    }
  }
  if (!view.report) return make("Ready", "Unknown", "Starting", "no decision has been made yet");
  if (view.report->paused) return make("Ready", "True", "Paused", kPaused);
  switch (view.report->activity) {
    case Activity::inactive:
      return make("Ready", "True", "Sleeping");
    case Activity::activating:
      return make("Ready", "True", "Waking");
    case Activity::active:
      break;
  }
  return make("Ready", "True", "Serving");
}

const char* status_of_paused(Activity activity) {
  if (activity == Activity::activating) return "Unknown";
  return activity == Activity::active ? "True" : "False";
}

kube::Condition active(const ConditionView& view) {
  if (!view.report) return make("Active", "Unknown", "Starting", "no decision has been made yet");
  if (view.report->paused) {
    return make("Active", status_of_paused(view.report->activity), "Paused");
  }
  if (const auto start = start_failed(view)) {
    return make("Active", "Unknown", start->reason, "the requested pods fail to start");
  }
  if (!view.report->cannot_scale.empty()) {
    const bool some = view.report->ready > 0;
    return make("Active", some ? "True" : "Unknown", "NodePressure",
                "the nodes have no room for all requested pods; free memory there or add nodes");
  }
  switch (view.report->activity) {
    case Activity::inactive:
      return make("Active", "False", "NoTraffic");
    case Activity::activating:
      return make("Active", "Unknown", "Queued", "the requested pods are not ready yet");
    case Activity::active:
      break;
  }
  return make("Active", "True", "Serving");
}

kube::Condition target(const ConditionView& view) {
  if (view.access) return troubled("Target", *view.access);
  if (view.target) return troubled("Target", *view.target);
  if (view.paused) {
    return make("Target", "True", "Paused", "its roll-outs are paused; it is still scaled");
  }
  return make("Target", "True", "Found");
}

kube::Condition conflict(const ConditionView& view) {
  if (!view.conflict) return make("Conflict", "False", "NoConflict");
  return make("Conflict", "True", view.conflict->reason, view.conflict->message());
}

kube::Condition sidecar(const ConditionView& view) {
  if (view.sidecar) return troubled("Sidecar", *view.sidecar);
  if (!view.pods) return make("Sidecar", "Unknown", "NoPods", "the target has no pods");
  return make("Sidecar", "True", "Injected");
}

kube::Condition metrics(const ConditionView& view) {
  if (!view.report) return make("Metrics", "Unknown", "Starting");
  if (view.report->metrics_missing) {
    return make("Metrics", "False", "MetricsMissing",
                "its pods and the activators report nothing, so the last number stays; check that "
                "the autoscaler can reach port 9090 of the pods");
  }
  return make("Metrics", "True", "Reported");
}

}  // namespace

std::string status_of(const std::vector<kube::Condition>& conditions, std::string_view type) {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [type](const auto& each) { return each.type == type; });
  return found == conditions.end() ? std::string{} : found->status;
}

Trouble refused_write(const std::string& words) {
  if (words.find("because it is being terminated") != std::string::npos) {
    return {"NamespaceTerminating", words, "", true};
  }
  return {"Forbidden", words, "give the autoscaler's ServiceAccount the rules of the chart"};
}

std::vector<kube::Condition> conditions_of(const ConditionView& view, TimePoint now) {
  std::vector<kube::Condition> all{ready(view), active(view), target(view), conflict(view)};
  all.push_back(view.service ? troubled("Service", *view.service)
                             : make("Service", "True", "Routed"));
  all.push_back(sidecar(view));
  all.push_back(metrics(view));
  all.push_back(view.settings ? troubled("Settings", *view.settings)
                              : make("Settings", "True", "Valid"));
  for (kube::Condition& each : all) {
    const auto& before = view.scaler->status.conditions;
    const auto known = std::find_if(before.begin(), before.end(),
                                    [&each](const auto& old) { return old.type == each.type; });
    const bool stays = known != before.end() && known->status == each.status &&
                       !known->last_transition_time.empty();
    each.last_transition_time = stays ? known->last_transition_time : rfc3339(now, Fraction::none);
    each.observed_generation = view.scaler->generation;
  }
  return all;
}

bool differs(const kube::RequestScaler::Status& wanted,
             const kube::RequestScaler::Status& present) {
  return !(wanted == present);
}

}  // namespace sluice::autoscaler
