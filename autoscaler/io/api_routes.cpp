#include "autoscaler/io/api_routes.h"

#include "autoscaler/io/page_answer.h"
#include "autoscaler/io/record_answers.h"
#include "autoscaler/io/shown_facts.h"
#include "autoscaler/io/since.h"
#include "autoscaler/io/time_text.h"
#include "autoscaler/io/view_api.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

namespace sluice::autoscaler {

using api::ApiAnswer;
using api::ApiRequest;
using api::Event;
using api::Proof;
using http::ApiTarget;
using http::json_answer;
using http::problem_answer;
using nlohmann::json;
using Path = std::vector<std::string>;
using Whole = http::ApiAnswer;

http::ApiProblem invalid_document(std::string detail, std::string fix) {
  return {422, "invalid-document", "Not accepted", std::move(detail), std::move(fix)};
}

namespace {

constexpr std::size_t kTailDefault = 100;
constexpr std::size_t kTailMax = 10'000;

// What one answer is made from.
struct Asked {
  ServicesApi& services;
  MachineApi* machine;
  const ChangeRule& change;
  const ApiRequest& request;
  const ApiTarget& target;
  TimePoint now;

  [[nodiscard]] bool is_read() const { return request.method == "GET" || request.method == "HEAD"; }

  [[nodiscard]] bool shows_all() const { return request.proof != Proof::none; }
};

ApiAnswer whole(Whole answer) {
  return {std::move(answer), {}, {}, {}};
}

Whole text_answer(std::string body, std::string type = "text/plain; charset=utf-8") {
  return {200, std::move(type), std::move(body), {}};
}

Whole answer_of(const ApiResult<json>& result, int status = 200) {
  return result ? json_answer(*result, status) : problem_answer(result.error());
}

ApiResult<json> shown_to(const Asked& asked, ApiResult<json> status) {
  if (status && !asked.shows_all()) hide_failures(*status);
  return status;
}

Whole bad_parameter(std::string_view name, const std::string& value, std::string fix) {
  return problem_answer(http::bad_parameter(name, value, std::move(fix)));
}

Whole not_found(const Asked& asked) {
  return problem_answer(http::no_such_path(
      asked.request.target,
      asked.machine != nullptr
          ? "see GET /api/v1/services"
          : "see GET /api/v1/services, /api/v1/nodes, /api/v1/version and /api/v1/config"));
}

// What the front door does for no client: `fix` does it over the socket.
Whole socket_only(const std::string& doing, std::string fix) {
  return problem_answer({403, "socket-only", "On the engine's socket only",
                         doing + " is not possible through the front door", std::move(fix)});
}

Whole own_user_only(const std::string& what, const std::string& fix) {
  return problem_answer({403, "own-user-only", "For the engine's own user",
                         what + " is only for the user who runs this engine",
                         "run as that user: " + fix});
}

// Where specs are not ours, what may change of a service stands in its objects and in no document.
Whole method_not_allowed(const Asked& asked, const std::string& allow) {
  return http::method_not_allowed(
      asked.request.method, allow,
      "use " + allow +
          (asked.machine == nullptr ? "; changes are made on the objects of the platform" : ""));
}

// A page of `items`, which start at place `next`.
Whole list_answer(const json& items, const ApiTarget& target) {
  const auto page = http::page_of(target, items.size());
  if (!page) return problem_answer(page.error());
  json shown = json::array();
  for (std::size_t i = page->begin; i < page->end; ++i) shown.push_back(items[i]);
  return http::page_answer(shown, *page, items.size());
}

ApiAnswer services_answer(const Asked& asked) {
  const std::size_t count = asked.services.service_count();
  const auto page = http::page_of(asked.target, count);
  if (!page) return whole(problem_answer(page.error()));
  ApiAnswer answer;
  answer.parts = http::parts_of_page(
      *page, count,
      [&services = asked.services, shows_all = asked.shows_all(),
       ids = asked.services.listed(page->begin, page->end)](std::string& body, std::size_t place) {
        json status = services.status_of(ids[place]);
        if (status.is_null()) return;
        if (!shows_all) hide_failures(status);
        body += json_line(status);
      });
  return answer;
}

Whole explain_answer(const Asked& asked, const ServiceName& name) {
  std::optional<TimePoint> at;
  if (asked.target.query.contains("at")) {
    // History shows times without their last digits: the decision of such a row is meant.
    at = parse_moment_end(asked.target.text("at"), asked.now);
    if (!at) {
      return bad_parameter("at", asked.target.text("at"),
                           "give a time as 14:03:12, RFC 3339, or an age such as 5m");
    }
  }
  auto explained = asked.services.explain(name, at);
  if (explained && !asked.shows_all()) {
    explained->erase("keeps_awake");
    explained->erase("last_failure");
    hide_failures(*explained);
  }
  return answer_of(explained);
}

ApiAnswer logs_answer(const Asked& asked, const std::string& name) {
  if (!asked.shows_all()) {
    return whole(own_user_only("what the replicas of a service print", "sluice logs " + name));
  }
  const auto tail = asked.target.number("tail", kTailDefault);
  if (!tail || *tail > kTailMax) {
    return whole(bad_parameter("tail", asked.target.text("tail"), "give a number from 0 to 10000"));
  }
  LogQuery wanted{.tail = *tail,
                  .replica = asked.target.text("replica"),
                  .previous = asked.target.flag("previous"),
                  .times = asked.target.flag("times"),
                  .since = std::nullopt};
  if (asked.target.query.contains("since")) {
    const auto since = since_in(asked.target, {}, asked.now);
    if (!since) return whole(problem_answer(since.error()));
    wanted.since = *since;
  }
  const auto lines = asked.machine->logs(name, wanted);
  if (!lines) return whole(problem_answer(lines.error()));
  ApiAnswer answer = whole(text_answer(lines->text));
  if (asked.target.flag("follow")) {
    answer.stream = api::ApiStream{
        .filter = {.types = {"log"}, .service = lines->service, .replica = wanted.replica},
        .after = asked.services.events().last_id(),
        .sse = false,
        .text_of = [times = wanted.times, of = lines->revision](const Event& event) {
          const bool is_of = of.empty() || event.key.replica.starts_with(of + "-");
          return is_of ? log_line_of(event, times) : std::string{};
        }};
  }
  return answer;
}

std::optional<std::int32_t> bound_in(const json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end()) return std::nullopt;
  const bool fits = found->is_number_integer() && *found >= 0 && *found <= 1'000'000;
  return fits ? found->get<std::int32_t>() : -1;
}

Whole scale_answer(const Asked& asked, const ServiceName& name) {
  const json body = reading::parsed(asked.request.body);
  const std::string fix = R"(send {"min":1,"max":4}, whole numbers from 0; max 0 means no bound)";
  if (!body.is_object()) {
    return problem_answer(invalid_document("the body is not a JSON object", fix));
  }
  for (const auto& [key, value] : body.items()) {
    if (key != "min" && key != "max") {
      return problem_answer(invalid_document("unknown key " + key, fix));
    }
  }
  const ScaleBounds bounds{.min = bound_in(body, "min"), .max = bound_in(body, "max")};
  if (bounds.min.value_or(0) < 0 || bounds.max.value_or(0) < 0) {
    return problem_answer(invalid_document("min and max must be whole numbers from 0", fix));
  }
  return answer_of(shown_to(asked, asked.services.scale(name, bounds)), 202);
}

// Documents of one or more Services.
ApiAnswer apply_answer(const Asked& asked) {
  if (asked.request.proof != Proof::socket) {
    return whole(socket_only("a new spec", "sluice apply -f FILE"));
  }
  ApplyMode mode{.dry_run = asked.target.flag("dry_run"),
                 .write = asked.target.flag("write"),
                 .base = asked.target.text("base")};
  ApiAnswer answer;
  answer.later = [machine = asked.machine, yaml = asked.request.body,
                  mode = std::move(mode)](const ApiAnswer::Later& done) {
    machine->apply(yaml, mode, [done](const ApiResult<json>& result) { done(answer_of(result)); });
  };
  return answer;
}

Whole spec_answer(const Asked& asked, const std::string& name) {
  if (!asked.is_read()) return method_not_allowed(asked, "GET");
  if (!asked.shows_all()) {
    return own_user_only("the spec of a service", "sluice get " + name + " -o yaml");
  }
  const auto yaml = asked.machine->spec_yaml(
      name, asked.request.proof == Proof::socket ? Values::shown : Values::hidden);
  return yaml ? text_answer(*yaml, "application/yaml") : problem_answer(yaml.error());
}

Whole revisions_answer(const Asked& asked, const std::string& name) {
  if (!asked.is_read()) return method_not_allowed(asked, "GET");
  const auto revisions = asked.machine->revisions(name);
  return revisions ? list_answer(*revisions, asked.target) : problem_answer(revisions.error());
}

// A tag claims a host and `write` changes a file: through the front door there are percentages
// alone.
Whole traffic_answer(const Asked& asked, const std::string& name) {
  if (asked.request.method != "POST") return method_not_allowed(asked, "POST");
  if (const auto refused = asked.change(asked.request)) return problem_answer(*refused);
  const json body = reading::parsed(asked.request.body);
  const bool write = asked.target.flag("write");
  const bool more = write || (body.is_object() && body.size() > body.count("percents"));
  if (more && asked.request.proof != Proof::socket) {
    return socket_only("a change of traffic other than percentages", "sluice traffic " + name);
  }
  return answer_of(asked.machine->set_traffic(name, body, write));
}

// Of /api/v1/services/{ns}/{name} itself.
Whole status_answer(const Asked& asked, const ServiceName& name) {
  if (asked.machine != nullptr && asked.request.method == "DELETE") {
    if (asked.request.proof != Proof::socket) {
      return socket_only("a removal", "sluice delete " + name.name);
    }
    return answer_of(asked.machine->remove(name.name));
  }
  if (!asked.is_read()) {
    return method_not_allowed(asked, asked.machine != nullptr ? "GET, DELETE" : "GET, HEAD");
  }
  return answer_of(shown_to(asked, asked.services.service(name)));
}

Whole move_answer(const Asked& asked, const ServiceName& name) {
  const json body = reading::parsed(asked.request.body);
  const std::string to = body.is_object() ? reading::text(body, "to") : std::string{};
  if (to.empty()) {
    return problem_answer(invalid_document("the body names no place", R"(send {"to":"PLACE"})"));
  }
  return answer_of(asked.services.move(name, to), 202);
}

// Below /api/v1/places.
Whole place_answer(const Asked& asked) {
  const Path& path = asked.target.path;
  const bool drain = path.size() == 5 && path[4] == "drain";
  const bool undrain = path.size() == 5 && path[4] == "undrain";
  if (!drain && !undrain) return not_found(asked);
  if (asked.request.method != "POST") {
    return http::method_not_allowed(asked.request.method, "POST", "use POST");
  }
  if (const auto refused = asked.change(asked.request)) return problem_answer(*refused);
  return answer_of(asked.services.drain(path[3], drain), 202);
}

Whole order_answer(const Asked& asked, const ServiceName& name, std::string_view verb) {
  if (asked.request.method != "POST") {
    return http::method_not_allowed(asked.request.method, "POST", "use POST");
  }
  if (const auto refused = asked.change(asked.request)) return problem_answer(*refused);
  if (verb == "scale") return scale_answer(asked, name);
  if (verb == "move") return move_answer(asked, name);
  return answer_of(
      shown_to(asked, verb == "wake" ? asked.services.wake(name) : asked.services.sleep(name)),
      202);
}

// Below /api/v1/services/{ns}/{name}.
ApiAnswer service_answer(const Asked& asked) {
  const Path& path = asked.target.path;
  if (path.size() > 6) return whole(not_found(asked));
  const ServiceName name{path[3], path[4]};
  if (path.size() == 5) return whole(status_answer(asked, name));
  const std::string_view verb = path[5];
  const bool own = asked.machine != nullptr;
  if (verb == "spec" && own) return whole(spec_answer(asked, name.name));
  if (verb == "revisions" && own) return whole(revisions_answer(asked, name.name));
  if (verb == "traffic" && own) return whole(traffic_answer(asked, name.name));
  const bool logs = verb == "logs" && own;
  if (logs || verb == "explain" || verb == "history" || verb == "recording") {
    if (!asked.is_read()) return whole(method_not_allowed(asked, "GET"));
    if (logs) return logs_answer(asked, name.name);
    const auto answer = verb == "recording" ? recording_answer : history_answer;
    if (verb != "explain") return answer(asked.services, asked.target, name, asked.now);
    return whole(explain_answer(asked, name));
  }
  if (verb == "wake" || verb == "sleep" || verb == "scale" || verb == "move") {
    return whole(order_answer(asked, name, verb));
  }
  return whole(not_found(asked));
}

ApiAnswer events_answer(const Asked& asked) {
  ApiAnswer answer;
  answer.content_type = "text/event-stream";
  api::ApiStream stream{.text_of = [proof = asked.request.proof](const Event& event) {
    return sse_text(event, proof);
  }};
  auto types = event_types(asked.target.text("types"));
  if (!types) return whole(problem_answer(types.error()));
  stream.filter.types = std::move(*types);
  stream.filter.service = asked.target.text("service");
  stream.filter.space = asked.target.text("namespace");
  stream.after = asked.services.events().last_id();
  const std::string& text = asked.request.last_event_id;
  if (!text.empty()) {
    const auto id = whole_number<std::uint64_t>(text);
    const std::string fix = "give the id of an event, or leave it out";
    if (!id) return whole(bad_parameter("Last-Event-ID", text, fix));
    stream.after = *id;
  }
  answer.stream = std::move(stream);
  return answer;
}

Whole policies_answer(const Asked& asked) {
  if (asked.request.method != "POST") return method_not_allowed(asked, "POST");
  if (asked.request.proof != Proof::socket) {
    return socket_only("a check of policies", "sluice policy check FILE");
  }
  return answer_of(asked.machine->check_policies(asked.request.body));
}

ApiAnswer shutdown_answer(const Asked& asked) {
  if (asked.request.method != "POST") return whole(method_not_allowed(asked, "POST"));
  if (asked.request.proof != Proof::socket) return whole(socket_only("a shutdown", "sluice down"));
  ApiAnswer answer;
  answer.later = [machine = asked.machine](const ApiAnswer::Later& done) {
    machine->begin_shutdown([done](const ShutdownResult& ended) {
      done(json_answer({{"stopped", ended.stopped}, {"cut", ended.cut}}));
    });
  };
  return answer;
}

// The lines of a session are its answer, then the events of its services and of the engine.
ApiAnswer session_answer(const Asked& asked) {
  if (asked.request.method != "POST") return whole(method_not_allowed(asked, "POST"));
  if (asked.request.proof != Proof::socket) {
    return whole(socket_only("a session", "sluice up -- COMMAND"));
  }
  const std::uint64_t before = asked.services.events().last_id();
  auto begun = asked.machine->begin_session(reading::parsed(asked.request.body));
  if (!begun) return whole(problem_answer(begun.error()));
  ApiAnswer answer;
  answer.content_type = "application/json";
  answer.body = begun->answer + "\n";
  if (begun->hold == nullptr) return answer;
  answer.content_type = "application/x-ndjson";
  answer.stream = api::ApiStream{.filter = {},
                                 .after = before,
                                 .sse = false,
                                 .text_of =
                                     [covers = std::move(begun->covers)](const Event& event) {
                                       const bool shown =
                                           event.key.type == "engine" || covers(event.key.service);
                                       return shown ? event.data() + "\n" : std::string{};
                                     },
                                 .hold = std::move(begun->hold)};
  return answer;
}

// What stands alone below /api/v1.
std::optional<Whole> single_answer(const Asked& asked, const std::string& word) {
  if (word == "version") return json_answer(asked.services.version());
  if (word == "nodes") {
    const json nodes = asked.services.nodes();
    if (!nodes.is_null()) return list_answer(nodes, asked.target);
  }
  if (word == "places") return list_answer(asked.services.places(), asked.target);
  if (word == "moves") return list_answer(asked.services.moves(), asked.target);
  if (word == "config") {
    const json config = asked.services.config();
    if (!config.is_null()) return json_answer(config);
  }
  return std::nullopt;
}

// /livez, /readyz, /metrics.
std::optional<Whole> health_answer(MachineApi& machine, const Path& path) {
  if (path == Path{"livez"} || path == Path{"healthz"}) return text_answer("ok\n");
  if (path == Path{"readyz"}) {
    Whole answer = text_answer(machine.ready() ? "ok\n" : "shutting down\n");
    answer.status = machine.ready() ? 200 : 503;
    return answer;
  }
  if (path == Path{"metrics"}) {
    return text_answer(machine.metrics_text(), "text/plain; version=0.0.4; charset=utf-8");
  }
  return std::nullopt;
}

ApiAnswer route(const Asked& asked) {
  const Path& path = asked.target.path;
  const bool api_path = path.size() >= 3 && path[0] == "api" && path[1] == "v1";
  if (api_path && path.size() >= 5 && path[2] == "services") return service_answer(asked);
  if (api_path && path.size() >= 4 && path[2] == "places") return whole(place_answer(asked));
  if (asked.machine != nullptr && path == Path{"api", "v1", "placement", "check"}) {
    return whole(policies_answer(asked));
  }
  const bool single = api_path && path.size() == 3;
  if (single && asked.machine != nullptr) {
    if (path[2] == "shutdown") return shutdown_answer(asked);
    if (path[2] == "sessions") return session_answer(asked);
    if (path[2] == "services" && asked.request.method == "PUT") return apply_answer(asked);
  }
  if (single && path[2] == "services" && asked.is_read()) return services_answer(asked);
  const bool events = single && path[2] == "events";
  const bool services = single && path[2] == "services";
  std::optional<Whole> found;
  if (single && !events && !services) found = single_answer(asked, path[2]);
  if (!api_path && asked.machine != nullptr) found = health_answer(*asked.machine, path);
  if (!found && !events && !services) return whole(not_found(asked));
  if (!asked.is_read()) {
    const char* const own = services ? "GET, PUT" : "GET";
    return whole(method_not_allowed(asked, asked.machine != nullptr ? own : "GET, HEAD"));
  }
  return events ? events_answer(asked) : whole(*found);
}

}  // namespace

ApiRoutes::ApiRoutes(const Clock& clock, ServicesApi& services, MachineApi* machine,
                     ChangeRule change, ViewApi* views)
    : clock_{clock},
      services_{services},
      machine_{machine},
      change_{std::move(change)},
      views_{views} {}

ApiAnswer ApiRoutes::answer(const ApiRequest& request) {
  const auto target = http::parse_target(request.target);
  if (!target) return whole(problem_answer(target.error()));
  if (views_ != nullptr) {
    if (auto shown = views_->answer(request, *target)) return std::move(*shown);
  }
  if (auto page = page_answer(request, *target)) return std::move(*page);
  ApiAnswer answer = route({services_, machine_, change_, request, *target, clock_.now()});
  const bool events = target->path == Path{"api", "v1", "events"};
  if (events && views_ != nullptr) views_->join_events(answer, *target);
  return answer;
}

}  // namespace sluice::autoscaler
