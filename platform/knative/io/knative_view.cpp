#include "platform/knative/io/knative_view.h"

#include "common/kube/labels.h"

#include "platform/knative/io/knative_json.h"
#include "platform/kubernetes/io/watched_pod.h"
#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::string_view kServiceLabel = "serving.knative.dev/service";

// Of the sidecar (autoscaler.md 9); a port named by the pod comes first.
constexpr std::uint16_t kHttpPort = 8012;
constexpr std::uint16_t kH2cPort = 8013;

kube::Collection collection(std::string path, std::string labels = {}) {
  kube::Collection all;
  all.path = std::move(path);
  all.labels = std::move(labels);
  return all;
}

RevisionId id_of(const kube::ObjectName& name) {
  return {name.space, name.name};
}

kube::ObjectName name_of(const RevisionId& id) {
  return {id.space, id.name};
}

std::string revision_of(const kube::StringMap& labels) {
  const auto found = labels.find(kube::kRevisionLabel);
  return found == labels.end() ? std::string{} : found->second;
}

}  // namespace

template <class T>
typename KnativeView::Informer<T>::Events KnativeView::followed(
    std::function<void(const kube::ObjectName&, const T&, bool there)> tell) {
  typename Informer<T>::Events events;
  events.changed = [tell](const kube::ObjectName& name, const T& value) {
    tell(name, value, true);
  };
  events.gone = [tell](const kube::ObjectName& name, const T& last) { tell(name, last, false); };
  events.synced = [this] { on_synced(); };
  return events;
}

KnativeView::KnativeView(const kube::Place& at, ClusterObjects& objects, std::string domain,
                         Events events)
    : objects_of_both_{objects},
      domain_{std::move(domain)},
      events_{std::move(events)},
      objects_{at, collection(std::string{kPodAutoscalerGroup} + "/podautoscalers"),
               decode_pod_autoscaler,
               followed<PodAutoscaler>([this](const auto& name, const auto&, bool there) {
                 if (!synced_) return;
                 const RevisionId id = id_of(name);
                 events_.seen(pod_autoscaler_path(id) + "/status");
                 there ? events_.touched(id) : events_.gone(id);
               })},
      serverless_{at, collection(std::string{kServerlessGroup} + "/serverlessservices"),
                  decode_serverless,
                  followed<ServerlessObject>([this](const auto& name, const auto&, bool) {
                    if (synced_) events_.seen(serverless_path(id_of(name)));
                    touch(id_of(name));
                  })},
      pods_{at, collection("/api/v1/pods", std::string{kube::kRevisionLabel}), kube::decode_pod,
            followed<kube::Pod>([this](const auto& name, const auto& value, bool there) {
              on_pod(name, value, there);
            })} {
  objects.deployments.hear(followed<kube::Workload>(
      [this](const auto& name, const auto& value, bool) { on_deployment(name, value); }));
  objects.services.hear(followed<kube::Service>([](const auto&, const auto&, bool) {}));
}

void KnativeView::start() {
  objects_.start();
  serverless_.start();
  pods_.start();
}

FollowedStates KnativeView::states() const {
  return {{"podautoscalers", &objects_.state()},
          {"serverlessservices", &serverless_.state()},
          {"deployments of revisions", &objects_of_both_.deployments.state()},
          {"pods of revisions", &pods_.state()},
          {"services of revisions", &objects_of_both_.services.state()}};
}

void KnativeView::on_synced() {
  if (synced_) return;
  synced_ = all_known(states());
  if (synced_) events_.synced();
}

void KnativeView::touch(const RevisionId& id) const {
  if (synced_ && objects_.find(name_of(id)) != nullptr) events_.touched(id);
}

void KnativeView::on_deployment(const kube::ObjectName& name, const kube::Workload& deployment) {
  const RevisionId id{name.space, revision_of(deployment.template_labels)};
  if (id.name.empty()) return;
  if (synced_) events_.seen(target_path(id, {"apps/v1", "Deployment", name.name}) + "/scale");
  touch(id);
}

