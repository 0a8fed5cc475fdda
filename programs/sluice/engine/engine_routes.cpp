// What the front door asks the engine: whose request this is, and what has just happened.

#include "activator/core/host_table.h"
#include "common/http/head_check.h"

#include <fmt/format.h>

#include "programs/sluice/engine/engine.h"
#include <algorithm>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::string_view kInternal = "/_sluice";

// In the answer to a request for a host that is none of them.
constexpr std::size_t kHostsShown = 20;

// Hosts that name this machine and no service.
bool names_machine(std::string_view host) {
  if (host.empty() || http::equals_ignoring_case(host, "localhost") || host.front() == '[') {
    return true;
  }
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

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
  if (names_engine(authority)) return route_internal(exchange);
  const bool internal = is_internal(head.path());
  if (internal && (names_loopback(authority) || !table_.knows(authority))) {
    return route_internal(exchange);
  }
  if (const auto target = table_.find(authority, head.target)) {
    return targets_[*target]->current().handle();
  }
  const std::string_view host = activator::host_of(authority);
  if (names_machine(host) && targets_.size() == 1) return targets_.front()->current().handle();
  return no_route(host);
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
  const auto proof = judge_door(setup_.rules, asked);
  if (!proof) return door_refusal(proof.error());
  if (!is_internal(head.path())) return door_refusal(no_such_path(head.path()));
  net::UpstreamPool& pool = *proof == Proof::own_user ? own_pool_ : door_pool_;
  return activator::InternalRoute{&pool, internal_target(head), door_lines()};
}

http::OwnResponse Engine::no_route(std::string_view host) const {
  std::string text = fmt::format("no service answers to '{}'; hosts:", host);
  const std::vector<std::string>& known = table_.hosts();
  const std::size_t shown = std::min(known.size(), kHostsShown);
  for (std::size_t i = 0; i < shown; ++i) text += " " + known[i];
  if (known.empty()) text += " none";
  if (known.size() > shown) text += fmt::format(" and {} more", known.size() - shown);
  return http::response_for(Error::no_route, text + "\n");
}

void Engine::on_poke(activator::RevisionHandle /*handle*/, const activator::RevisionStat& stat) {
  scale_loop_.poke(stat);
}

void Engine::on_held(activator::RevisionHandle handle) {
  Revision* const revision = platform_.revisions.find(handle);
  if (revision == nullptr) return;
  revision->on_demand();
  revision->owner().on_revision_changed(*revision);
}

void Engine::on_pod_drained(activator::RevisionHandle handle, const PodId& pod) {
  Revision* const revision = platform_.revisions.find(handle);
  if (revision != nullptr) revision->on_pod_drained(pod);
}

std::string Engine::cold_start(activator::RevisionHandle handle, TimePoint arrived,
                               TimePoint dispatched) {
  Revision* const revision = platform_.revisions.find(handle);
  return revision == nullptr ? std::string{}
                             : revision->owner().cold_start(*revision, arrived, dispatched);
}

void Engine::on_served(activator::RevisionHandle handle, const activator::Served& served) {
  Revision* const revision = platform_.revisions.find(handle);
  if (revision != nullptr) revision->owner().on_served(served);
}

}  // namespace sluice::local
