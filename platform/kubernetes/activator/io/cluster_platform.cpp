#include "platform/kubernetes/activator/io/cluster_platform.h"

#include "common/kube/labels.h"
#include "common/kube/objects.h"
#include "common/kube/request_scaler.h"

#include <boost/asio/post.hpp>

#include "platform/kubernetes/activator/io/cluster_objects.h"
#include <algorithm>
#include <utility>

namespace sluice::activator {

namespace {

constexpr std::string_view kSlices = "/apis/discovery.k8s.io/v1";
constexpr std::string_view kKnativeGroup = "serving.knative.dev";
constexpr std::string_view kKnativeRevisions = "/apis/serving.knative.dev/v1/revisions";

RevisionId id_of(const kube::ObjectName& name) {
  return {name.space, name.name};
}

ClusterName key_of(const kube::ObjectName& name) {
  return {name.space, name.name};
}

}  // namespace

// One collection that is followed.
class ClusterPlatform::Feed final : private kube::ObjectSink {
 public:
  Feed(ClusterPlatform& platform, kube::Collection collection, Put put, Gone gone)
      : platform_{platform},
        path_{collection.path},
        put_{std::move(put)},
        gone_{std::move(gone)},
        reflector_{platform.io_,  platform.clock_,   platform.random_,
                   platform.log_, *platform.client_, std::move(collection),
                   *this} {}

  void start() { reflector_.start(); }

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] const kube::Reflector::State& state() const { return reflector_.state(); }

 private:
  void put(const kube::ObjectName& name, std::string_view json) override {
    put_(name, json);
    platform_.changed();
  }

  void gone(const kube::ObjectName& name) override {
    gone_(name);
    platform_.changed();
  }

  void synced() override { platform_.synced(*this); }

  ClusterPlatform& platform_;
  std::string path_;
  Put put_;
  Gone gone_;
  kube::Reflector reflector_;
};

ClusterPlatform::ClusterPlatform(boost::asio::io_context& io, const Clock& clock,
                                 const log::Logger& log, std::unique_ptr<kube::Client> client,
                                 ClusterSpec spec, model::Listener& listener, ScalerDoors& doors)
    : io_{io},
      clock_{clock},
      log_{log},
      client_{std::move(client)},
      spec_{std::move(spec)},
      listener_{listener},
      doors_{doors},
      random_{spec_.seed},
      knative_presence_{io, *client_, kKnativeGroup},
      knative_release_{io, *client_, log},
      patience_{io} {
  follow_scalers();
  follow_slices();
  if (!spec_.autoscaler.empty()) follow_autoscalers();
  if (spec_.contract) view_.set_knative_contract(*spec_.contract);
}

ClusterPlatform::~ClusterPlatform() {
  alive_.end();
}

std::unique_ptr<ClusterPlatform::Feed> ClusterPlatform::feed(kube::Collection collection, Put put,
                                                             Gone gone) {
  return std::make_unique<Feed>(*this, std::move(collection), std::move(put), std::move(gone));
}

void ClusterPlatform::follow_scalers() {
  needed_.push_back(feed(
      {.path = std::string{kube::kRequestScalers}, .labels = {}, .fields = {}},
      [this](const kube::ObjectName& name, std::string_view json) {
        const auto scaler = kube::decode_request_scaler(json);
        if (scaler) view_.set_scaler(id_of(name), spec_of(name, *scaler));
      },
      [this](const kube::ObjectName& name) { view_.drop_scaler(id_of(name)); }));
  needed_.push_back(feed(
      {.path = "/api/v1/services", .labels = std::string{kPrivateLabel}, .fields = {}},
      [this](const kube::ObjectName& name, std::string_view json) {
        const auto service = kube::decode_service(json);
        if (!service) return;
        put_private_service(name, *service);
        if (auto selection = selection_of(name, *service)) {
          view_.set_selection(key_of(name), std::move(*selection));
        } else {
          view_.drop_selection(key_of(name));
        }
      },
      [this](const kube::ObjectName& name) {
        view_.drop_selection(key_of(name));
        view_.drop_private_service(key_of(name));
      }));
  needed_.push_back(feed(
      {.path = "/api/v1/pods", .labels = std::string{kube::kSidecarLabel}, .fields = {}},
      [this](const kube::ObjectName& name, std::string_view json) {
        auto pod = kube::decode_pod(json);
        if (pod) view_.set_pod(key_of(name), pod_of(std::move(*pod)));
      },
      [this](const kube::ObjectName& name) { view_.drop_pod(key_of(name)); }));
}

