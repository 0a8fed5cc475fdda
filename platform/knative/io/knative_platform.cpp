#include "platform/knative/io/knative_platform.h"

#include "common/scaling/annotations.h"

#include <boost/asio/post.hpp>

#include "platform/knative/io/knative_json.h"
#include "platform/kubernetes/io/documents.h"
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr Duration kStatusPace = std::chrono::seconds{1};

constexpr std::string_view kGroup = "autoscaling.internal.knative.dev";

std::string shown(const RevisionId& id) {
  return id.space + "/" + id.name;
}

// As the scaler reads them: an invalid annotation counts as absent.
ScalingSpec scaling_of(const PodAutoscaler& object, const ClusterConfig& config) {
  StringMap annotations = scaling_annotations(object);
  for (const AnnotationProblem& wrong : check_annotations(annotations, config)) {
    for (const std::string& key : wrong.keys) annotations.erase(key);
  }
  return resolve(config, annotations, object.container_concurrency, object.reachability);
}

std::string_view status_of_ready(const PodAutoscaler::Status& status) {
  const kube::Condition* const found = find_condition(status.conditions, "Ready");
  return found == nullptr ? std::string_view{} : found->status;
}

}  // namespace

KnativePlatform::KnativePlatform(ClusterGround ground, Rules rules)
    : ground_{std::move(ground)},
      clock_{ground_.place.clock},
      rules_{std::move(rules)},
      loop_{ground_.loop,
            {.confirm = ground_.confirm, .look = [this](const RevisionId& id) { look(id); }}},
      writer_{ground_.place.client, clock_},
      probe_{ground_.place.io},
      view_{ground_.place,
            ground_.objects,
            rules_.domain,
            {.touched = [this](const RevisionId& id) { touched(id); },
             .gone = [this](const RevisionId& id) { gone(id); },
             .seen = [this](const std::string& object) { writer_.seen(object); },
             .synced = [this] { on_synced(); }}},
      presence_{ground_.place.io, ground_.place.client, kGroup} {}

std::optional<Problem> KnativePlatform::open(model::Listener& listener, TimePoint /*now*/,
                                             Settled settled) {
  listener_ = &listener;
  settled_ = std::move(settled);
  presence_.start([this](bool there) { there ? view_.start() : settle(); });
  return std::nullopt;
}

void KnativePlatform::on_synced() {
  ground_.place.log.write(log::Severity::info, "initial sync of Knative's revisions complete",
                          {{"revisions", std::to_string(view_.objects().size())},
                           {"shadow", rules_.shadow ? "true" : "false"}});
  touch_all();
  settle();
}

void KnativePlatform::settle() {
  if (settled_) std::exchange(settled_, nullptr)(std::nullopt);
}

// --- what the view says ---

bool KnativePlatform::wanted(const PodAutoscaler& object) const {
  return rules_.shadow || is_ours(object, ground_.config);
}

bool KnativePlatform::scales(const RevisionId& id) const {
  const PodAutoscaler* const object = view_.object(id);
  return !rules_.shadow && object != nullptr && is_ours(*object, ground_.config);
}

void KnativePlatform::touched(const RevisionId& id) {
  const PodAutoscaler* const object = view_.object(id);
  if (object == nullptr) return;
  if (!wanted(*object) || rules_.taken(id)) return drop(id, false);
  if (!ground_.owns(id)) return drop(id, true);
  Governed& governed = governed_[id];
  governed.news = true;
  loop_.add(id);
}

void KnativePlatform::gone(const RevisionId& id) {
  drop(id, false);
}

// `released`: another one of our replicas continues with it. Otherwise it is Knative's, or deleted.
void KnativePlatform::drop(const RevisionId& id, bool released) {
  const auto known = governed_.find(id);
  if (known == governed_.end()) return;
  const bool told = known->second.told;
  for (const std::string& object : known->second.written) writer_.withdraw(object);
  governed_.erase(known);
  loop_.forget(id);
  probe_.forget(id);
  shadow_.forget(id);
  if (!told) return;
  released ? listener_->on_revision_released(id) : listener_->on_revision_gone(id);
}

