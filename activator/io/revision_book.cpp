#include "activator/io/revision_book.h"

#include "common/scaling/setting_names.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

using http::Known;

namespace {

constexpr std::string_view kConfiguration = "serving.knative.dev/configuration";

net::Timeouts timeouts_of(const model::Revision& file) {
  net::Timeouts timeouts;
  timeouts.max = file.timeout;
  if (file.response_start_timeout > Duration{0}) {
    timeouts.response_start = file.response_start_timeout;
  }
  if (file.idle_timeout > Duration{0}) timeouts.idle = file.idle_timeout;
  timeouts.until_first_byte = file.contract == settings::KnativeContract::older;
  return timeouts;
}

std::string annotation(const model::Revision& file, std::string_view key) {
  const auto found = file.annotations.find(key);
  return found == file.annotations.end() ? std::string{} : found->second;
}

// The pods of a revision that were removed while requests waited for them are no route any more.
http::OwnResponse vanished() {
  http::OwnResponse response = http::response_for(Error::no_route, "\n");
  response.status = 500;
  response.body.clear();
  response.content_type.clear();
  return response;
}

}  // namespace

RevisionBook::RevisionBook(FrontGateway& front, PodProber& prober, const log::Logger& log,
                           BookSpec spec)
    : front_{front}, prober_{prober}, log_{log}, spec_{std::move(spec)} {}

std::optional<RevisionHandle> RevisionBook::find(const RevisionId& id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second->handle;
}

std::optional<RevisionHandle> RevisionBook::choose(std::string_view authority,
                                                   std::string_view path) {
  const std::optional<std::uint64_t> found = hosts_.choose(authority, path);
  if (!found) return std::nullopt;
  return RevisionHandle{*found};
}

const RevisionNames* RevisionBook::names(RevisionHandle revision) const {
  const std::size_t index = index_of(revision);
  if (index >= by_index_.size() || by_index_[index] == nullptr) return nullptr;
  const Entry& entry = *by_index_[index];
  return entry.handle == revision ? &entry.names : nullptr;
}

const RevisionBook::Entry* RevisionBook::named(const RevisionName& name) const {
  const auto found = by_id_.find(Name{name.space, name.name});
  return found == by_id_.end() ? nullptr : found->second.get();
}

Routed RevisionBook::route(net::Exchange& exchange) {
  const http::FieldList& fields = exchange.request().fields;
  const std::string_view authority = fields.get(Known::host);
  const RevisionName name =
      name_revision(fields.get(Known::knative_serving_namespace),
                    fields.get(Known::knative_serving_revision), authority, spec_.cluster_domain);
  if (!name.space.empty() && !name.name.empty()) {
    if (const Entry* entry = named(name)) return entry->handle;
  } else if (const auto found = choose(authority, exchange.request().path())) {
    return *found;
  }
  return http::response_for(Error::no_route, not_found_text(name.name));
}

bool RevisionBook::behind_ingress(RevisionHandle revision) const {
  const RevisionNames* known = names(revision);
  return known != nullptr && !known->configuration.empty();
}

void RevisionBook::on_revision(model::Revision file) {
  auto& entry = by_id_[file.id];
  const bool is_new = entry == nullptr;
  if (is_new) {
    entry = std::make_unique<Entry>();
    entry->id = &by_id_.find(file.id)->first;
    entry->container_concurrency = file.container_concurrency;
    FrontRevision front;
    front.id = file.id;
    front.throttler.container_concurrency = file.container_concurrency;
    front.throttler.queue_depth = spec_.queue_depth;
    front.throttler.queue_wait = spec_.queue_wait;
    front.throttler.foresees = spec_.foresees;
    front.throttler.seed = HashId{}(file.id);
    const std::string policy = annotation(file, kLoadBalancingKey);
    front.throttler.policy = parse_policy(policy);
    if (!policy.empty() && !front.throttler.policy) {
      log_.write(log::Severity::warning, "unknown load balancing policy ignored",
                 {{"revision", file.id.space + "/" + file.id.name}, {"policy", policy}});
    }
    front.timeouts = timeouts_of(file);
    entry->handle = front_.add(front);
    prober_.add(entry->handle, file.container_concurrency);
    const std::size_t index = index_of(entry->handle);
    if (by_index_.size() <= index) by_index_.resize(index + 1);
    by_index_[index] = entry.get();
  } else {
    front_.set_timeouts(entry->handle, timeouts_of(file));
    // A revision of Knative's never changes; a RequestScaler may be edited at any time.
    if (std::exchange(entry->container_concurrency, file.container_concurrency) !=
        file.container_concurrency) {
      prober_.set_limit(entry->handle, file.container_concurrency);
    }
  }
  entry->names = {file.service, annotation(file, kConfiguration), file.contract};
  const RevisionHandle handle = entry->handle;
  ignore(*entry, file);
  Entry* const replaced = takes_over(*entry, file);
  if (replaced != nullptr) claim(*replaced, {});
  claim(*entry, claims_of(file));
  place(*entry, file.activators);
  if (is_new && added_) added_(file.id, handle);
  prober_.set_service(handle, file.private_service, file.private_service_tls_port);
  tell_pods(handle, file);
  // Last, so that what waits finds its pods.
  if (replaced != nullptr) front_.hand_on(replaced->handle, handle);
}

// The one whose place it takes now; null: none.
RevisionBook::Entry* RevisionBook::takes_over(Entry& entry, const model::Revision& file) {
  // It may replace the same one again later, when that has served in between.
  if (file.replaces.empty()) entry.replaced.clear();
  const bool answers = !file.hosts.empty() || !file.own_hosts.empty();
  if (!answers || file.replaces == entry.replaced) return nullptr;
  const auto found = by_id_.find(Name{file.id.space, file.replaces});
  if (found == by_id_.end() || found->second.get() == &entry) return nullptr;
  entry.replaced = file.replaces;
  return found->second.get();
}

