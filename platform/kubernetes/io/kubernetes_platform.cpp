#include "platform/kubernetes/io/kubernetes_platform.h"

#include "autoscaler/core/share/buckets.h"
#include "common/metrics/exposition.h"
#include "common/ring/hash_ring.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

// A look costs what its pods cost. Past this many they are looked at together: a roll-out of
// thousands makes news faster than anybody could act on them.
constexpr std::size_t kManyPods = 100;
constexpr Duration kManyPodsPause = std::chrono::milliseconds{200};

}  // namespace

KubernetesPlatform::KubernetesPlatform(boost::asio::io_context& io, const Clock& clock,
                                       std::mt19937_64& random, const log::Logger& log,
                                       KubernetesSelf self, settings::Environment environment)
    : io_{io},
      clock_{clock},
      time_{io, clock},
      random_{random},
      log_{log},
      self_{std::move(self)},
      environment_{std::move(environment)},
      buckets_{bucket_names(1)},
      owned_{buckets_.begin(), buckets_.end()},
      loop_{time_,
            {.confirm =
                 [this] {
                   if (confirm_) confirm_();
                 },
             .look = [this](const RevisionId& id) { look(id); },
             .end = [this] { send_event(); }}},
      start_timer_{io} {}

KubernetesPlatform::~KubernetesPlatform() = default;

std::optional<Problem> KubernetesPlatform::open(model::Listener& listener, TimePoint /*now*/,
                                                Settled settled) {
  settled_ = std::move(settled);
  auto access = kube::find_access(environment_);
  if (!access) return access.error();
  const std::string server = access->address.text();

  auto client = kube::Client::make(io_, clock_, log_, std::move(*access));
  if (!client) return client.error();
  client_ = std::move(*client);
  log_.write(log::Severity::info, "follows an API server", {{"address", server}});
  follow(listener);
  wait_for_view();
  return std::nullopt;
}

// Until everything is known: the start goes on without it, and scalers that are known are told what
// is in the way, a rule that is missing for the most part. Others that scale the same targets are
// waited for no longer than that.
void KubernetesPlatform::wait_for_view() {
  start_timer_.expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(kStartPatience));
  start_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec || view_->synced()) return;
    const std::string missing = shown_wrong(wrong(), "not followed");
    view_->do_without_others();
    if (view_->synced()) {
      log_.write(log::Severity::warning, "scales without knowing who else does",
                 {{"missing", missing}});
      return;
    }
    log_.write(log::Severity::warning, "the API server has not told everything yet",
               {{"missing", missing}});
    settle(std::nullopt);
    for (const auto& [name, scaler] : view_->scalers()) {
      const RevisionId id{name.space, name.name};
      if (!owns(id)) continue;
      governed_[id].news = true;
      loop_.add(id);
    }
    wait_for_view();
  });
}

void KubernetesPlatform::follow(model::Listener& listener) {
  listener_ = &listener;
  writer_ = std::make_unique<ObjectWriter>(*client_, clock_);
  probes_ = std::make_unique<ActivatorProbes>(io_, clock_,
                                              [this](const RevisionId& id) { loop_.add(id); });
  ClusterView::Events events;
  events.touched = [this](const RevisionId& id) { touched(id); };
  events.gone = [this](const RevisionId& id) { gone(id); };
  events.seen = [this](const std::string& object) { writer_->seen(object); };
  events.activators = [this] {
    if (!probes_->set_activators(view_->activators())) return;
    for (const auto& [id, governed] : governed_) loop_.add(id);
  };
  events.config = [this](const StringMap& data) { config_changed(data); };
  events.synced = [this] { synced(); };
  view_ = std::make_unique<ClusterView>(ClusterView::Place{io_, clock_, random_, log_, *client_},
                                        self_.system_space, std::move(events));
  reconciler_ = std::make_unique<Reconciler>(Reconciler::Means{.clock = clock_,
                                                               .log = log_,
                                                               .view = *view_,
                                                               .writer = *writer_,
                                                               .probes = *probes_,
                                                               .ports = ports_,
                                                               .loop = loop_,
                                                               .events = events_,
                                                               .config = config_,
                                                               .governed = governed_});
  follow_knative(listener);
  view_->start();
}

void KubernetesPlatform::follow_knative(model::Listener& listener) {
  knative_ = std::make_unique<KnativeScalers>(
      KnativeView::Place{io_, clock_, random_, log_, *client_}, listener,
      KnativeScalers::Rules{
          // Not before config-autoscaler is known, which decides about classes and windows.
          .owns = [this](const RevisionId& id) { return view_->synced() && in_owned_bucket(id); },
          .taken = [this](const RevisionId& id) { return view_->scaler(id) != nullptr; },
          .confirm =
              [this] {
                if (confirm_) confirm_();
              },
          .domain = self_.domain,
          .shadow = self_.shadow});
  knative_->start();
}

