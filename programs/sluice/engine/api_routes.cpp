#include "programs/sluice/engine/api_routes.h"

#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace sluice::local {
namespace {

using nlohmann::json;

constexpr std::size_t kListDefault = 100;
constexpr std::size_t kListMax = 1000;
constexpr std::size_t kTailDefault = 100;
constexpr std::size_t kTailMax = 10'000;
constexpr std::size_t kTargetMax = 4096;
constexpr std::string_view kNamespace = "default";

using Query = std::map<std::string, std::string, std::less<>>;

std::optional<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size() ||
        std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16).ptr != &text[i + 1] + 2) {
      return std::nullopt;
    }
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) {
      parts.push_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Query query_of(std::string_view text) {
  Query query;
  for (const std::string_view pair : split(text, '&')) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto key = decode(pair.substr(0, equals));
    const auto value = decode(pair.substr(std::min(equals + 1, pair.size())));
    if (key && value) {
      query.emplace(*key, *value);
    }
  }
  return query;
}

std::string text_of(const Query& query, std::string_view key) {
  const auto found = query.find(key);
  return found == query.end() ? std::string{} : found->second;
}

bool flag_of(const Query& query, std::string_view key) {
  const auto found = query.find(key);
  return found != query.end() && found->second != "0" && found->second != "false";
}