void KnativePlatform::take_back(const RevisionId& id) {
  if (view_.synced()) touched(id);
}

void KnativePlatform::touch_all() {
  if (!view_.synced()) return;
  for (const auto& [name, object] : view_.objects()) touched({name.space, name.name});
}

// --- the work ---

void KnativePlatform::look(const RevisionId& id) {
  const PodAutoscaler* const object = view_.object(id);
  const auto found = governed_.find(id);
  if (object == nullptr || found == governed_.end()) return;
  Governed& governed = found->second;
  // A target that has never been there has no number of replicas to begin with.
  if (governed.news && (governed.told || view_.target(id) != nullptr)) {
    governed.news = false;
    governed.told = true;
    listener_->on_revision(view_.watched(id));
  }
  if (!rules_.shadow) reconcile(id, sight_of(id, *object, governed), governed);
}

PodAutoscalerSight KnativePlatform::sight_of(const RevisionId& id, const PodAutoscaler& object,
                                             const Governed& governed) const {
  PodAutoscalerSight sight;
  sight.object = &object;
  sight.serverless = view_.serverless(id);
  sight.target = view_.target(id);
  sight.order = governed.order ? &*governed.order : nullptr;
  sight.ready = view_.ready_pods(id);
  sight.scaling = scaling_of(object, ground_.config);
  return sight;
}

void KnativePlatform::reconcile(const RevisionId& id, const PodAutoscalerSight& sight,
                                Governed& governed) {
  if (target_path(id, sight.object->target).empty()) {
    complain(id, governed, "the target is not a Deployment of Knative; only those are scaled");
    return;
  }
  governed.planned.clear();
  write_serverless(id, sight, governed);
  write_scale(id, sight, governed);
  write_status(id, sight, governed);
  // A write that is no longer wanted has not failed either.
  const auto forgotten = std::erase_if(
      governed.failing, [&](const auto& each) { return !governed.planned.contains(each); });
  if (forgotten > 0 && governed.failing.empty()) loop_.succeeded(id);
}

void KnativePlatform::write_serverless(const RevisionId& id, const PodAutoscalerSight& sight,
                                       Governed& governed) {
  using Step = ServerlessWish::Step;
  const ServerlessWish wish = plan_serverless(sight);
  switch (wish.step) {
    case Step::nothing:
      return;
    case Step::create:
      return write(id, serverless_path(id), create_serverless_request(id, *sight.object, wish));
    case Step::correct:
      return write(id, serverless_path(id),
                   correct_serverless_request(id, *sight.object, *sight.serverless, wish));
    case Step::not_owned:
      return complain(id, governed, "the ServerlessService of the same name has another owner");
  }
}

void KnativePlatform::write_scale(const RevisionId& id, const PodAutoscalerSight& sight,
                                  Governed& /*governed*/) {
  const auto replicas = plan_target(sight);
  const std::string path = target_path(id, sight.object->target);
  if (!replicas) return writer_.withdraw(path + "/scale");
  write(id, path + "/scale",
        scale_request(path, sight.target->uid, sight.target->replicas, *replicas));
}

void KnativePlatform::write_status(const RevisionId& id, const PodAutoscalerSight& sight,
                                   Governed& governed) {
  const TimePoint now = clock_.now();
  const PodAutoscaler::Status status = plan_status(sight, now);
  if (status == sight.object->status) return;
  governed.planned.insert(pod_autoscaler_path(id) + "/status");
  const bool flips = status_of_ready(status) != status_of_ready(sight.object->status);
  if (!flips && now - governed.status_written < kStatusPace) {
    loop_.add(id, governed.status_written + kStatusPace);
    return;
  }
  governed.status_written = now;
  write(id, pod_autoscaler_path(id) + "/status",
        pod_autoscaler_status_request(id, *sight.object, status));
}

// A write that is on its way is not planned twice: the revision is looked at again when it lands,
// or when it should have shown.
void KnativePlatform::write(const RevisionId& id, const std::string& object,
                            kube::Request request) {
  const auto governed = governed_.find(id);
  if (governed != governed_.end()) governed->second.planned.insert(object);
  const bool sent =
      writer_.write(object, std::move(request),
                    [this, id, object](const kube::Answer& answer) { landed(id, object, answer); });
  if (!sent) return loop_.add(id, clock_.now() + WriteLedger::kPatience);
  if (governed != governed_.end()) governed->second.written.insert(object);
}

