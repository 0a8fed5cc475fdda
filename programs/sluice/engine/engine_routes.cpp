// What the front door asks the engine: whose request this is, and what has just happened.

#include "activator/core/host_table.h"
#include "common/dashboard/page_files.h"
#include "common/http/head_check.h"

#include <fmt/format.h>

#include "programs/sluice/engine/engine.h"
#include <algorithm>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::string_view kInternal = "/_sluice";
constexpr std::string_view kPage = "/_sluice/";

constexpr std::string_view kSpeaksH1 =
    "the service does not speak HTTP/2; call it over HTTP/1.1, or let it serve h2c and name its "
    "port "
    "h2c\n";

// In the answer to a request for a host that is none of them.
constexpr std::size_t kHostsShown = 20;

bool is_internal(std::string_view path) {
  return path.starts_with(kInternal) &&
         (path.size() == kInternal.size() || path[kInternal.size()] == '/');
}

// The target without the prefix: `/_sluice/metrics?a=b` is `/metrics?a=b` for the API.
std::string internal_target(const http::RequestHead& head) {
  const std::string_view target = head.target;
  const auto begin = static_cast<std::size_t>(head.path().data() - target.data());
  std::string rest{target.substr(begin + kInternal.size())};
  if (rest.empty() || rest.front() != '/') rest.insert(rest.begin(), '/');
  return rest;
}

bool is_page_file(std::string_view path) {
  return path.starts_with(kPage) && dashboard::find_page(path.substr(kPage.size())) != nullptr;
}

// Where the links of the page are relative to.
http::OwnResponse to_page() {
  http::OwnResponse response = http::plain_response(308, {});
  response.extra = std::string{door_lines()} + "Location: /_sluice/\r\n";
  return response;
}

http::OwnResponse door_refusal(const ApiProblem& problem) {
  const http::ApiAnswer answer = http::problem_answer(problem);
  http::OwnResponse refusal = http::plain_response(answer.status, answer.body);
  refusal.content_type = answer.content_type;
  refusal.extra = door_lines();
  return refusal;
}

}  // namespace

// Below a service's own host every path is the service's.
activator::Routed Engine::route(net::Exchange& exchange) {
  const http::RequestHead& head = exchange.request();
  const std::string_view authority = head.fields.get(http::Known::host);
  const bool internal = is_internal(head.path());
  const bool own =
      names_engine(authority) || (internal && names_loopback(authority)) ||
      ((internal || is_own_host(setup_.rules, authority)) && !book_.hosts().knows(authority));
  if (own) return route_internal(exchange);
  const auto revision = revision_at(authority, head.path());
  if (!revision) return no_route(activator::host_of(authority));
  // RFC 9110, 15.5.20: a browser uses a connection for every host of its certificate, and asks
  // again over one of its own.
  if (exchange.secure() && head.version_major == 2 && !speaks_h2(*revision)) {
    return http::plain_response(421, std::string{kSpeaksH1});
  }
  return *revision;
}

std::optional<activator::RevisionHandle> Engine::revision_at(std::string_view authority,
                                                             std::string_view path) {
  if (const auto revision = book_.choose(authority, path)) return revision;
  const bool machine = !only_.empty() && names_machine(activator::host_of(authority));
  return machine ? book_.choose(only_, path) : std::nullopt;
}

// Of a host that several revisions share every one has to.
bool Engine::host_speaks_h2(std::string_view host) const {
  const auto speaks = [this](std::uint64_t revision) {
    return speaks_h2(activator::RevisionHandle{revision});
  };
  if (book_.hosts().all_of(host, "/", speaks)) return true;
  return !only_.empty() && names_machine(host) && book_.hosts().all_of(only_, "/", speaks);
}

bool Engine::speaks_h2(activator::RevisionHandle handle) const {
  const bool* const found = speaks_h2_.find(handle);
  return found != nullptr && *found;
}

// Whose host was asked is not settled yet, so that the path alone decides.
std::string_view Engine::unrouted_fields(std::string_view target) const {
  return is_internal(http::path_of(target)) ? door_lines() : std::string_view{};
}

activator::Routed Engine::route_internal(net::Exchange& exchange) {
  const http::RequestHead& head = exchange.request();
  DoorRequest asked;
  asked.loopback = exchange.peer_is_local();
  asked.own_user = asked.loopback && exchange.peer_user() == ::geteuid();
  asked.path = head.path();
  asked.authority = head.fields.get(http::Known::host);
  asked.method = head.method;
  take_door_fields(head.fields, asked);
  const bool way = head.path() == kInternal ||
                   (head.path() == "/" && is_own_host(setup_.rules, asked.authority));
  asked.page_file = way || is_page_file(head.path());
  const auto proof = judge_door(setup_.rules, asked);
  if (!proof) return door_refusal(proof.error());
  if (way && (head.method == "GET" || head.method == "HEAD")) return to_page();
  if (!is_internal(head.path())) return door_refusal(no_such_path(head.path()));
  net::UpstreamPool& pool = *proof == Proof::own_user ? own_pool_ : door_pool_;
  return activator::InternalRoute{&pool, internal_target(head), door_lines()};
}

