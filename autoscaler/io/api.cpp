#include "autoscaler/io/api.h"

#include "autoscaler/io/decision_json.h"
#include "autoscaler/io/time_text.h"

#include <nlohmann/json.hpp>

#include <iterator>
#include <utility>

namespace sluice::autoscaler {

using http::ApiAnswer;
using http::ApiProblem;
using http::ApiTarget;

namespace {

using nlohmann::json;

constexpr std::size_t kNamesShown = 20;

ApiProblem nothing_at(std::string_view target) {
  return http::no_such_path(
      target, "see GET /api/v1/services, /api/v1/nodes, /api/v1/version and /api/v1/config");
}

http::OwnResponse response_of(ApiAnswer answer) {
  http::OwnResponse response = http::plain_response(answer.status, std::move(answer.body));
  response.content_type = answer.content_type;
  if (!answer.allow.empty()) response.extra = "Allow: " + answer.allow + "\r\n";
  return response;
}

DecisionOwner owner_of(const Revision& revision) {
  return {.space = revision.facts().id.space, .service = revision.facts().service};
}

json keeps_awake(const Revision& revision) {
  json list = json::array();
  for (const Revision::PodFacts& pod : revision.pods()) {
    if (pod.load.value_or(0) <= 0) continue;
    list.push_back(
        {{"client", pod.watched.id.name}, {"request", "in flight"}, {"count", *pod.load}});
  }
  return list;
}

}  // namespace

Api::Api(ApiFacts facts, const Clock& clock, const Fleet& fleet, const DecisionRing& ring,
         const ActivatorHub& hub, const NodeBook& nodes)
    : OwnGateway{"autoscaler"},
      facts_{std::move(facts)},
      clock_{clock},
      fleet_{fleet},
      ring_{ring},
      hub_{hub},
      nodes_{nodes} {}

void Api::begin(net::Exchange& exchange) {
  const http::RequestHead& head = exchange.request();
  if (head.method != "GET" && head.method != "HEAD") {
    exchange.respond(response_of(http::method_not_allowed(
        head.method, "GET, HEAD", "use GET; changes are made on the objects of the platform")));
    return;
  }
  exchange.respond(response_of(answer(head.target)));
}

ApiAnswer Api::answer(std::string_view text) const {
  const auto target = http::parse_target(text);
  if (!target) return http::problem_answer(target.error());
  const auto& path = target->path;
  if (path.size() < 3 || path[0] != "api" || path[1] != "v1")
    return http::problem_answer(nothing_at(text));
  if (path[2] == "services" && path.size() >= 5) return service_answer(*target);
  if (path.size() == 3 && path[2] == "services") return services(*target);
  if (path.size() == 3 && path[2] == "nodes") return nodes(*target);
  if (path.size() == 3 && path[2] == "version") return http::json_answer(version());
  if (path.size() == 3 && path[2] == "config")
    return http::json_answer(config_json(fleet_.config()));
  return http::problem_answer(nothing_at(text));
}

ApiAnswer Api::services(const ApiTarget& target) const {
  const Fleet::Revisions& all = fleet_.revisions();
  const auto page = http::page_of(target, all.size());
  if (!page) return http::problem_answer(page.error());
  json list = json::array();
  auto at = std::next(all.begin(), static_cast<std::ptrdiff_t>(page->begin));
  for (std::size_t i = page->begin; i < page->end; ++i, ++at) {
    list.push_back(status_json(*at->second));
  }
  return http::page_answer(list, *page, all.size());
}

ApiAnswer Api::nodes(const ApiTarget& target) const {
  const auto& all = nodes_.nodes();
  const auto page = http::page_of(target, all.size());
  if (!page) return http::problem_answer(page.error());
  json list = json::array();
  auto at = std::next(all.begin(), static_cast<std::ptrdiff_t>(page->begin));
  for (std::size_t i = page->begin; i < page->end; ++i, ++at) {
    list.push_back(node_json(at->first, at->second));
  }
  return http::page_answer(list, *page, all.size());
}

json Api::version() const {
  json activators = json::array();
  for (const ActivatorHub::Seen& seen : hub_.activators()) {
    activators.push_back({{"name", seen.activator},
                          {"address", seen.address},
                          {"version", seen.version},
                          {"heard", format_time(seen.heard)}});
  }
  return {{"name", facts_.name},
          {"version", facts_.version},
          {"platform", facts_.platform},
          {"started", format_time(facts_.started)},
          {"revisions", fleet_.revisions().size()},
          {"activators", std::move(activators)}};
}

// By the revision's own name, else by that of its service; of several revisions of one service the
// one that most is wanted of.
const Revision* Api::find(const std::string& space, const std::string& name) const {
  const auto exact = fleet_.revisions().find({space, name});
  if (exact != fleet_.revisions().end()) return exact->second.get();
  const Revision* best = nullptr;
  for (const auto& [id, revision] : fleet_.revisions()) {
    if (id.space != space || revision->facts().service != name) continue;
    if (best == nullptr || revision->want() >= best->want()) best = revision.get();
  }
  return best;
}

ApiAnswer Api::service_answer(const ApiTarget& target) const {
  const std::string& space = target.path[3];
  const std::string& name = target.path[4];
  const Revision* const revision = find(space, name);
  if (revision == nullptr) {
    std::string known;
    std::size_t shown = 0;
    for (const auto& [id, each] : fleet_.revisions()) {
      if (++shown > kNamesShown) break;
      known += (known.empty() ? "" : ", ") + id.space + "/" + each->facts().service;
    }
    return http::problem_answer({404, "no-such-service", "No such service",
                                 "there is no service " + space + "/" + name,
                                 known.empty() ? "there are none yet" : "there are " + known});
  }
  if (target.path.size() == 5) return http::json_answer(status_json(*revision));
  if (target.path.size() == 6 && target.path[5] == "explain") {
    return explain_answer(*revision, target);
  }
  if (target.path.size() == 6 && target.path[5] == "history") {
    return history_answer(*revision, target);
  }
  return http::problem_answer(nothing_at(target.path.back()));
}

ApiAnswer Api::history_answer(const Revision& revision, const ApiTarget& target) const {
  const std::string since = target.query.contains("since") ? target.text("since") : "10m";
  const auto from = parse_moment(since, clock_.now());
  if (!from) {
    return http::problem_answer(
        http::bad_parameter("since", since, "give an age such as 10m, or a time in RFC 3339"));
  }
  const std::vector<DecisionRecord> records = ring_.since(revision.facts().id, *from);
  const auto page = http::page_of(target, records.size());
  if (!page) return http::problem_answer(page.error());
  json list = json::array();
  for (std::size_t i = page->begin; i < page->end; ++i) {
    list.push_back(decision_json(records[i], owner_of(revision)));
  }
  return http::page_answer(list, *page, records.size());
}

ApiAnswer Api::explain_answer(const Revision& revision, const ApiTarget& target) const {
  DecisionRecord record = revision.last();
  const bool past = target.query.contains("at");
  if (past) {
    const auto at = parse_moment_end(target.text("at"), clock_.now());
    if (!at) {
      return http::problem_answer(http::bad_parameter(
          "at", target.text("at"), "give a time as 14:03:12, RFC 3339, or an age such as 5m"));
    }
    const auto kept = ring_.at(revision.facts().id, *at);
    if (!kept) {
      return http::problem_answer({404, "no-decision", "No decision",
                                   "no decision was kept from before " + format_time(*at),
                                   "give a later time; .../history lists them"});
    }
    record = *kept;
  }
  json answer = decision_json(record, owner_of(revision));
  answer["inputs"] = decision_inputs_json(record);
  answer["last_cold_start"] = nullptr;
  if (!past) answer["keeps_awake"] = keeps_awake(revision);
  return http::json_answer(answer);
}

}  // namespace sluice::autoscaler