// A shadow leaves RequestScalers to whoever scales them.
bool KubernetesPlatform::owns(const RevisionId& id) const {
  return !self_.shadow && in_owned_bucket(id);
}

bool KubernetesPlatform::scales(const RevisionId& id) const {
  if (view_ == nullptr || self_.shadow) return false;
  return view_->scaler(id) != nullptr || knative_->scales(id);
}

bool KubernetesPlatform::is_knative(const RevisionId& id) const {
  return view_ != nullptr && view_->scaler(id) == nullptr;
}

std::optional<std::string> KubernetesPlatform::node_of(const std::string& space,
                                                       const std::string& pod) const {
  return view_ == nullptr ? std::nullopt : view_->node_of({space, pod});
}

bool KubernetesPlatform::in_owned_bucket(const RevisionId& id) const {
  return !owned_.empty() && owned_.contains(ring::bucket_owner(buckets_, id.space + "/" + id.name));
}

void KubernetesPlatform::set_owned(std::vector<std::string> all, std::set<std::string> owned) {
  buckets_ = std::move(all);
  owned_ = std::move(owned);
  if (view_ == nullptr) return;
  bool lost = false;
  for (auto each = governed_.begin(); each != governed_.end();) {
    const RevisionId id = each->first;
    if (owns(id)) {
      ++each;
      continue;
    }
    lost = true;
    const bool told = each->second.told;
    each = governed_.erase(each);
    loop_.forget(id);
    probes_->forget(id);
    if (told) listener_->on_revision_released(id);
  }
  // What is still ours is looked at anew below, and written again where it has to be.
  if (lost) writer_->abandon();
  for (const auto& [name, scaler] : view_->scalers()) touched({name.space, name.name});
  knative_->owners_changed();
}

// --- what the view says ---

void KubernetesPlatform::touched(const RevisionId& id) {
  const kube::RequestScaler* const scaler = view_->scaler(id);
  if (scaler == nullptr) return;
  knative_->yield(id);
  const auto port = scaler->status.activator_port;
  const bool in_range = port > 0 && port <= ActivatorPorts::kLast;
  if (const auto loser =
          ports_.told(id, in_range ? static_cast<std::uint16_t>(port) : std::uint16_t{0})) {
    loop_.add(*loser);
  }
  if (!owns(id)) return;
  GovernedScaler& governed = governed_[id];
  governed.news = true;
  const TimePoint now = clock_.now();
  loop_.add(id, governed.large ? std::max(now, governed.looked + kManyPodsPause) : now);
}

void KubernetesPlatform::gone(const RevisionId& id) {
  ports_.forget(id);
  probes_->forget(id);
  loop_.forget(id);
  const auto known = governed_.find(id);
  if (known != governed_.end()) {
    const bool told = known->second.told;
    writer_->withdraw(known->second.scale_object);
    governed_.erase(known);
    if (told) listener_->on_revision_gone(id);
  }
  knative_->take_back(id);
}

void KubernetesPlatform::config_changed(const StringMap& data) {
  const auto parsed = parse_cluster_config(data);
  const auto problem = listener_->on_config(data);
  if (problem || !parsed) {
    const Problem wrong = problem ? *problem : parsed.error();
    wrong_config_ = wrong.text();
    log_.write(log::Severity::error, "config-autoscaler is wrong; what was in force stays",
               {{"problem", wrong.what}, {"fix", wrong.fix}});
    // At the start there is nothing in force that anybody asked for.
    if (settled_) settle(Problem{"config-autoscaler: " + wrong.what, wrong.fix});
    return;
  }
  wrong_config_.clear();
  config_ = *parsed;
  knative_->config_changed(config_);
  for (const auto& [id, governed] : governed_) loop_.add(id);
}

// Ports first: whoever has none chooses among those that are free.
void KubernetesPlatform::synced() {
  for (const auto& [name, scaler] : view_->scalers()) touched({name.space, name.name});
  log_.write(log::Severity::info, "knows the cluster",
             {{"scalers", std::to_string(view_->scalers().size())}});
  start_timer_.cancel();
  knative_->owners_changed();
  loop_.turn();
  settle(std::nullopt);
}

void KubernetesPlatform::settle(std::optional<Problem> problem) {
  if (!settled_) return;
  const Settled settled = std::exchange(settled_, nullptr);
  settled(std::move(problem));
}

// --- the work ---