void ClusterPlatform::put_private_service(const kube::ObjectName& name,
                                          const kube::Service& service) {
  if (auto kept = private_service_of(name, service)) {
    view_.set_private_service(key_of(name), std::move(*kept));
  } else {
    view_.drop_private_service(key_of(name));
  }
}

void ClusterPlatform::follow_slices() {
  needed_.push_back(feed(
      {.path = std::string{kSlices} + "/namespaces/" + spec_.system_space + "/endpointslices",
       .labels = std::string{kActivatorLabels},
       .fields = {}},
      [this](const kube::ObjectName& name, std::string_view json) {
        const auto slice = kube::decode_endpoint_slice(json);
        if (slice) view_.set_activator_slice(key_of(name), slice_of(name, *slice));
      },
      [this](const kube::ObjectName& name) { view_.drop_activator_slice(key_of(name)); }));
  needed_.push_back(public_slices(kPublicLabels));
}

void ClusterPlatform::follow_autoscalers() {
  needed_.push_back(feed(
      {.path = std::string{kSlices} + "/namespaces/" + spec_.system_space + "/endpointslices",
       .labels = "kubernetes.io/service-name=" + spec_.autoscaler,
       .fields = {}},
      [this](const kube::ObjectName& name, std::string_view json) {
        const auto slice = kube::decode_endpoint_slice(json);
        if (slice) autoscalers_.set(key_of(name), slice_of(name, *slice));
      },
      [this](const kube::ObjectName& name) { autoscalers_.drop(key_of(name)); }));
}

std::unique_ptr<ClusterPlatform::Feed> ClusterPlatform::public_slices(std::string_view labels) {
  return feed(
      {.path = std::string{kSlices} + "/endpointslices",
       .labels = std::string{labels},
       .fields = {}},
      [this](const kube::ObjectName& name, std::string_view json) {
        const auto slice = kube::decode_endpoint_slice(json);
        if (slice) view_.set_public_slice(key_of(name), slice_of(name, *slice));
      },
      [this](const kube::ObjectName& name) { view_.drop_public_slice(key_of(name)); });
}

void ClusterPlatform::follow_knative() {
  if (!spec_.contract) {
    knative_release_.start([this](settings::KnativeContract contract) {
      view_.set_knative_contract(contract);
      changed();
      begin_when_told();
    });
  }
  knative_ = feed(
      {.path = std::string{kKnativeRevisions}, .labels = {}, .fields = {}},
      [this](const kube::ObjectName& name, std::string_view json) {
        auto spec = decode_knative_revision(json);
        if (spec) view_.set_knative(id_of(name), std::move(*spec));
      },
      [this](const kube::ObjectName& name) { view_.drop_knative(id_of(name)); });
  knative_->start();
}

// Without Knative's revisions their slices and Services are useless: they are watched once the kind
// exists.
void ClusterPlatform::follow_knative_places() {
  knative_places_.push_back(feed(
      {.path = std::string{kSlices} + "/endpointslices",
       .labels = std::string{kKnativePrivateLabels},
       .fields = {}},
      [this](const kube::ObjectName& name, std::string_view json) {
        const auto slice = kube::decode_endpoint_slice(json);
        if (slice) view_.set_private_slice(key_of(name), slice_of(name, *slice));
      },
      [this](const kube::ObjectName& name) { view_.drop_private_slice(key_of(name)); }));
  knative_places_.push_back(public_slices(kKnativePublicLabels));
  knative_places_.push_back(feed(
      {.path = "/api/v1/services", .labels = std::string{kKnativePrivateLabels}, .fields = {}},
      [this](const kube::ObjectName& name, std::string_view json) {
        const auto service = kube::decode_service(json);
        if (service) put_private_service(name, *service);
      },
      [this](const kube::ObjectName& name) { view_.drop_private_service(key_of(name)); }));
  for (const auto& places : knative_places_) places->start();
}