// The same annotations come with every change of a pod: rules are read when their texts are others.
void RevisionBook::ignore(Entry& entry, const model::Revision& file) {
  std::string paths = annotation(file, ignore::kPathsKey);
  std::string agents = annotation(file, ignore::kAgentsKey);
  if (entry.ignore ? entry.ignore->read_from(paths, agents) : paths.empty() && agents.empty()) {
    return;
  }
  const auto rules = std::make_shared<ignore::Rules>(std::move(paths), std::move(agents));
  for (const Problem& problem : rules->problems()) {
    log_.write(log::Severity::warning, "invalid ignore rule skipped",
               {{"revision", file.id.space + "/" + file.id.name}, {"reason", problem.text()}});
  }
  entry.ignore = rules;
  front_.set_ignore(entry.handle, rules->empty() ? nullptr : rules);
}

// Terminating pods take no new requests, and one without an address cannot be reached yet.
void RevisionBook::tell_pods(RevisionHandle handle, const model::Revision& file) {
  std::vector<PlatformPod> pods;
  pods.reserve(file.pods.size() + file.shared.size());
  for (const auto* list : {&file.pods, &file.shared}) {
    for (const model::Pod& pod : *list) {
      if (!pod.address || pod.terminating) continue;
      pods.push_back({.dest = pod.address->text(),
                      .name = pod.id.name,
                      .address = *pod.address,
                      .word = {pod.ready, pod.fast_ready, pod.proven}});
    }
  }
  // Two pods at one address are one that was replaced: the last in the file is there now.
  std::stable_sort(pods.begin(), pods.end(),
                   [](const PlatformPod& a, const PlatformPod& b) { return a.dest < b.dest; });
  const auto last = std::unique(pods.rbegin(), pods.rend(),
                                [](const auto& a, const auto& b) { return a.dest == b.dest; });
  pods.erase(pods.begin(), last.base());
  prober_.set_pods(handle, pods);
}

std::vector<RevisionBook::Claim> RevisionBook::claims_of(const model::Revision& file) {
  std::vector<Claim> claims;
  claims.reserve(file.hosts.size() + file.own_hosts.size());
  for (const model::HostRule& rule : file.hosts) claims.push_back({rule, file.percent});
  for (const model::HostRule& rule : file.own_hosts) claims.push_back({rule, std::nullopt});
  return claims;
}

void RevisionBook::claim(Entry& entry, std::vector<Claim> claims) {
  if (claims == entry.claims) return;
  for (const Claim& old : entry.claims) hosts_.remove(old.rule, *entry.id);
  entry.claims = std::move(claims);
  for (const auto& [rule, percent] : entry.claims) {
    const std::size_t claimed =
        hosts_.add(rule, *entry.id, static_cast<std::uint64_t>(entry.handle), percent);
    if (claimed == 1) continue;
    const std::string host = rule.host + rule.path_prefix;
    if (claimed == 0) {
      log_.write(log::Severity::warning, "host skipped: the revisions have too many hosts",
                 {{"host", host}, {"most", std::to_string(HostTable::kRulesMax)}});
    } else if (claimed == 2 && !percent) {
      const RevisionId& first = *hosts_.holder(rule);
      log_.write(log::Severity::warning, "a host is claimed by more than one revision",
                 {{"host", host}, {"first", first.space + "/" + first.name}});
    }
  }
}

void RevisionBook::on_revision_gone(const RevisionId& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  const RevisionHandle handle = found->second->handle;
  claim(*found->second, {});
  prober_.remove(handle);
  // Waiting requests are answered first, while the revision still has its names.
  front_.remove(handle, spec_.gone ? *spec_.gone : vanished());
  if (removed_) removed_(handle);
  by_index_[index_of(handle)] = nullptr;
  by_id_.erase(id);
}

void RevisionBook::set_own(std::vector<net::Address> own) {
  own_ = std::move(own);
  place();
}

void RevisionBook::on_activators(std::vector<net::Address> activators) {
  activators_ = std::move(activators);
  place();
}

// While its requests go to pods directly, no activator's place is reported: the last one stays in
// force, as it does when this activator is not among those reported.
void RevisionBook::place(const Entry& entry, const std::vector<std::string>& activators) {
  const bool member =
      std::find(activators.begin(), activators.end(), spec_.pod_ip) != activators.end();
  if (member) prober_.set_place(entry.handle, place_among(activators, spec_.pod_ip, {}));
}

// Its own address as the file has it: a listener on all interfaces is known by POD_IP.
void RevisionBook::place() {
  std::vector<std::string> texts;
  std::string own;
  for (const net::Address& activator : activators_) {
    texts.push_back(activator.text());
    for (const net::Address& mine : own_) {
      const bool any = mine.host.empty() || mine.host == "0.0.0.0" || mine.host == "::";
      net::Address reached = mine;
      if (!mine.is_unix() && any) reached.host = spec_.pod_ip;
      if (activator == mine || activator == reached) own = texts.back();
    }
  }
  const ActivatorPlace before = prober_.place();
  const ActivatorPlace now = place_among(texts, own, before);
  if (now == before) return;
  log_.write(
      log::Severity::info, "position among the activators changed",
      {{"activators", std::to_string(now.activators)}, {"index", std::to_string(now.index)}});
  prober_.set_place(now);
}

}  // namespace sluice::activator
