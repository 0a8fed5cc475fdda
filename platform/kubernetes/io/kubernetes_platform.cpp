#include "platform/kubernetes/io/kubernetes_platform.h"

#include "autoscaler/io/health_page.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

// A reconcile costs as much as its pods. Beyond this many, changes are handled together: a roll-out
// of thousands changes faster than reconciles could run.
constexpr std::size_t kManyPods = 100;
constexpr Duration kManyPodsPause = std::chrono::milliseconds{200};

}  // namespace

KubernetesPlatform::KubernetesPlatform(ClusterGround ground, Self self, Events events)
    : ground_{std::move(ground)},
      clock_{ground_.place.clock},
      self_{std::move(self)},
      on_{std::move(events)},
      loop_{ground_.loop,
            {.confirm = ground_.confirm,
             .look = [this](const RevisionId& id) { look(id); },
             .end = [this] { send_event(); }}},
      writer_{ground_.place.client, clock_},
      probes_{ground_.place.io, clock_, [this](const RevisionId& id) { loop_.add(id); }},
      view_{ground_.place, ground_.objects, self_.system_space, view_events()},
      reconciler_{{.clock = clock_,
                   .log = ground_.place.log,
                   .view = view_,
                   .writer = writer_,
                   .probes = probes_,
                   .ports = ports_,
                   .loop = loop_,
                   .events = events_,
                   .config = ground_.config,
                   .governed = governed_}} {}

ClusterView::Events KubernetesPlatform::view_events() {
  return {.touched = [this](const RevisionId& id) { touched(id); },
          .gone = [this](const RevisionId& id) { gone(id); },
          .seen = [this](const std::string& object) { writer_.seen(object); },
          .activators =
              [this] {
                if (probes_.set_activators(view_.activators())) look_at_governed();
              },
          .config = on_.config,
          .synced = [this] { on_synced(); }};
}

std::optional<Problem> KubernetesPlatform::open(model::Listener& listener, TimePoint /*now*/,
                                                Settled settled) {
  listener_ = &listener;
  settled_ = std::move(settled);
  view_.start();
  return std::nullopt;
}

bool KubernetesPlatform::do_without_others() {
  view_.do_without_others();
  return view_.synced();
}

void KubernetesPlatform::look_at_all() {
  for (const auto& [name, scaler] : view_.scalers()) touched({name.space, name.name});
}

void KubernetesPlatform::look_at_governed() {
  for (const auto& [id, governed] : governed_) loop_.add(id);
}

void KubernetesPlatform::owners_changed() {
  bool lost = false;
  for (auto each = governed_.begin(); each != governed_.end();) {
    const RevisionId id = each->first;
    if (ground_.owns(id)) {
      ++each;
      continue;
    }
    lost = true;
    const bool told = each->second.told;
    each = governed_.erase(each);
    loop_.forget(id);
    probes_.forget(id);
    if (told) listener_->on_revision_released(id);
  }
  // What is still ours is looked at again below, and written again where it has to be.
  if (lost) writer_.abandon();
  look_at_all();
}

void KubernetesPlatform::config_changed() {
  look_at_governed();
}

// --- what the view says ---

void KubernetesPlatform::touched(const RevisionId& id) {
  const kube::RequestScaler* const scaler = view_.scaler(id);
  if (scaler == nullptr) return;
  on_.named(id);
  const auto port = scaler->status.activator_port;
  if (const auto loser =
          ports_.told(id, kube::is_activator_port(port) ? static_cast<std::uint16_t>(port)
                                                        : std::uint16_t{0})) {
    loop_.add(*loser);
  }
  if (!ground_.owns(id)) return;
  GovernedScaler& governed = governed_[id];
  governed.news = true;
  const TimePoint now = clock_.now();
  loop_.add(id, governed.large ? std::max(now, governed.looked + kManyPodsPause) : now);
}

