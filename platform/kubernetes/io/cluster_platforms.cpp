#include "platform/kubernetes/io/cluster_platforms.h"

#include "autoscaler/core/share/buckets.h"
#include "autoscaler/io/health_page.h"
#include "common/kube/access.h"
#include "common/ring/hash_ring.h"

#include <utility>

namespace sluice::autoscaler {

ClusterPlatforms::ClusterPlatforms(boost::asio::io_context& io, const Clock& clock,
                                   std::mt19937_64& random, const log::Logger& log,
                                   ClusterSelf self, settings::Environment environment)
    : io_{io},
      clock_{clock},
      random_{random},
      log_{log},
      loop_{io, clock},
      self_{std::move(self)},
      environment_{std::move(environment)},
      buckets_{bucket_names(1)},
      owned_{buckets_.begin(), buckets_.end()},
      start_timer_{loop_.timer()} {}

// A start does not wait for Knative.
std::optional<Problem> ClusterPlatforms::open(model::Listener& listener, TimePoint now,
                                              Settled settled) {
  listener_ = &listener;
  settled_ = std::move(settled);
  auto access = kube::find_access(environment_);
  if (!access) return access.error();
  const std::string server = access->address.text();
  auto client = kube::Client::make(io_, clock_, log_, std::move(*access));
  if (!client) return client.error();
  client_ = std::move(*client);
  log_.write(log::Severity::info, "watching an API server", {{"address", server}});
  make_platforms();
  if (auto wrong = knative_->open(listener, now, [](const auto& /*problem*/) {})) return wrong;
  wait_until_known();
  objects_->start();
  return kubernetes_->open(listener, now, [this](const auto& /*problem*/) { known(); });
}

// A shadow leaves RequestScalers to the autoscaler that scales them. Knative's revisions wait until
// config-autoscaler is known, which decides about classes and windows.
void ClusterPlatforms::make_platforms() {
  objects_ = std::make_unique<ClusterObjects>(kube::Place{io_, clock_, random_, log_, *client_});
  kubernetes_ = std::make_unique<KubernetesPlatform>(
      ground([this](const RevisionId& id) { return !self_.shadow && in_owned_bucket(id); }),
      KubernetesPlatform::Self{.pod = self_.pod, .system_space = self_.system_space},
      KubernetesPlatform::Events{
          .named = [this](const RevisionId& id) { knative_->yield(id); },
          .unnamed = [this](const RevisionId& id) { knative_->take_back(id); },
          .config = [this](const StringMap& data) { config_changed(data); }});
  knative_ = std::make_unique<KnativePlatform>(
      ground([this](const RevisionId& id) { return kubernetes_->synced() && in_owned_bucket(id); }),
      KnativePlatform::Rules{
          .taken = [this](const RevisionId& id) { return kubernetes_->names(id); },
          .domain = self_.domain,
          .shadow = self_.shadow});
}

ClusterGround ClusterPlatforms::ground(std::function<bool(const RevisionId&)> owns) {
  return {.place = {io_, clock_, random_, log_, *client_},
          .loop = loop_,
          .objects = *objects_,
          .config = config_,
          .owns = std::move(owns),
          .confirm = [this] { confirm_(); }};
}

// Until everything is known: the start continues without it, and the status of the known scalers
// has the reason, most often a missing rule. Others that scale the same targets are waited for no
// longer than that.
void ClusterPlatforms::wait_until_known() {
  start_timer_->after(kStartPatience, [this] {
    const std::string missing = shown_wrong(wrong(), "not watched");
    if (kubernetes_->do_without_others()) {
      log_.write(log::Severity::warning,
                 "scaling starts before other autoscalers of the same targets are listed",
                 {{"missing", missing}});
      return;
    }
    log_.write(log::Severity::warning, "initial sync is not complete yet", {{"missing", missing}});
    settle(std::nullopt);
    kubernetes_->look_at_all();
    wait_until_known();
  });
}

void ClusterPlatforms::known() {
  start_timer_->cancel();
  knative_->owners_changed();
  settle(std::nullopt);
}

void ClusterPlatforms::settle(std::optional<Problem> problem) {
  if (settled_) std::exchange(settled_, nullptr)(std::move(problem));
}

void ClusterPlatforms::config_changed(const StringMap& data) {
  const auto parsed = parse_cluster_config(data);
  const auto problem = listener_->on_config(data);
  if (problem || !parsed) {
    const Problem wrong = problem ? *problem : parsed.error();
    wrong_config_ = wrong.text();
    log_.write(log::Severity::error,
               "config-autoscaler is invalid; the previous settings stay in force",
               {{"problem", wrong.what}, {"fix", wrong.fix}});
    // At the start nothing that anyone asked for is in force.
    return settle(Problem{"config-autoscaler: " + wrong.what, wrong.fix});
  }
  wrong_config_.clear();
  config_ = *parsed;
  knative_->config_changed();
  kubernetes_->config_changed();
}

// --- whose a revision is ---

Platform& ClusterPlatforms::of(const RevisionId& id) {
  if (knative_->governs(id)) return *knative_;
  return *kubernetes_;
}

bool ClusterPlatforms::in_owned_bucket(const RevisionId& id) const {
  return !owned_.empty() && owned_.contains(ring::bucket_owner(buckets_, id.space + "/" + id.name));
}

void ClusterPlatforms::set_owned(std::vector<std::string> all, std::set<std::string> owned) {
  buckets_ = std::move(all);
  owned_ = std::move(owned);
  if (kubernetes_ == nullptr) return;
  kubernetes_->owners_changed();
  knative_->owners_changed();
}

bool ClusterPlatforms::scales(const RevisionId& id) const {
  if (kubernetes_ == nullptr || self_.shadow) return false;
  return kubernetes_->names(id) || knative_->scales(id);
}

bool ClusterPlatforms::is_knative(const RevisionId& id) const {
  return kubernetes_ != nullptr && !kubernetes_->names(id);
}

std::optional<std::string> ClusterPlatforms::node_of(const std::string& space,
                                                     const std::string& pod) const {
  return kubernetes_ == nullptr ? std::nullopt : kubernetes_->node_of({space, pod});
}

// --- what it shows ---

std::vector<std::string> ClusterPlatforms::wrong() const {
  std::vector<std::string> all;
  if (kubernetes_ != nullptr) {
    all = kubernetes_->wrong();
    for (std::string& each : knative_->wrong()) all.push_back(std::move(each));
  }
  if (!wrong_config_.empty()) all.push_back("config-autoscaler: " + wrong_config_);
  return all;
}

// Once everything was known, an unavailable API server makes no replica unready: what is known is
// scaled as soon as the server is back, and activators still get decisions.
std::vector<HealthCheck> ClusterPlatforms::checks() const {
  std::vector<HealthCheck> all{{"platform", kubernetes_ != nullptr && kubernetes_->synced(),
                                shown_wrong(wrong(), "not watched")}};
  if (kubernetes_ == nullptr) return all;
  for (HealthCheck& each : kubernetes_->checks()) all.push_back(std::move(each));
  return all;
}

void ClusterPlatforms::write_metrics(metrics::Families& families) const {
  if (client_ == nullptr) return;
  client_->write_metrics(families);
  kubernetes_->write_metrics(families);
  knative_->write_metrics(families);
}

}  // namespace sluice::autoscaler
