#include "injector/io/scaler_watch.h"

#include <algorithm>

namespace sluice::injector {

ScalerWatch::ScalerWatch(const Place& place)
    : scalers_{
          place,
          {.path = std::string{kube::kRequestScalers}, .labels = {}, .fields = {}},
          kube::decode_request_scaler,
          {.changed = [this](const kube::ObjectName& name,
                             const kube::RequestScaler& scaler) { changed(name, scaler); },
           .gone = [this](const kube::ObjectName& name, const kube::RequestScaler&) { gone(name); },
           .synced = {}}} {}

void ScalerWatch::changed(const kube::ObjectName& name, const kube::RequestScaler& scaler) {
  gone(name);
  const std::string& kind = scaler.target.kind;
  const Target target{name.space, kind.empty() ? "Deployment" : kind, scaler.target.name};
  targets_[name] = target;
  by_target_[target].insert(name.name);
}

void ScalerWatch::gone(const kube::ObjectName& name) {
  const auto was = targets_.find(name);
  if (was == targets_.end()) return;
  const auto found = by_target_.find(was->second);
  found->second.erase(name.name);
  if (found->second.empty()) by_target_.erase(found);
  targets_.erase(was);
}

std::optional<ScalerFacts> ScalerWatch::find(const std::string& space,
                                             const OwnerName& target) const {
  const auto found = by_target_.find({space, target.kind, target.name});
  if (found == by_target_.end()) return std::nullopt;
  const std::string& name = *found->second.begin();
  const kube::RequestScaler* scaler = scalers_.find({space, name});
  if (scaler == nullptr) return std::nullopt;
  return ScalerFacts{
      .name = name,
      .service = scaler->service.name.empty() ? name : scaler->service.name,
      .container_concurrency = std::max(0, scaler->container_concurrency),
      .timeout_seconds = std::max(0, scaler->timeout_seconds),
      .response_start_timeout_seconds = std::max(0, scaler->response_start_timeout_seconds),
      .idle_timeout_seconds = std::max(0, scaler->idle_timeout_seconds),
      .ignore_paths = scaler->ignore_paths,
      .ignore_user_agents = scaler->ignore_user_agents};
}

std::string ScalerWatch::rival(const std::string& space, const OwnerName& target,
                               const std::string& scaler) const {
  const auto found = by_target_.find({space, target.kind, target.name});
  if (found == by_target_.end()) return {};
  const auto other = std::find_if(found->second.begin(), found->second.end(),
                                  [&](const std::string& name) { return name != scaler; });
  return other == found->second.end() ? std::string{} : *other;
}

}  // namespace sluice::injector