// A number of the query; `missing` when it is absent, nothing when it is not a number.
std::optional<std::uint64_t> number_of(const Query& query, std::string_view key,
                                       std::uint64_t missing) {
  const std::string text = text_of(query, key);
  if (text.empty()) {
    return missing;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string printed(const json& body) {
  return body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

ApiAnswer json_answer(const json& body, int status = 200) {
  ApiAnswer answer;
  answer.status = status;
  answer.body = printed(body);
  return answer;
}

ApiAnswer text_answer(std::string body, std::string type = "text/plain; charset=utf-8") {
  ApiAnswer answer;
  answer.content_type = std::move(type);
  answer.body = std::move(body);
  return answer;
}

ApiAnswer answer_of(const ApiResult<json>& result, int status = 200) {
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

ApiAnswer bad_parameter(std::string_view name, const std::string& value, std::string fix) {
  return problem_answer({400, "bad-parameter", "Bad parameter",
                         std::string(name) + " is not accepted: " + value, std::move(fix)});
}

ApiAnswer not_found(std::string_view path) {
  return problem_answer(no_such_path(path));
}

// What the front door does for no client: `fix` does it over the socket.
ApiAnswer socket_only(const std::string& doing, std::string fix) {
  return problem_answer({403, "socket-only", "On the engine's socket only",
                         doing + " is not possible through the front door", std::move(fix)});
}

ApiAnswer own_user_only(const std::string& what, const std::string& fix) {
  return problem_answer({403, "own-user-only", "For the engine's own user",
                         what + " is only for the user who runs this engine",
                         "ask as that user: " + fix});
}

ApiAnswer method_not_allowed(const ApiRequest& request, std::string allow) {
  ApiAnswer answer = problem_answer({405, "method-not-allowed", "Method not allowed",
                                     request.method + " is not allowed here", "use " + allow});
  answer.allow = std::move(allow);
  return answer;
}

// A page of `items`, which start at place `next`.
ApiAnswer list_answer(const json& items, const Query& query) {
  const auto limit = number_of(query, "limit", kListDefault);
  if (!limit || *limit == 0 || *limit > kListMax) {
    return bad_parameter("limit", text_of(query, "limit"), "give a number from 1 to 1000");
  }
  const auto from = number_of(query, "next", 0);
  if (!from) {
    return bad_parameter("next", text_of(query, "next"), "give the `next` of the answer before");
  }
  json page = {{"items", json::array()}};
  const std::size_t start = std::min<std::size_t>(*from, items.size());
  const std::size_t end = std::min<std::size_t>(items.size(), start + *limit);
  for (std::size_t i = start; i < end; ++i) {
    page["items"].push_back(items[i]);
  }
  if (end < items.size()) {
    page["next"] = std::to_string(end);
  }
  return json_answer(page);
}

ApiAnswer history_answer(EngineApi& api, const std::string& name, const Query& query,
                         TimePoint now) {
  const std::string since = query.contains("since") ? text_of(query, "since") : "10m";
  const auto from = parse_moment(since, now);
  if (!from) {
    return bad_parameter("since", since, "give an age such as 10m, or a time in RFC 3339");
  }
  const auto decisions = api.history(name, *from);
  return decisions ? list_answer(*decisions, query) : problem_answer(decisions.error());
}

ApiAnswer explain_answer(EngineApi& api, const std::string& name, const Query& query, Proof proof,
                         TimePoint now) {
  std::optional<TimePoint> at;
  if (query.contains("at")) {
    // History shows times without their last digits: the decision of such a row is meant.
    at = parse_moment_end(text_of(query, "at"), now);
    if (!at) {
      return bad_parameter("at", text_of(query, "at"),
                           "give a time as 14:03:12, RFC 3339, or an age such as 5m");
    }
  }
  auto explained = api.explain(name, at);
  if (explained && proof == Proof::none) explained->erase("keeps_awake");
  return answer_of(explained);
}

ApiAnswer logs_answer(EngineApi& api, const std::string& name, const Query& query, Proof proof) {
  if (proof == Proof::none) {
    return own_user_only("what the replicas of a service print", "sluice logs " + name);
  }
  const auto tail = number_of(query, "tail", kTailDefault);
  if (!tail || *tail > kTailMax) {
    return bad_parameter("tail", text_of(query, "tail"), "give a number from 0 to 10000");
  }
  const LogQuery wanted{
      .tail = *tail, .replica = text_of(query, "replica"), .previous = flag_of(query, "previous")};
  const auto lines = api.logs(name, wanted);
  if (!lines) {
    return problem_answer(lines.error());
  }
  ApiAnswer answer = text_answer(*lines);
  if (flag_of(query, "follow")) {
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

ApiAnswer scale_answer(EngineApi& api, const std::string& name, const ApiRequest& request) {
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

ApiAnswer spec_answer(EngineApi& api, const std::string& name, const ApiRequest& request,
                      const Query& query) {
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
    return answer_of(flag_of(query, "dry_run") ? planned : api.apply(request.body, false));
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return method_not_allowed(request, "GET, PUT");
  }
  if (request.proof == Proof::none) {
    return own_user_only("the spec of a service", "sluice get " + name + " -o yaml");
  }
  const auto yaml =
      api.spec_yaml(name, request.proof == Proof::socket ? Values::shown : Values::hidden);
  return yaml ? text_answer(*yaml, "application/yaml") : problem_answer(yaml.error());
}

// Below /api/v1/services/{ns}/{name}.
ApiAnswer service_answer(EngineApi& api, const ApiRequest& request,
                         const std::vector<std::string_view>& path, const Query& query,
                         TimePoint now) {
  const auto name = decode(path[4]);
  if (!name || path[3] != kNamespace || path.size() > 6) {
    return not_found(request.target);
  }
  const bool get = request.method == "GET" || request.method == "HEAD";
  if (path.size() == 5) {
    if (request.method == "DELETE") {
      if (request.proof != Proof::socket) {
        return socket_only("a removal", "sluice delete " + *name);
      }
      return answer_of(api.remove(*name));
    }
    return get ? answer_of(shown_to(request.proof, api.service(*name)))
               : method_not_allowed(request, "GET, DELETE");
  }
  const std::string_view verb = path[5];
  if (verb == "spec") {
    return spec_answer(api, *name, request, query);
  }
  if (verb == "explain" || verb == "history" || verb == "logs") {
    if (!get) {
      return method_not_allowed(request, "GET");
    }
    if (verb == "explain") {
      return explain_answer(api, *name, query, request.proof, now);
    }
    return verb == "history" ? history_answer(api, *name, query, now)
                             : logs_answer(api, *name, query, request.proof);
  }
  if (verb == "wake" || verb == "sleep" || verb == "scale") {
    if (request.method != "POST") {
      return method_not_allowed(request, "POST");
    }
    if (verb == "scale") {
      return scale_answer(api, *name, request);
    }
    return answer_of(shown_to(request.proof, verb == "wake" ? api.wake(*name) : api.sleep(*name)),
                     202);
  }
  return not_found(request.target);
}

ApiAnswer events_answer(EngineApi& api, const ApiRequest& request, const Query& query) {
  ApiAnswer answer;
  answer.content_type = "text/event-stream";
  answer.kind = ApiAnswerKind::events;
  answer.proof = request.proof;
  const std::string types = text_of(query, "types");
  for (const std::string_view type : split(types, ',')) {
    answer.filter.types.emplace_back(type);
  }
  answer.filter.service = text_of(query, "service");
  answer.after = api.events().last_id();
  if (!request.last_event_id.empty()) {
    const std::string& text = request.last_event_id;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), answer.after);
    if (error != std::errc{} || end != text.data() + text.size()) {
      return bad_parameter("Last-Event-ID", text, "give the id of an event, or leave it out");
    }
  }
  return answer;
}

// /livez, /readyz, /metrics and what stands alone below /api/v1.
std::optional<ApiAnswer> single_answer(EngineApi& api, const std::string& path) {
  if (path == "livez" || path == "healthz") {
    return text_answer("ok\n");
  }
  if (path == "readyz") {
    ApiAnswer answer = text_answer(api.ready() ? "ok\n" : "shutting down\n");
    answer.status = api.ready() ? 200 : 503;
    return answer;
  }
  if (path == "metrics") {
    return text_answer(api.metrics_text(), "text/plain; version=0.0.4; charset=utf-8");
  }
  if (path == "api/v1/version") {
    return json_answer(api.info());
  }
  return std::nullopt;
}

}  // namespace

ApiAnswer problem_answer(const ApiProblem& problem) {
  ApiAnswer answer;
  answer.status = problem.status;
  answer.content_type = "application/problem+json";
  json body = {{"type", problem.type},
               {"title", problem.title},
               {"status", problem.status},
               {"detail", problem.detail}};
  if (!problem.fix.empty()) {
    body["fix"] = problem.fix;
  }
  answer.body = printed(body);
  return answer;
}

ApiAnswer answer_request(EngineApi& api, const ApiRequest& request, TimePoint now) {
  if (request.target.size() > kTargetMax) {
    return problem_answer({414, "target-too-long", "Target too long",
                           "the target is longer than 4096 bytes", "shorten it"});
  }
  const std::string_view target = request.target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  const auto parts = split(target.substr(0, mark), '/');
  const Query query = query_of(target.substr(std::min(mark + 1, target.size())));
  std::string path;
  for (const std::string_view part : parts) {
    path += (path.empty() ? "" : "/") + std::string(part);
  }
  const bool api_path = parts.size() >= 3 && parts[0] == "api" && parts[1] == "v1";
  if (api_path && parts.size() >= 5 && parts[2] == "services") {
    return service_answer(api, request, parts, query, now);
  }
  if (path == "api/v1/shutdown") {
    if (request.method != "POST") {
      return method_not_allowed(request, "POST");
    }
    if (request.proof != Proof::socket) {
      return socket_only("a shutdown", "sluice down");
    }
    ApiAnswer answer;
    answer.kind = ApiAnswerKind::shutdown;
    return answer;
  }
  const auto single = single_answer(api, path);
  const bool known = single || path == "api/v1/services" || path == "api/v1/events";
  if (!known) {
    return not_found(request.target);
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return method_not_allowed(request, "GET");
  }
  if (single) {
    return *single;
  }
  if (path == "api/v1/events") {
    return events_answer(api, request, query);
  }
  json services = api.services();
  if (request.proof == Proof::none) {
    for (json& service : services) hide_failures(service);
  }
  return list_answer(services, query);
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
