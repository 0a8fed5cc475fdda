// What the front door asks the engine: whose request this is, and what has just happened.

#include "sluice/local/engine.h"

#include <fmt/format.h>

namespace sluice::local {
namespace {

constexpr std::string_view kInternal = "/_sluice";

// Hosts that name this machine and no service.
bool names_machine(std::string_view host) {
  if (host.empty() || host == "localhost" || host.front() == '[') return true;
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

activator::Routed Engine::route(const http::RequestHead& head) {
  const std::string_view authority = head.fields.get(http::Known::host);
  const std::string_view host = activator::host_of(authority);
  const std::string_view path = head.path();
  const bool machine = names_machine(host);
  if (machine && path.starts_with(kInternal) &&
      (path.size() == kInternal.size() || path[kInternal.size()] == '/')) {
    return route_internal(head);
  }
  if (const auto target = table_.find(authority, head.target)) {
    return targets_[*target]->current().handle();
  }
  if (machine && targets_.size() == 1) return targets_.front()->current().handle();
  return no_route(host);
}

activator::Routed Engine::route_internal(const http::RequestHead& head) {
  const bool reads = head.method == "GET" || head.method == "HEAD";
  if (!reads && !(setup_.allow_edit && head.fields.get(http::Known::sluice_edit) == "1")) {
    const std::string fix = setup_.allow_edit ? "send the header `Sluice-Edit: 1`"
                                              : "start the engine with `sluice up --allow-edit`";
    http::OwnResponse refusal = http::response_for(
        Error::bad_request, "changes are not allowed through the front door; " + fix + "\n");
    refusal.status = 403;
    refusal.close = false;
    return refusal;
  }
  std::string target = head.target.substr(head.target.find(kInternal) + kInternal.size());
  if (target.empty() || target.front() != '/') target.insert(target.begin(), '/');
  return activator::InternalRoute{&api_pool_, std::move(target)};
}

http::OwnResponse Engine::no_route(std::string_view host) const {
  std::string text = fmt::format("no service answers to '{}'; hosts:", host);
  for (const std::string& known : table_.hosts()) text += " " + known;
  if (table_.hosts().empty()) text += " none";
  return http::response_for(Error::no_route, text + "\n");
}

void Engine::on_poke(activator::RevisionHandle /*handle*/, const activator::RevisionStat& stat) {
  scale_loop_.poke(stat);
}

void Engine::on_held(activator::RevisionHandle handle) {
  for (const auto& [name, service] : services_) {
    if (Revision* revision = service->find(handle)) {
      revision->on_demand();
      service->on_revision_changed(*revision);
      return;
    }
  }
}

void Engine::on_pod_drained(activator::RevisionHandle handle, const PodId& pod) {
  const auto tell = [&](Service& service) {
    Revision* revision = service.find(handle);
    if (revision != nullptr) revision->on_pod_drained(pod);
    return revision != nullptr;
  };
  for (const auto& [name, service] : services_) {
    if (tell(*service)) return;
  }
  for (const auto& service : gone_) {
    if (tell(*service)) return;
  }
}

std::string Engine::cold_start(activator::RevisionHandle handle, TimePoint arrived,
                               TimePoint dispatched) {
  for (const auto& [name, service] : services_) {
    if (Revision* revision = service->find(handle)) {
      return service->cold_start(*revision, arrived, dispatched);
    }
  }
  return {};
}

void Engine::on_served(activator::RevisionHandle handle, const activator::Served& served) {
  for (const auto& [name, service] : services_) {
    if (service->find(handle) != nullptr) {
      service->served(served);
      return;
    }
  }
}

}  // namespace sluice::local
