#include "programs/sluice/engine/engine_api.h"

#include <nlohmann/json.hpp>

namespace sluice::local {

ApiProblem no_such_service(std::string_view service, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& name : known) {
    list += (list.empty() ? "" : ", ") + name;
  }
  return {404, "no-such-service", "No such service", "no service is named " + std::string(service),
          list.empty() ? "this engine has no services; add one: sluice apply -f FILE"
                       : "services here: " + list};
}

ApiProblem no_such_path(std::string_view path) {
  return http::no_such_path(path, "see GET /api/v1/services");
}

using autoscaler::ServiceName;
using nlohmann::json;

namespace {

// Another namespace is one in which nothing is.
ApiProblem no_such_space(const ServiceName& name) {
  return no_such_path("/api/v1/services/" + name.space + "/" + name.name);
}

bool is_ours(const ServiceName& name) {
  return name.space == "default";
}

}  // namespace

std::size_t EngineServices::service_count() {
  return engine_.services().size();
}

json EngineServices::service_list(std::size_t begin, std::size_t end) {
  const json all = engine_.services();
  json shown = json::array();
  for (std::size_t i = begin; i < end; ++i) shown.push_back(all[i]);
  return shown;
}

ApiResult<json> EngineServices::service(const ServiceName& name) {
  if (!is_ours(name)) return no_such_space(name);
  return engine_.service(name.name);
}

ApiResult<json> EngineServices::explain(const ServiceName& name, std::optional<TimePoint> at) {
  if (!is_ours(name)) return no_such_space(name);
  return engine_.explain(name.name, at);
}

ApiResult<json> EngineServices::history(const ServiceName& name, TimePoint since) {
  if (!is_ours(name)) return no_such_space(name);
  return engine_.history(name.name, since);
}

ApiResult<json> EngineServices::wake(const ServiceName& name) {
  if (!is_ours(name)) return no_such_space(name);
  return engine_.wake(name.name);
}

ApiResult<json> EngineServices::sleep(const ServiceName& name) {
  if (!is_ours(name)) return no_such_space(name);
  return engine_.sleep(name.name);
}

ApiResult<json> EngineServices::scale(const ServiceName& name, const ScaleBounds& bounds) {
  if (!is_ours(name)) return no_such_space(name);
  return engine_.scale(name.name, bounds);
}

json EngineServices::version() {
  return engine_.info();
}

json EngineServices::nodes() {
  return {};
}

json EngineServices::config() {
  return {};
}

EventRing& EngineServices::events() {
  return engine_.events();
}

}  // namespace sluice::local
