#include "autoscaler/core/decision/serverless_service.h"

#include "common/ring/hash_ring.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

RouteMode effective(const ServerlessView& view) {
  RouteMode mode = view.mode;
  if (view.pods.empty()) mode = RouteMode::proxy;
  // Last, so that with neither it is serve: callers then see an empty public service.
  if (view.all_activators.empty()) mode = RouteMode::serve;
  return mode;
}

std::vector<std::string> chosen_activators(ServerlessView& view) {
  std::vector<std::string>& all = view.all_activators;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto count = static_cast<std::size_t>(std::max(view.activators, 0));
  if (count == 0 || count >= all.size()) return std::move(all);
  // The ring has no place for more; chosen from so many, a subset is spread well enough.
  if (all.size() > ring::kNamesMax) all.resize(ring::kNamesMax);
  return ring::choose_subset(std::move(all), count, view.name);
}

}  // namespace

ServerlessPlan plan_serverless(ServerlessView view, TimePoint now) {
  ServerlessPlan plan;
  plan.mode = effective(view);
  plan.endpoints_populated = !view.pods.empty();
  // By the requested mode: the proxy clock runs even without an activator.
  if (view.pods.empty() || view.mode == RouteMode::proxy) {
    plan.proxied_since = view.proxied_since.value_or(now);
  }
  plan.addresses = plan.mode == RouteMode::serve ? std::move(view.pods) : chosen_activators(view);
  return plan;
}

}  // namespace sluice::autoscaler
