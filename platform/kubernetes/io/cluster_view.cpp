#include "platform/kubernetes/io/cluster_view.h"

#include "common/kube/labels.h"

#include "platform/kubernetes/core/service_plan.h"
#include "platform/kubernetes/io/documents.h"
#include "platform/kubernetes/io/watched_pod.h"
#include <algorithm>

namespace sluice::autoscaler {
namespace {

constexpr const char* kConfigMap = "config-autoscaler";
constexpr std::string_view kKedaGroup = "keda.sh";

kube::Collection collection(std::string path, std::string labels = {}, std::string fields = {}) {
  kube::Collection all;
  all.path = std::move(path);
  all.labels = std::move(labels);
  all.fields = std::move(fields);
  return all;
}

RevisionId id_of(const kube::ObjectName& name) {
  return {name.space, name.name};
}

kube::ObjectName name_of(const RevisionId& id) {
  return {id.space, id.name};
}

std::optional<RevisionId> first_before(const std::set<RevisionId>& ids, const RevisionId& id) {
  if (ids.empty() || *ids.begin() == id) return std::nullopt;
  return *ids.begin();
}

}  // namespace

template <class T>
typename ClusterView::Informer<T>::Events ClusterView::followed(
    std::function<void(const kube::ObjectName&, const T*)> tell) {
  typename Informer<T>::Events events;
  events.changed = [tell](const kube::ObjectName& name, const T& value) { tell(name, &value); };
  events.gone = [tell](const kube::ObjectName& name, const T&) { tell(name, nullptr); };
  events.synced = [this] { on_synced(); };
  return events;
}

ClusterView::ClusterView(const kube::Place& at, ClusterObjects& objects,
                         const std::string& system_space, Events events)
    : objects_{objects},
      events_{std::move(events)},
      scalers_{at, collection(std::string{kube::kRequestScalers}), kube::decode_request_scaler,
               followed<kube::RequestScaler>([this](const auto& name, const auto* now) {
                 now != nullptr ? on_scaler(name, *now) : on_scaler_gone(name);
               })},
      stateful_sets_{at, collection("/apis/apps/v1/statefulsets"), kube::decode_workload,
                     followed<kube::Workload>([this](const auto& name, const auto*) {
                       on_target("StatefulSet", name);
                     })},
      pods_{at, collection("/api/v1/pods", std::string{kube::kSidecarLabel}), kube::decode_pod,
            followed<kube::Pod>([this](const auto& name, const auto* now) { on_pod(name, now); })},
      slices_{at,
              collection("/apis/discovery.k8s.io/v1/endpointslices",
                         "endpointslice.kubernetes.io/managed-by=sluice.dev"),
              kube::decode_endpoint_slice,
              followed<kube::EndpointSlice>(
                  [this](const auto& name, const auto* now) { on_slice(name, now); })},
      activators_{
          at,
          collection("/apis/discovery.k8s.io/v1/namespaces/" + system_space + "/endpointslices",
                     "kubernetes.io/service-name=activator"),
          kube::decode_endpoint_slice,
          followed<kube::EndpointSlice>([this](const auto&, const auto*) {
            if (synced_) events_.activators();
          })},
      hpas_{at, collection("/apis/autoscaling/v2/horizontalpodautoscalers"),
            kube::decode_other_scaler,
            followed<kube::OtherScaler>([this](const auto& name, const auto* now) {
              on_other("HorizontalPodAutoscaler ", name, now);
            })},
      keda_presence_{at.io, at.client, kKedaGroup},
      keda_{at, collection("/apis/keda.sh/v1alpha1/scaledobjects"), kube::decode_other_scaler,
            followed<kube::OtherScaler>([this](const auto& name, const auto* now) {
              on_other("ScaledObject ", name, now);
            })},
      config_{at,
              collection("/api/v1/namespaces/" + system_space + "/configmaps", "",
                         std::string{"metadata.name="} + kConfigMap),
              kube::decode_config_map,
              followed<kube::StringMap>([this](const auto&, const auto* now) {
                if (synced_) events_.config(now != nullptr ? *now : kube::StringMap{});
              })} {
  objects_.deployments.hear(followed<kube::Workload>(
      [this](const auto& name, const auto*) { on_target("Deployment", name); }));
  objects_.services.hear(followed<kube::Service>(
      [this](const auto& name, const auto* now) { on_service(name, now); }));
}

void ClusterView::start() {
  config_.start();
  scalers_.start();
  stateful_sets_.start();
  pods_.start();
  slices_.start();
  activators_.start();
  hpas_.start();
  keda_presence_.start([this](bool there) {
    if (there) keda_.start();
    on_synced();
  });
}

// Those without which nothing can be said of any scaler.
FollowedStates ClusterView::needed() const {
  return {{"requestscalers", &scalers_.state()},     {"deployments", &objects_.deployments.state()},
          {"statefulsets", &stateful_sets_.state()}, {"pods", &pods_.state()},
          {"services", &objects_.services.state()},  {"endpointslices", &slices_.state()},
          {"activators", &activators_.state()},      {"configmaps", &config_.state()}};
}

// Kinds of other scalers of our targets that are not listed yet. A kind that is not installed has
// no objects.
FollowedStates ClusterView::others_awaited() const {
  FollowedStates all;
  if (!hpas_.state().synced) all.emplace_back("horizontalpodautoscalers", &hpas_.state());
  if (!keda_presence_.absent() && !keda_.state().synced) {
    all.emplace_back("scaledobjects", &keda_.state());
  }
  return all;
}

// KEDA's kind is none of them: where it is not installed we have no permission for it.
std::optional<Trouble> ClusterView::trouble() const {
  auto all = needed();
  all.emplace_back("horizontalpodautoscalers", &hpas_.state());
  for (const auto& [what, state] : all) {
    if (!state->forbidden) continue;
    return Trouble{"Forbidden", std::string{what} + " cannot be watched: " + state->problem,
                   "give the autoscaler's ServiceAccount the rules of the chart"};
  }
  return std::nullopt;
}

std::vector<std::string> ClusterView::wrong() const {
  FollowedStates states = needed();
  if (!synced_) {
    const auto others = others_awaited();
    states.insert(states.end(), others.begin(), others.end());
  }
  std::vector<std::string> all = not_followed(states);
  const std::string& unasked = keda_presence_.problem();
  if (!keda_presence_.absent() && !unasked.empty()) all.push_back("/apis: " + unasked);
  return all;
}

// Where anything else is missing too, the server has told nothing yet, and they come with the rest.
void ClusterView::do_without_others() {
  if (!all_known(needed())) return;
  others_wanted_ = false;
  on_synced();
}

// The first time only: from then on every event is reported as it arrives.
void ClusterView::on_synced() {
  if (synced_ || !all_known(needed()) || (others_wanted_ && !others_awaited().empty())) return;
  synced_ = true;
  const auto& configs = config_.all();
  events_.config(configs.empty() ? kube::StringMap{} : configs.begin()->second);
  for (const auto& [name, scaler] : scalers_.all()) {
    const RevisionId id = id_of(name);
    link(id, scaler);
    const kube::Workload* const workload = target(id);
    if (workload != nullptr) selectors_.set(id, workload->selector);
  }
  for (const auto& [name, pod] : pods_.all()) on_pod(name, &pod);
  events_.activators();
  events_.synced();
}

void ClusterView::link(const RevisionId& id, const kube::RequestScaler& scaler) {
  unlink(id);
  Links links;
  links.target = {scaler.target.kind.empty() ? "Deployment" : scaler.target.kind,
                  {id.space, scaler.target.name}};
  links.front = {id.space, front_name(id, scaler)};
  links.pods = {id.space, pods_name(id)};
  by_target_[links.target].insert(id);
  by_service_[links.front].insert(id);
  by_service_[links.pods].insert(id);
  links_.insert_or_assign(id, std::move(links));
}

void ClusterView::unlink(const RevisionId& id) {
  const auto known = links_.find(id);
  if (known == links_.end()) return;
  const auto drop = [&id](auto& index, const auto& key) {
    const auto found = index.find(key);
    if (found == index.end()) return;
    found->second.erase(id);
    if (found->second.empty()) index.erase(found);
  };
  drop(by_target_, known->second.target);
  drop(by_service_, known->second.front);
  drop(by_service_, known->second.pods);
  links_.erase(known);
}

void ClusterView::on_scaler(const kube::ObjectName& name, const kube::RequestScaler& scaler) {
  if (!synced_) return;
  const RevisionId id = id_of(name);
  const auto known = links_.find(id);
  const Links before = known == links_.end() ? Links{} : known->second;
  link(id, scaler);
  // Another target, which may not be there yet: the pods of the one before are not its pods.
  if (before.target != links_.at(id).target) forget_pods(id);
  follow_selector(id);
  events_.seen(scaler_path(id));
  events_.seen(scaler_path(id) + "/status");
  // A scaler that shares its target or Service, or did, may now be the first by name, or no longer
  // be it.
  touch_sharers(links_.at(id));
  touch_sharers(before);
}

void ClusterView::on_scaler_gone(const kube::ObjectName& name) {
  if (!synced_) return;
  const RevisionId id = id_of(name);
  const auto known = links_.find(id);
  const Links links = known == links_.end() ? Links{} : known->second;
  unlink(id);
  forget_pods(id);
  events_.gone(id);
  touch_sharers(links);
}

void ClusterView::touch_sharers(const Links& links) const {
  const auto target = by_target_.find(links.target);
  if (target != by_target_.end()) touch_all(target->second);
  const auto service = by_service_.find(links.front);
  if (service != by_service_.end()) touch_all(service->second);
}

void ClusterView::forget_pods(const RevisionId& id) {
  selectors_.remove(id);
  for (const std::string& pod : pods_of_[id]) {
    const auto home = homes_.find({id.space, pod});
    if (home == homes_.end()) continue;
    std::erase(home->second, id);
    if (home->second.empty()) homes_.erase(home);
  }
  pods_of_.erase(id);
}

void ClusterView::touch_all(const std::set<RevisionId>& ids) const {
  for (const RevisionId& id : ids) events_.touched(id);
}

void ClusterView::on_target(const char* kind, const kube::ObjectName& name) {
  if (!synced_) return;
  events_.seen(workload_path(kind, name) + "/scale");
  const auto found = by_target_.find({kind, name});
  if (found == by_target_.end()) return;
  for (const RevisionId& id : found->second) {
    follow_selector(id);
    events_.touched(id);
  }
}

void ClusterView::follow_selector(const RevisionId& id) {
  const kube::Workload* const workload = target(id);
  // A target that has gone may come back; its pods are on their way out, and still ours.
  if (workload == nullptr || !selectors_.set(id, workload->selector)) return;
  const auto& all = pods_.all();
  for (auto pod = all.lower_bound({id.space, ""}); pod != all.end() && pod->first.space == id.space;
       ++pod) {
    on_pod(pod->first, &pod->second);
  }
}

void ClusterView::on_pod(const kube::ObjectName& name, const kube::Pod* pod) {
  if (!synced_) return;
  std::vector<RevisionId> now;
  if (pod != nullptr) now = selectors_.find(name.space, pod->labels);
  const auto known = homes_.find(name);
  if (known != homes_.end()) {
    for (const RevisionId& id : known->second) {
      if (std::find(now.begin(), now.end(), id) != now.end()) continue;
      pods_of_[id].erase(name.name);
      events_.touched(id);
    }
  }
  events_.seen(pod_path(name));
  for (const RevisionId& id : now) {
    pods_of_[id].insert(name.name);
    events_.touched(id);
  }
  if (now.empty()) {
    if (known != homes_.end()) homes_.erase(known);
  } else {
    homes_.insert_or_assign(name, std::move(now));
  }
}

void ClusterView::on_service(const kube::ObjectName& name, const kube::Service* service) {
  const auto original = service != nullptr ? read_original(*service) : std::nullopt;
  std::set<RevisionId> concerned = adoptions_.set(name, original ? original->scaler : "");
  if (!synced_) return;
  const auto found = by_service_.find(name);
  if (found != by_service_.end()) concerned.insert(found->second.begin(), found->second.end());
  if (!concerned.empty()) events_.seen(service_path(name));
  touch_all(concerned);
}

// A scaler takes over the slices of the one that had its Service before. If our label is removed
// from a slice, it is no longer watched and counts as deleted.
void ClusterView::on_slice(const kube::ObjectName& name, const kube::EndpointSlice* slice) {
  std::string scaler;
  if (slice != nullptr) {
    const auto label = slice->labels.find(kube::kScalerLabel);
    if (label != slice->labels.end()) scaler = label->second;
  }
  const std::set<RevisionId> concerned = slice_owners_.set(name, scaler);
  if (!synced_) return;
  if (!concerned.empty()) events_.seen(slice_path(name));
  touch_all(concerned);
}

void ClusterView::on_other(const std::string& what, const kube::ObjectName& name,
                           const kube::OtherScaler* other) {
  const std::string words = what + name.name;
  const std::string key = words + "/" + name.space;
  const auto tell = [this](const TargetKey& target) {
    const auto found = by_target_.find(target);
    if (synced_ && found != by_target_.end()) touch_all(found->second);
  };
  const auto known = other_targets_.find(key);
  if (known != other_targets_.end()) {
    const TargetKey before = known->second;
    others_[before].erase(words);
    if (others_[before].empty()) others_.erase(before);
    other_targets_.erase(known);
    tell(before);
  }
  if (other == nullptr) return;
  const TargetKey target{other->target_kind.empty() ? "Deployment" : other->target_kind,
                         {name.space, other->target_name}};
  others_[target].insert(words);
  other_targets_.emplace(key, target);
  tell(target);
}

const kube::RequestScaler* ClusterView::scaler(const RevisionId& id) const {
  return scalers_.find(name_of(id));
}

const kube::Workload* ClusterView::target(const RevisionId& id) const {
  const auto links = links_.find(id);
  if (links == links_.end()) return nullptr;
  const auto& [kind, name] = links->second.target;
  if (kind == "Deployment") return objects_.deployments.find(name);
  if (kind == "StatefulSet") return stateful_sets_.find(name);
  return nullptr;
}

const kube::Service* ClusterView::service(const kube::ObjectName& name) const {
  return objects_.services.find(name);
}

ClusterView::Pods ClusterView::pods(const RevisionId& id) const {
  Pods all;
  const auto found = pods_of_.find(id);
  const auto links = links_.find(id);
  if (found == pods_of_.end() || links == links_.end()) return all;
  const auto& [kind, target] = links->second.target;
  for (const std::string& name : found->second) {
    const kube::Pod* const pod = pods_.find({id.space, name});
    if (pod != nullptr && made_by(*pod, kind, target.name)) all.emplace_back(name, pod);
  }
  return all;
}

ClusterView::Slices ClusterView::slices(const RevisionId& id) const {
  Slices all;
  for (const kube::ObjectName& name : slice_owners_.of(id)) {
    const kube::EndpointSlice* const slice = slices_.find(name);
    if (slice != nullptr) all.emplace_back(name.name, slice);
  }
  return all;
}

std::optional<std::string> ClusterView::node_of(const kube::ObjectName& name) const {
  const kube::Pod* const pod = pods_.find(name);
  if (pod == nullptr) return std::nullopt;
  return pod->node;
}

std::set<std::string> ClusterView::activators() const {
  std::set<std::string> all;
  for (const auto& [name, slice] : activators_.all()) {
    for (const auto& endpoint : slice.endpoints) {
      if (endpoint.ready && !endpoint.terminating) all.insert(endpoint.address);
    }
  }
  return all;
}

std::optional<std::string> ClusterView::other_scaler(const RevisionId& id) const {
  const auto links = links_.find(id);
  if (links == links_.end()) return std::nullopt;
  const auto found = others_.find(links->second.target);
  if (found == others_.end()) return std::nullopt;
  return *found->second.begin();
}

std::optional<RevisionId> ClusterView::service_rival(const RevisionId& id) const {
  const auto links = links_.find(id);
  if (links == links_.end()) return std::nullopt;
  return first_before(by_service_.at(links->second.front), id);
}

std::optional<RevisionId> ClusterView::target_rival(const RevisionId& id) const {
  const auto links = links_.find(id);
  if (links == links_.end()) return std::nullopt;
  return first_before(by_target_.at(links->second.target), id);
}

}  // namespace sluice::autoscaler