void KubernetesPlatform::gone(const RevisionId& id) {
  ports_.forget(id);
  probes_.forget(id);
  loop_.forget(id);
  const auto known = governed_.find(id);
  if (known != governed_.end()) {
    const bool told = known->second.told;
    writer_.withdraw(known->second.scale_object);
    governed_.erase(known);
    if (told) listener_->on_revision_gone(id);
  }
  on_.unnamed(id);
}

// Ports first: a scaler that has none chooses among those that are free.
void KubernetesPlatform::on_synced() {
  look_at_all();
  ground_.place.log.write(log::Severity::info, "initial sync complete",
                          {{"scalers", std::to_string(view_.scalers().size())}});
  loop_.turn();
  std::exchange(settled_, nullptr)(std::nullopt);
}

// --- the work ---

void KubernetesPlatform::look(const RevisionId& id) {
  const kube::RequestScaler* const scaler = view_.scaler(id);
  const auto found = governed_.find(id);
  if (scaler == nullptr || found == governed_.end()) return;
  GovernedScaler& governed = found->second;
  const ScalerSight sight = look_at(view_, id, *scaler);
  governed.looked = clock_.now();
  governed.large = sight.pods.size() > kManyPods;
  if (!view_.synced()) {
    reconciler_.tell_trouble(sight, governed);
    return;
  }
  // A target that has never been there has no number of replicas to begin with; its coming is news.
  const bool news = std::exchange(governed.news, false);
  if (news && (governed.told || sight.target != nullptr)) tell(sight, governed);
  reconciler_.reconcile(sight, governed);
}

void KubernetesPlatform::tell(const ScalerSight& sight, GovernedScaler& governed) {
  governed.told = true;
  model::Revision revision = watched(sight);
  revision.proxied_since = governed.proxied_since;
  listener_->on_revision(std::move(revision));
}

void KubernetesPlatform::send_event() {
  if (const auto event = events_.take(clock_.now())) {
    ground_.place.client.send_and_forget(event_request(*event, self_.pod),
                                         [](const kube::Answer&) {});
  }
  if (const auto due = events_.next_due()) loop_.wake(*due);
}

// --- what is ordered ---

std::optional<ScaleOrder> KubernetesPlatform::last(const RevisionId& revision) {
  const kube::Workload* const target = view_.target(revision);
  if (target == nullptr) return std::nullopt;
  ScaleOrder order;
  order.replicas = target->replicas;
  for (const auto& [name, pod] : view_.pods(revision)) {
    const bool chosen = pod->deletion_cost >= kCostLeast && pod->deletion_cost <= kCostMost;
    if (chosen && !pod->terminating) order.remove.push_back({name});
  }
  return order;
}

void KubernetesPlatform::apply(const RevisionId& revision, const ScaleOrder& order) {
  const auto found = governed_.find(revision);
  if (found == governed_.end()) return;
  std::optional<ScaleOrder>& present = found->second.order;
  if (present) {
    // A sentence that puts the same decision into other words is no news.
    present->report.why = order.report.why;
    if (*present == order) return;
  }
  present = order;
  loop_.add(revision);
}

void KubernetesPlatform::forget(const RevisionId& revision) {
  const auto found = governed_.find(revision);
  if (found != governed_.end()) found->second.order.reset();
}

void KubernetesPlatform::probe(const RevisionId& revision, std::function<void(bool ok)> done) {
  const auto found = governed_.find(revision);
  const auto port = ports_.port_of(revision);
  const bool routed = found != governed_.end() && port;
  probes_.ask(revision, port.value_or(0),
              routed ? found->second.routed : std::vector<std::string>{}, std::move(done));
}

// --- what it shows ---

std::vector<HealthCheck> KubernetesPlatform::checks() const {
  const auto failing = std::count_if(governed_.begin(), governed_.end(),
                                     [](const auto& each) { return !each.second.failing.empty(); });
  return {{"orders", true,
           failing == 0 ? "" : std::to_string(failing) + " scalers have a write that failed"}};
}

void KubernetesPlatform::write_metrics(metrics::Families& families) const {
  families.gauge("sluice_kubernetes_waiting_scalers", "Scalers queued for reconciliation",
                 loop_.waiting());
}

}  // namespace sluice::autoscaler