void KnativeView::on_pod(const kube::ObjectName& name, const kube::Pod& pod, bool there) {
  const RevisionId id{name.space, revision_of(pod.labels)};
  if (id.name.empty()) return;
  if (there) {
    pods_of_[id].insert(name.name);
  } else {
    pods_of_[id].erase(name.name);
    if (pods_of_[id].empty()) pods_of_.erase(id);
  }
  touch(id);
}

const PodAutoscaler* KnativeView::object(const RevisionId& id) const {
  return objects_.find(name_of(id));
}

const kube::Workload* KnativeView::target(const RevisionId& id) const {
  const PodAutoscaler* const owner = object(id);
  if (owner == nullptr || target_path(id, owner->target).empty()) return nullptr;
  const auto* const found = objects_of_both_.deployments.find({id.space, owner->target.name});
  return found != nullptr && revision_of(found->template_labels) == id.name ? found : nullptr;
}

const ServerlessObject* KnativeView::serverless(const RevisionId& id) const {
  return serverless_.find(name_of(id));
}

std::string KnativeView::cluster_ip(const RevisionId& id) const {
  const PodAutoscaler* const owner = object(id);
  if (owner == nullptr || owner->status.service_name.empty()) return {};
  const kube::Service* const service =
      objects_of_both_.services.find({id.space, owner->status.service_name});
  return service == nullptr || service->cluster_ip == "None" ? std::string{} : service->cluster_ip;
}

model::Revision KnativeView::watched(const RevisionId& id) const {
  std::vector<std::pair<std::string, const kube::Pod*>> pods;
  const auto known = pods_of_.find(id);
  if (known != pods_of_.end()) {
    for (const std::string& name : known->second) {
      const kube::Pod* const pod = pods_.find({id.space, name});
      if (pod != nullptr) pods.emplace_back(name, pod);
    }
  }
  model::Revision revision = watched_revision(id, *object(id), serverless(id), pods, domain_);
  if (const kube::Workload* const deployment = target(id)) {
    revision.claim_memory = deployment->claim_memory;
    revision.claim_cpu = deployment->claim_cpu;
  }
  return revision;
}

std::int32_t KnativeView::ready_pods(const RevisionId& id) const {
  const auto pods = watched(id).pods;
  return static_cast<std::int32_t>(std::count_if(
      pods.begin(), pods.end(), [](const auto& pod) { return pod.ready && !pod.terminating; }));
}

model::Revision watched_revision(const RevisionId& id, const PodAutoscaler& object,
                                 const ServerlessObject* serverless,
                                 const std::vector<std::pair<std::string, const kube::Pod*>>& pods,
                                 const std::string& domain) {
  model::Revision revision;
  revision.id = id;
  const auto service = object.labels.find(kServiceLabel);
  revision.service = service == object.labels.end() ? id.name : service->second;
  const std::string& front =
      object.status.service_name.empty() ? id.name : object.status.service_name;
  const std::string host = front + "." + id.space;
  revision.hosts = {{host}, {host + ".svc"}, {host + ".svc." + domain}};
  revision.container_concurrency = object.container_concurrency;
  revision.annotations = scaling_annotations(object);
  revision.reachability = object.reachability;
  revision.proxied_since = serverless == nullptr ? std::nullopt : serverless->proxied_since;
  const std::uint16_t usual = object.protocol == "h2c" ? kH2cPort : kHttpPort;
  for (const auto& [name, pod] : pods) {
    if (!lives(*pod)) continue;
    const std::uint16_t port = pod->serving_port == 0 ? usual : pod->serving_port;
    revision.pods.push_back(watched_pod(name, *pod, port));
  }
  return revision;
}

std::string target_path(const RevisionId& id, const KnativeTarget& target) {
  if (target.kind != "Deployment" || target.name.empty()) return {};
  return "/apis/apps/v1/namespaces/" + id.space + "/deployments/" + target.name;
}

}  // namespace sluice::autoscaler