void KubernetesPlatform::look(const RevisionId& id) {
  const kube::RequestScaler* const scaler = view_->scaler(id);
  const auto found = governed_.find(id);
  if (scaler == nullptr || found == governed_.end()) return;
  GovernedScaler& governed = found->second;
  const ScalerSight sight = look_at(*view_, id, *scaler);
  governed.looked = clock_.now();
  governed.large = sight.pods.size() > kManyPods;
  if (!view_->synced()) {
    reconciler_->tell_trouble(sight, governed);
    return;
  }
  // A target that has never been there has no number of replicas to begin with; its coming is news.
  const bool news = std::exchange(governed.news, false);
  if (news && (governed.told || sight.target != nullptr)) tell(sight, governed);
  reconciler_->reconcile(sight, governed);
}

void KubernetesPlatform::tell(const ScalerSight& sight, GovernedScaler& governed) {
  governed.told = true;
  model::Revision revision = watched(sight);
  revision.proxied_since = governed.proxied_since;
  listener_->on_revision(std::move(revision));
}

void KubernetesPlatform::send_event() {
  if (const auto event = events_.take(clock_.now())) {
    client_->send_and_forget(event_request(*event, self_.pod), [](const kube::Answer&) {});
  }
  if (const auto due = events_.next_due()) loop_.wake(*due);
}

// --- what is ordered ---

std::optional<ScaleOrder> KubernetesPlatform::last(const RevisionId& revision) {
  if (knative_->governs(revision)) return knative_->last(revision);
  const kube::Workload* const target = view_->target(revision);
  if (target == nullptr) return std::nullopt;
  ScaleOrder order;
  order.replicas = target->replicas;
  for (const auto& [name, pod] : view_->pods(revision)) {
    const bool chosen = pod->deletion_cost >= kCostLeast && pod->deletion_cost <= kCostMost;
    if (chosen && !pod->terminating) order.remove.push_back({name});
  }
  return order;
}

void KubernetesPlatform::apply(const RevisionId& revision, const ScaleOrder& order) {
  if (knative_->governs(revision)) return knative_->apply(revision, order);
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
  if (knative_->governs(revision)) return knative_->forget(revision);
  const auto found = governed_.find(revision);
  if (found != governed_.end()) found->second.order.reset();
}

void KubernetesPlatform::probe(const RevisionId& revision, std::function<void(bool ok)> done) {
  if (knative_->governs(revision)) return knative_->probe(revision, std::move(done));
  const auto found = governed_.find(revision);
  const auto port = ports_.port_of(revision);
  const bool routed = found != governed_.end() && port;
  probes_->ask(revision, port.value_or(0),
               routed ? found->second.routed : std::vector<std::string>{}, std::move(done));
}

// --- what it shows ---

std::vector<std::string> KubernetesPlatform::wrong() const {
  std::vector<std::string> all;
  if (view_ != nullptr) all = view_->wrong();
  if (knative_ != nullptr) {
    for (std::string& each : knative_->wrong()) all.push_back(std::move(each));
  }
  if (!wrong_config_.empty()) all.push_back("config-autoscaler: " + wrong_config_);
  return all;
}

std::vector<HealthCheck> KubernetesPlatform::checks() const {
  const std::vector<std::string> all = wrong();
  const auto failing = std::count_if(governed_.begin(), governed_.end(),
                                     [](const auto& each) { return !each.second.failing.empty(); });
  // Once everything was known, an API server that is away makes nobody unready: what is known goes
  // on being scaled as soon as it is back, and activators go on being told.
  return {{"platform", view_ != nullptr && view_->synced(), shown_wrong(all, "not followed")},
          {"orders", true,
           failing == 0 ? "" : std::to_string(failing) + " scalers wait for a write that failed"}};
}

void KubernetesPlatform::write_metrics(std::string& out) const {
  if (client_ == nullptr) return;
  metrics::Exposition text{out};
  using metrics::MetricType;
  const kube::Client::Counts& counts = client_->counts();
  text.family("sluice_kubernetes_requests_total", MetricType::counter,
              "Requests sent to the API server, by kind");
  text.count("kind=\"read\"", counts.requests - counts.writes - counts.renewals);
  text.count("kind=\"write\"", counts.writes);
  text.count("kind=\"lease\"", counts.renewals);
  text.family("sluice_kubernetes_throttled_total", MetricType::counter,
              "Requests that the API server answered with 429");
  text.count("", counts.throttled);
  text.family("sluice_kubernetes_failures_total", MetricType::counter,
              "Requests to the API server that failed");
  text.count("", counts.failures);
  text.family("sluice_kubernetes_waiting_scalers", MetricType::gauge,
              "Scalers that are to be looked at");
  text.value("", static_cast<double>(loop_.waiting()));
  knative_->write_metrics(out);
}

}  // namespace sluice::autoscaler