void KnativePlatform::landed(const RevisionId& id, const std::string& object,
                             const kube::Answer& answer) {
  const auto found = governed_.find(id);
  if (found == governed_.end()) return;
  Governed& governed = found->second;
  if (answer) {
    governed.failing.erase(object);
    if (governed.failing.empty()) loop_.succeeded(id);
    return loop_.add(id);
  }
  if (answer.error().kind == kube::Failure::Kind::superseded) return;
  if (governed.failing.insert(object).second) {
    ground_.place.log.write(
        log::Severity::warning, "a write failed and is tried again",
        {{"revision", shown(id)}, {"object", object}, {"problem", answer.error().text()}});
  }
  loop_.failed(id);
}

void KnativePlatform::complain(const RevisionId& id, Governed& governed, std::string what) {
  if (governed.complaint == what) return;
  governed.complaint = std::move(what);
  ground_.place.log.write(log::Severity::error, "a PodAutoscaler cannot be scaled",
                          {{"revision", shown(id)}, {"problem", governed.complaint}});
}

// --- what is ordered ---

std::optional<ScaleOrder> KnativePlatform::last(const RevisionId& id) {
  const kube::Workload* const target = view_.target(id);
  if (target == nullptr) return std::nullopt;
  ScaleOrder order;
  order.replicas = target->replicas;
  return order;
}

void KnativePlatform::apply(const RevisionId& id, const ScaleOrder& order) {
  const auto found = governed_.find(id);
  if (found == governed_.end()) return;
  std::optional<ScaleOrder>& present = found->second.order;
  const bool same = present && *present == order;
  present = order;
  if (rules_.shadow) return compare(id);
  if (same) return;
  loop_.add(id);
}

void KnativePlatform::compare(const RevisionId& id) {
  const PodAutoscaler* const object = view_.object(id);
  const Governed& governed = governed_.at(id);
  if (object == nullptr || !governed.order) return;
  const auto lasting =
      shadow_.compare(id, shown_want(governed.order->report), object->status.desired, clock_.now());
  if (!lasting) return;
  ground_.place.log.write(log::Severity::warning, "the shadow's decision differs from Knative's",
                          {{"revision", shown(id)},
                           {"ours", std::to_string(lasting->ours)},
                           {"theirs", std::to_string(lasting->theirs)},
                           {"why", governed.order->report.why}});
}

void KnativePlatform::forget(const RevisionId& id) {
  const auto found = governed_.find(id);
  if (found != governed_.end()) found->second.order.reset();
}

void KnativePlatform::probe(const RevisionId& id, std::function<void(bool ok)> done) {
  const PodAutoscaler* const object = view_.object(id);
  if (object == nullptr || object->status.service_name.empty()) {
    boost::asio::post(ground_.place.io, [done = std::move(done)] { done(false); });
    return;
  }
  probe_.ask(id,
             {.service = object->status.service_name,
              .space = id.space,
              .domain = rules_.domain,
              .cluster_ip = view_.cluster_ip(id),
              .h2c = object->protocol == "h2c"},
             std::move(done));
}

// --- what it shows ---

std::vector<std::string> KnativePlatform::wrong() const {
  return presence_.there() ? view_.wrong() : std::vector<std::string>{};
}

void KnativePlatform::write_metrics(metrics::Families& families) const {
  if (!presence_.there()) return;
  using metrics::MetricType;
  families.gauge("sluice_knative_revisions",
                 "Knative revisions that this autoscaler scales or shadows", governed_.size());
  if (!rules_.shadow) return;
  families.counter("sluice_shadow_agreements_total",
                   "Decisions of the shadow equal to those of Knative",
                   shadow_.counts().agreements);
  families.counter("sluice_shadow_differences_total",
                   "Decisions of the shadow different from those of Knative",
                   shadow_.counts().differences);
}

}  // namespace sluice::autoscaler