void ClusterPlatform::start(Begun begun) {
  begun_ = std::move(begun);
  for (const auto& feed : needed_) feed->start();
  knative_presence_.start([this](bool there) {
    if (there) {
      follow_knative();
    } else {
      begin_when_told();
    }
  });
  patience_.expires_after(spec_.patience);
  patience_.async_wait([this, alive = alive_.watch()](const boost::system::error_code& ec) {
    if (alive.over() || ec || begun_once_) return;
    log_.write(log::Severity::warning, "started before initial sync completed",
               {{"waiting", waiting()}});
    begin();
  });
}

void ClusterPlatform::synced(const Feed& feed) {
  changed();
  if (&feed == knative_.get() && knative_places_.empty()) {
    boost::asio::post(io_, [this, alive = alive_.watch()] {
      if (!alive.over() && knative_places_.empty()) follow_knative_places();
    });
  }
  begin_when_told();
}

// Later: the caller is inside a reflector, whose state may lag behind, and has to return first.
void ClusterPlatform::begin_when_told() {
  if (begun_once_) return;
  boost::asio::post(io_, [this, alive = alive_.watch()] {
    if (!alive.over() && !begun_once_ && all_told()) begin();
  });
}

// Without Knative's revisions those that exist would be answered with 404, and without its release
// a long response would be cut.
bool ClusterPlatform::all_told() const {
  const auto told = [](const auto& feed) { return feed->state().synced; };
  const bool knative = knative_ == nullptr ? knative_presence_.absent()
                                           : (knative_->state().synced && release_told()) ||
                                                 knative_->state().absent;
  return knative && std::all_of(needed_.begin(), needed_.end(), told);
}

bool ClusterPlatform::release_told() const {
  return spec_.contract || knative_release_.told();
}

void ClusterPlatform::begin() {
  begun_once_ = true;
  patience_.cancel();
  flush();
  if (begun_) begun_();
}

// The events of one read of a watch are reported together, at the next turn of the loop.
void ClusterPlatform::changed() {
  if (!begun_once_ || flushing_) return;
  flushing_ = true;
  boost::asio::post(io_, [this, alive = alive_.watch()] {
    if (!alive.over()) flush();
  });
}

void ClusterPlatform::flush() {
  flushing_ = false;
  ClusterView::Changes changes = view_.settle();
  for (const RevisionId& id : changes.gone) {
    doors_.want(id, 0);
    listener_.on_revision_gone(id);
  }
  for (ClusterRevision& revision : changes.revisions) {
    doors_.want(revision.id, revision.spec.port);
    listener_.on_revision(file_of(std::move(revision)));
  }
  if (changes.activators) listener_.on_activators(addresses_of(*changes.activators));
  doors_.settle();
  listener_.on_settled();
  const auto replicas = autoscalers_.settle();
  if (replicas && on_autoscalers_) on_autoscalers_(*replicas);
}

std::string ClusterPlatform::waiting() const {
  std::string text;
  if (begun_once_) return text;
  const auto name = [&text](std::string_view what, const std::string& problem) {
    if (!text.empty()) text += "; ";
    text += what;
    text += ": " + (problem.empty() ? "no answer yet" : problem);
  };
  for (const auto& feed : needed_) {
    if (!feed->state().synced) name(feed->path(), feed->state().problem);
  }
  if (knative_ == nullptr) {
    if (!knative_presence_.absent()) name(kKnativeGroup, knative_presence_.problem());
  } else if (!knative_->state().synced && !knative_->state().absent) {
    name(knative_->path(), knative_->state().problem);
  }
  if (knative_ != nullptr && !release_told() && !knative_->state().absent) {
    name("the version of Knative", knative_release_.problem());
  }
  return text;
}

ClusterPlatform::Watches ClusterPlatform::watches() const {
  Watches watches;
  const auto count = [&watches](const Feed& feed) {
    const kube::Reflector::State& state = feed.state();
    ++watches.all;
    watches.open += state.connected ? 1U : 0U;
    watches.lists += state.lists;
    watches.events += state.events;
  };
  for (const auto& feed : needed_) count(*feed);
  // A kind that is not installed is not waited for.
  if (knative_ != nullptr && !knative_->state().absent) count(*knative_);
  for (const auto& feed : knative_places_) count(*feed);
  return watches;
}

}  // namespace sluice::activator
