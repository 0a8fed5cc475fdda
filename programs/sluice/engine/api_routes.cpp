#include "programs/sluice/engine/api_routes.h"

#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace sluice::local {
namespace {

using nlohmann::json;

constexpr std::size_t kTailDefault = 100;
constexpr std::size_t kTailMax = 10'000;
constexpr std::string_view kNamespace = "default";

using http::ApiTarget;
using http::json_answer;
using http::problem_answer;
using Path = std::vector<std::string>;
using Whole = http::ApiAnswer;

Whole text_answer(std::string body, std::string type = "text/plain; charset=utf-8") {
  return {200, std::move(type), std::move(body)};
}

Whole answer_of(const ApiResult<json>& result, int status = 200) {
  return result ? json_answer(*result, status) : problem_answer(result.error());
}

// Why a replica did not start, or what it printed when it ended, may name files of this machine or
// say what the program knows: for the engine's own user. Returns whether there was any of it.
bool hide_failures(json& body) {
  if (!body.is_object()) return false;
  const bool failing = body.value("failing", false);
  if (failing) body["why"] = "replicas fail to start; the user who runs the engine is told why";
  const bool ended = body.erase("stderr_tail") > 0;
  if (ended) body.erase("why");
  return failing || ended;
}

ApiResult<json> shown_to(Proof proof, ApiResult<json> status) {
  if (status && proof == Proof::none) hide_failures(*status);
  return status;
}

Whole bad_parameter(std::string_view name, const std::string& value, std::string fix) {
  return problem_answer(http::bad_parameter(name, value, std::move(fix)));
}

Whole not_found(std::string_view path) {
  return problem_answer(no_such_path(path));
}

// What the front door does for no client: `fix` does it over the socket.
Whole socket_only(const std::string& doing, std::string fix) {
  return problem_answer({403, "socket-only", "On the engine's socket only",
                         doing + " is not possible through the front door", std::move(fix)});
}

Whole own_user_only(const std::string& what, const std::string& fix) {
  return problem_answer({403, "own-user-only", "For the engine's own user",
                         what + " is only for the user who runs this engine",
                         "ask as that user: " + fix});
}

bool is_read(const ApiRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

Whole method_not_allowed(const ApiRequest& request, const std::string& allow) {
  return http::method_not_allowed(request.method, allow, "use " + allow);
}

// A page of `items`, which start at place `next`.
Whole list_answer(const json& items, const ApiTarget& target) {
  const auto page = http::page_of(target, items.size());
  if (!page) return problem_answer(page.error());
  json shown = json::array();
  for (std::size_t i = page->begin; i < page->end; ++i) shown.push_back(items[i]);
  return http::page_answer(shown, *page, items.size());
}

Whole history_answer(EngineApi& api, const std::string& name, const ApiTarget& target,
                     TimePoint now) {
  const std::string since = target.query.contains("since") ? target.text("since") : "10m";
  const auto from = parse_moment(since, now);
  if (!from) {
    return bad_parameter("since", since, "give an age such as 10m, or a time in RFC 3339");
  }
  const auto decisions = api.history(name, *from);
  return decisions ? list_answer(*decisions, target) : problem_answer(decisions.error());
}

Whole explain_answer(EngineApi& api, const std::string& name, const ApiTarget& target, Proof proof,
                     TimePoint now) {
  std::optional<TimePoint> at;
  if (target.query.contains("at")) {
    // History shows times without their last digits: the decision of such a row is meant.
    at = parse_moment_end(target.text("at"), now);
    if (!at) {
      return bad_parameter("at", target.text("at"),
                           "give a time as 14:03:12, RFC 3339, or an age such as 5m");
    }
  }
  auto explained = api.explain(name, at);
  if (explained && proof == Proof::none) explained->erase("keeps_awake");
  return answer_of(explained);
}

ApiAnswer logs_answer(EngineApi& api, const std::string& name, const ApiTarget& target,
                      Proof proof) {
  if (proof == Proof::none) {
    return {own_user_only("what the replicas of a service print", "sluice logs " + name)};
  }
  const auto tail = target.number("tail", kTailDefault);
  if (!tail || *tail > kTailMax) {
    return {bad_parameter("tail", target.text("tail"), "give a number from 0 to 10000")};
  }
  const LogQuery wanted{
      .tail = *tail, .replica = target.text("replica"), .previous = target.flag("previous")};
  const auto lines = api.logs(name, wanted);
  if (!lines) {
    return {problem_answer(lines.error())};
  }
  ApiAnswer answer{text_answer(*lines)};
  if (target.flag("follow")) {
    answer.kind = ApiAnswerKind::log_lines;
    answer.filter = {.types = {"log"}, .service = name, .replica = wanted.replica};
    answer.after = api.events().last_id();
  }
  return answer;
}

std::optional<std::int32_t> bound_in(const json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end()) {
    return std::nullopt;
  }
  const bool fits = found->is_number_integer() && *found >= 0 && *found <= 1'000'000;
  return fits ? found->get<std::int32_t>() : -1;
}

Whole scale_answer(EngineApi& api, const std::string& name, const ApiRequest& request) {
  const json asked = json::parse(request.body, nullptr, false);
  const std::string fix = R"(send {"min":1,"max":4}, whole numbers from 0; max 0 means no bound)";
  if (!asked.is_object()) {
    return problem_answer(invalid_document("the body is not a JSON object", fix));
  }
  for (const auto& [key, value] : asked.items()) {
    if (key != "min" && key != "max") {
      return problem_answer(invalid_document("unknown key " + key, fix));
    }
  }
  const ScaleBounds bounds{.min = bound_in(asked, "min"), .max = bound_in(asked, "max")};
  if (bounds.min.value_or(0) < 0 || bounds.max.value_or(0) < 0) {
    return problem_answer(invalid_document("min and max must be whole numbers from 0", fix));
  }
  return answer_of(shown_to(request.proof, api.scale(name, bounds)), 202);
}

Whole spec_answer(EngineApi& api, const std::string& name, const ApiRequest& request,
                  const ApiTarget& target) {
  if (request.method == "PUT") {
    if (request.proof != Proof::socket) {
      return socket_only("a new spec", "sluice apply -f FILE");
    }
    const auto planned = api.apply(request.body, true);
    if (!planned) {
      return answer_of(planned);
    }
    const std::string named = planned->value("service", name);
    if (named != name) {
      return problem_answer(
          invalid_document("the document is for service " + named + ", not " + name,
                           "send it to .../" + named + "/spec"));
    }
    return answer_of(target.flag("dry_run") ? planned : api.apply(request.body, false));
  }
  if (!is_read(request)) {
    return method_not_allowed(request, "GET, PUT");
  }
  if (request.proof == Proof::none) {
    return own_user_only("the spec of a service", "sluice get " + name + " -o yaml");
  }
  const auto yaml =
      api.spec_yaml(name, request.proof == Proof::socket ? Values::shown : Values::hidden);
  return yaml ? text_answer(*yaml, "application/yaml") : problem_answer(yaml.error());
}

// Of /api/v1/services/{ns}/{name} itself.
Whole status_answer(EngineApi& api, const std::string& name, const ApiRequest& request) {
  if (request.method == "DELETE") {
    if (request.proof != Proof::socket) {
      return socket_only("a removal", "sluice delete " + name);
    }
    return answer_of(api.remove(name));
  }
  return is_read(request) ? answer_of(shown_to(request.proof, api.service(name)))
                          : method_not_allowed(request, "GET, DELETE");
}

Whole order_answer(EngineApi& api, const std::string& name, const ApiRequest& request,
                   std::string_view verb) {
  if (request.method != "POST") {
    return method_not_allowed(request, "POST");
  }
  if (verb == "scale") {
    return scale_answer(api, name, request);
  }
  return answer_of(shown_to(request.proof, verb == "wake" ? api.wake(name) : api.sleep(name)), 202);
}

// Below /api/v1/services/{ns}/{name}.
ApiAnswer service_answer(EngineApi& api, const ApiRequest& request, const ApiTarget& target,
                         TimePoint now) {
  const std::vector<std::string>& path = target.path;
  if (path[3] != kNamespace || path.size() > 6) {
    return {not_found(request.target)};
  }
  const std::string& name = path[4];
  if (path.size() == 5) {
    return {status_answer(api, name, request)};
  }
  const std::string_view verb = path[5];
  if (verb == "spec") {
    return {spec_answer(api, name, request, target)};
  }
  if (verb == "explain" || verb == "history" || verb == "logs") {
    if (!is_read(request)) {
      return {method_not_allowed(request, "GET")};
    }
    if (verb == "logs") {
      return logs_answer(api, name, target, request.proof);
    }
    return {verb == "history" ? history_answer(api, name, target, now)
                              : explain_answer(api, name, target, request.proof, now)};
  }
  if (verb == "wake" || verb == "sleep" || verb == "scale") {
    return {order_answer(api, name, request, verb)};
  }
  return {not_found(request.target)};
}

ApiAnswer events_answer(EngineApi& api, const ApiRequest& request, const ApiTarget& target) {
  ApiAnswer answer;
  answer.content_type = "text/event-stream";
  answer.kind = ApiAnswerKind::events;
  answer.proof = request.proof;
  const std::string types = target.text("types");
  for (const std::string_view type : http::parts_of(types, ',')) {
    answer.filter.types.emplace_back(type);
  }
  answer.filter.service = target.text("service");
  answer.after = api.events().last_id();
  if (!request.last_event_id.empty()) {
    const std::string& text = request.last_event_id;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), answer.after);
    if (error != std::errc{} || end != text.data() + text.size()) {
      return {bad_parameter("Last-Event-ID", text, "give the id of an event, or leave it out")};
    }
  }
  return answer;
}