http::OwnResponse Engine::no_route(std::string_view host) const {
  std::string text = fmt::format("no service answers to '{}'; hosts:", host);
  const std::vector<std::string_view> known = book_.hosts().hosts(kHostsShown);
  for (const std::string_view each : known) (text += " ").append(each);
  if (known.empty()) text += " none";
  if (book_.hosts().size() > known.size()) {
    text += fmt::format(" and {} more", book_.hosts().size() - known.size());
  }
  return http::response_for(Error::no_route, text + "\n");
}

// The activator first, so that what is ordered of a revision finds it there.
void Engine::on_revision(model::Revision revision) {
  book_.on_revision(revision);
  const auto handle = book_.find(revision.id);
  // One that drains keeps the figures that it has served under.
  if (handle && revision.in_service) figures_.entered(*handle, revision.service);
  find_only();
  fleet_.on_revision(std::move(revision));
}

void Engine::on_revision_gone(const RevisionId& id) {
  mover_.forget(id);
  fleet_.on_revision_gone(id);
  book_.on_revision_gone(id);
  figures_.forget(long_name(id.name.substr(0, id.name.rfind('-')), id.name));
  if (find(id.name) == nullptr) figures_.forget(id.name);
  find_only();
}

void Engine::find_only() {
  only_.clear();
  if (platform_.services().size() != 1) return;
  only_ = platform_.services().begin()->first + ".localhost";
}

activator::PeerEvents Engine::peer_events() {
  return {.on_state = [this](const proto::RevisionState& state) { desk_.apply(state); },
          .on_gone = [this](const RevisionId& id) { desk_.forget(id); },
          .on_reached = [] {},
          .held = [this] { return desk_.held(); }};
}

void Engine::on_poke(activator::RevisionHandle handle, const activator::RevisionStat& stat) {
  desk_.poke(handle, stat);
}

// In a turn of its own: a request comes to wait from deep inside its connection.
void Engine::on_held(activator::RevisionHandle handle) {
  const bool posted = !wanted_.empty();
  wanted_.insert(front_.id_of(handle));
  if (posted) return;
  loop_.post([this, alive = alive_.watch()] {
    if (!alive.over()) pass_on_demand();
  });
}

// A first request pokes by itself. This is for those that come to wait later: the replicas went
// while the revision was not idle, or the start that they hoped for failed.
void Engine::pass_on_demand() {
  for (const RevisionId& id : std::exchange(wanted_, {})) {
    const auto handle = book_.find(id);
    if (!handle || front_.waiting(*handle) == 0) continue;
    const proto::RevisionState* const state = hub_.state(id);
    if (state != nullptr && state->desired == 0) on_poke(*handle, {id, 1, 1});
    if (ProcessRevision* const revision = platform_.revision(id)) revision->demand();
  }
}

void Engine::on_pod_drained(activator::RevisionHandle handle, const PodId& pod) {
  // It may be a pod of the revision whose place this one takes.
  const ProcessService* const service = platform_.service_of(front_.id_of(handle));
  if (service == nullptr) return;
  service->each([&pod](ProcessRevision& revision) { revision.on_pod_drained(pod.name); });
}

// It may be a pod of the revision whose place this one takes.
void Engine::on_held_pod(activator::RevisionHandle handle, const PodId& pod) {
  const ProcessService* const service = platform_.service_of(front_.id_of(handle));
  if (service == nullptr) return;
  service->each([&pod](ProcessRevision& revision) { revision.on_request(pod.name); });
}

void Engine::on_pod_refused(activator::RevisionHandle handle, const PodId& pod,
                            activator::PodRefusal refusal) {
  prober_.refused(handle, pod, refusal);
}

std::string Engine::cold_start(activator::RevisionHandle handle, const PodId& /*pod*/,
                               TimePoint arrived, TimePoint dispatched) {
  std::string lines = figures_.cold_start(handle, arrived, dispatched);
  if (!setup_.settings.cold_start_header) lines.clear();
  return lines;
}

// The front door knows a pod by its address, and one that shares the requests of another revision
// as a pod of both.
void Engine::each_front_of(
    const RevisionId& id, const PodId& pod,
    const std::function<void(activator::RevisionHandle, const PodId&)>& visit) const {
  const ProcessRevision* const revision = platform_.revision(id);
  const Replica* const replica = revision == nullptr ? nullptr : revision->replica(pod);
  if (replica == nullptr) return;
  const PodId at{socket_at(replica->serving_socket()).text()};
  platform_.service_of(id)->each([&](const ProcessRevision& each) {
    if (const auto handle = book_.find(each.id())) visit(*handle, at);
  });
}

std::int64_t Engine::on_pod(const RevisionId& id, const PodId& pod) const {
  std::int64_t sum = 0;
  each_front_of(id, pod,
                [&](auto handle, const PodId& at) { sum += front_.in_flight(handle, at); });
  return sum;
}

std::uint64_t Engine::sent_to(const RevisionId& id, const PodId& pod) const {
  std::uint64_t sum = 0;
  each_front_of(id, pod, [&](auto handle, const PodId& at) { sum += front_.sent(handle, at); });
  return sum;
}

std::int64_t Engine::waiting(const RevisionId& id) const {
  const auto handle = book_.find(id);
  return handle ? std::int64_t{front_.waiting(*handle)} : 0;
}

}  // namespace sluice::local