// /livez, /readyz, /metrics and what stands alone below /api/v1.
std::optional<Whole> single_answer(EngineApi& api, const Path& path) {
  if (path == Path{"livez"} || path == Path{"healthz"}) {
    return text_answer("ok\n");
  }
  if (path == Path{"readyz"}) {
    Whole answer = text_answer(api.ready() ? "ok\n" : "shutting down\n");
    answer.status = api.ready() ? 200 : 503;
    return answer;
  }
  if (path == Path{"metrics"}) {
    return text_answer(api.metrics_text(), "text/plain; version=0.0.4; charset=utf-8");
  }
  if (path == Path{"api", "v1", "version"}) {
    return json_answer(api.info());
  }
  return std::nullopt;
}

}  // namespace

ApiAnswer answer_request(EngineApi& api, const ApiRequest& request, TimePoint now) {
  const auto target = http::parse_target(request.target);
  if (!target) {
    return {problem_answer(target.error())};
  }
  const Path& path = target->path;
  const bool api_path = path.size() >= 3 && path[0] == "api" && path[1] == "v1";
  if (api_path && path.size() >= 5 && path[2] == "services") {
    return service_answer(api, request, *target, now);
  }
  if (path == Path{"api", "v1", "shutdown"}) {
    if (request.method != "POST") {
      return {method_not_allowed(request, "POST")};
    }
    if (request.proof != Proof::socket) {
      return {socket_only("a shutdown", "sluice down")};
    }
    ApiAnswer answer;
    answer.kind = ApiAnswerKind::shutdown;
    return answer;
  }
  const auto single = single_answer(api, path);
  const bool events = path == Path{"api", "v1", "events"};
  if (!single && !events && path != Path{"api", "v1", "services"}) {
    return {not_found(request.target)};
  }
  if (!is_read(request)) {
    return {method_not_allowed(request, "GET")};
  }
  if (single) {
    return {*single};
  }
  if (events) {
    return events_answer(api, request, *target);
  }
  json services = api.services();
  if (request.proof == Proof::none) {
    for (json& service : services) hide_failures(service);
  }
  return {list_answer(services, *target)};
}

std::optional<std::string> event_data(const Event& event, Proof proof) {
  if (proof != Proof::none) {
    return event.data;
  }
  // By name: a kind of event that is new is for the engine's user alone until it stands here.
  constexpr std::array<std::string_view, 5> kForAll{"engine", "service", "replica", "decision",
                                                    "cold_start"};
  if (std::find(kForAll.begin(), kForAll.end(), event.type) == kForAll.end()) {
    return std::nullopt;
  }
  json body = json::parse(event.data, nullptr, false);
  if (!body.is_object()) {
    return std::nullopt;
  }
  return hide_failures(body) ? body.dump(-1, ' ', false, json::error_handler_t::replace)
                             : event.data;
}

std::string log_line_of(const Event& event) {
  const json body = json::parse(event.data, nullptr, false);
  if (!body.is_object()) {
    return {};
  }
  return body.value("replica", std::string{"?"}) + " | " + body.value("text", std::string{}) + "\n";
}

}  // namespace sluice::local
