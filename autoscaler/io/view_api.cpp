#include "autoscaler/io/view_api.h"

#include "autoscaler/io/api_routes.h"
#include "autoscaler/io/record_answers.h"
#include "autoscaler/io/since.h"
#include "autoscaler/io/time_text.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

using api::ApiAnswer;
using api::Proof;
using http::ApiTarget;
using http::problem_answer;
using nlohmann::json;
using Path = std::vector<std::string>;

constexpr Duration kSeriesMax = std::chrono::hours{6};
constexpr std::int64_t kStepMax = 3600;
constexpr std::int64_t kStepsOfSeconds = 300;
constexpr std::int64_t kLongStep = 10;
constexpr std::int64_t kRowsInPart = 20;  // of a series: some 50 us
constexpr std::size_t kPanicsShown = 3;
constexpr std::size_t kNamesMax = 1000;

ApiAnswer whole_answer(http::ApiAnswer answer) {
  return {std::move(answer), {}, {}, {}};
}

ApiAnswer bad(std::string_view name, const std::string& value, std::string fix) {
  return whole_answer(problem_answer(http::bad_parameter(name, value, std::move(fix))));
}

json points_json(std::span<const float> points) {
  std::string text;
  write_numbers(text, points);
  return reading::parsed(text);
}

std::int64_t whole_seconds(TimePoint at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

std::string live_text(const api::Event& event, Proof proof) {
  const auto data = event_data(event, proof);
  if (!data) return {};
  return "id: " + std::to_string(event.id) + "\nevent: " + live_type(event, *data) +
         "\ndata: " + *data + "\n\n";
}

bool is_read(const api::ApiRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

struct ViewApi::Asked {
  const api::ApiRequest& request;
  const ApiTarget& target;
  TimePoint now;

  [[nodiscard]] Reasons reasons() const {
    return request.proof == Proof::none ? Reasons::hidden : Reasons::shown;
  }
};

ViewApi::ViewApi(ViewFacts facts, const Parts& parts)
    : facts_{std::move(facts)},
      parts_{parts},
      peer_live_{parts.peers == nullptr
                     ? std::nullopt
                     : std::optional<PeerLive>{std::in_place, parts.clock, *parts.peers,
                                               ServiceFinder{parts.api, *parts.peers}}},
      live_{{.clock = parts.clock,
             .view = parts.view,
             .find = [this](const ServiceName& name) { return parts_.api.find(name); },
             .replicas =
                 [this](const Revision& revision) {
                   return parts_.api.status(revision).at("replicas");
                 },
             .overview =
                 [this] {
                   json all = figures();
                   if (is_shared()) peer_live_->add_to(all);
                   return all;
                 },
             .peers = peer_live_ ? &*peer_live_ : nullptr}} {}

std::optional<ApiAnswer> ViewApi::answer(const api::ApiRequest& request, const ApiTarget& target) {
  const Path& path = target.path;
  if (!is_read(request) || path.size() < 3 || path[0] != "api" || path[1] != "v1") {
    return std::nullopt;
  }
  const Asked asked{request, target, parts_.clock.now()};
  if (path[2] == "services") {
    if (path.size() == 3 && target.flag("brief")) return rows(asked);
    const bool is_ours = path.size() == 6 && (path[5] == "series" || path[5] == "cold-starts");
    return is_ours ? std::optional{of_service(asked)} : std::nullopt;
  }
  if (path.size() > 3) return std::nullopt;
  if (path[2] == "overview") return whole_answer(http::json_answer(overview()));
  if (path[2] == "memory") return memory();
  if (path[2] == "live") return live(asked);
  if (path[2] == "changes" && parts_.peers != nullptr) return changes(request, target);
  return std::nullopt;
}

// What does not change while the program runs.
json ViewApi::constants() const {
  return {{"name", facts_.program.name},
          {"version", facts_.program.version},
          {"started", format_time(facts_.program.started)},
          {"form", facts_.form},
          {"edit", facts_.edit}};
}

json ViewApi::figures() const {
  const FleetRows& rows = parts_.view.rows();
  const TimePoint now = parts_.clock.now();
  json body = tiles_json(rows.tiles());
  body["time"] = format_time(now);
  const LatencyCounts latency = parts_.view.latency();
  const bool known = parts_.front != nullptr;
  body["p50_ms"] = known ? json(latency.quantile_ms(0.5)) : json{};
  body["p99_ms"] = known ? json(latency.quantile_ms(0.99)) : json{};
  json& panics = body["panic"] = json::array();
  for (const RevisionId& id : rows.panicking()) {
    if (panics.size() >= kPanicsShown) break;
    const FleetRow& row = rows.find(id)->row;
    panics.push_back({{"namespace", id.space},
                      {"name", row.service},
                      {"for_s", std::max(0.0, to_seconds(now - *row.panic_since))}});
  }
  const SeriesBook& series = parts_.view.series();
  const std::int64_t second = whole_seconds(now);
  body["rps_points"] = points_json(series.spark(FleetView::series_of_all(), second, Figure::rps));
  body["queued_points"] =
      points_json(series.spark(FleetView::series_of_all(), second, Figure::queued));
  body["memory"] = known ? parts_.front->memory() : json{};
  if (body["memory"].is_object()) body["memory"].erase("throttled");
  return body;
}

json ViewApi::overview() const {
  json body = figures();
  body.update(constants());
  return body;
}

ApiAnswer ViewApi::rows(const Asked& asked) const {
  RowQuery query{.state = asked.target.text("state"), .text = asked.target.text("q")};
  if (asked.target.query.contains("sort")) query.sort = asked.target.text("sort");
  if (!query.knows_state()) {
    return bad("state", query.state,
               "give asleep, starting, awake, draining, failing or trouble, or leave it out");
  }
  if (!query.knows_sort()) {
    return bad("sort", query.sort, "give name, trouble, rps, p99, queued or ready");
  }
  // The bounds of the page do not depend on how many match.
  const auto bounds = http::page_of(asked.target, parts_.view.rows().size());
  if (!bounds) return whole_answer(problem_answer(bounds.error()));
  const auto search =
      std::make_shared<RowSearch>(parts_.view.rows(), std::move(query), bounds->begin, bounds->end);
  ApiAnswer answer;
  answer.parts = http::parts_after(
      [search] { return search->find(); },
      [this, search, begin = bounds->begin, reasons = asked.reasons()] {
        return http::parts_of_page({begin, begin + search->page().size()}, search->matching(),
                                   [this, search, reasons](std::string& body, std::size_t place) {
                                     const FleetRows::Kept* const kept =
                                         parts_.view.rows().find(search->page()[place]);
                                     if (kept != nullptr) write_listed(body, kept->row, reasons);
                                   });
      });
  return answer;
}

void ViewApi::write_listed(std::string& body, const FleetRow& row, Reasons reasons) const {
  const bool of_service = parts_.front != nullptr;
  const RevisionId series = of_service ? RevisionId{row.id.space, row.service} : row.id;
  write_row(body, row, reasons,
            parts_.view.series().spark(series, whole_seconds(parts_.clock.now()), Figure::rps));
}

ApiAnswer ViewApi::of_service(const Asked& asked) const {
  const Path& path = asked.target.path;
  const ServiceName name{path[3], path[4]};
  const Revision* const revision = parts_.api.find(name);
  if (revision == nullptr) return whole_answer(problem_answer(parts_.api.no_such_service(name)));
  return path[5] == "series" ? series(asked, *revision) : cold_starts(asked, *revision);
}

ApiAnswer ViewApi::series(const Asked& asked, const Revision& revision) const {
  const ApiTarget& target = asked.target;
  const auto from = since_in(target, "5m", asked.now);
  if (!from) return whole_answer(problem_answer(from.error()));
  const std::int64_t end = whole_seconds(asked.now);
  const std::int64_t begin = whole_seconds(std::max(*from, asked.now - kSeriesMax));
  std::int64_t step = end - begin <= kStepsOfSeconds ? 1 : kLongStep;
  if (target.query.contains("step")) {
    const auto age = parse_age(target.text("step"));
    step = age ? std::chrono::duration_cast<std::chrono::seconds>(*age).count() : 0;
    if (step < 1 || step > kStepMax) {
      return bad("step", target.text("step"), "give a time of 1s to 1h");
    }
  }
  const SeriesBook& book = parts_.view.series();
  const RevisionId id = parts_.view.series_of(revision);
  SeriesRange range = SeriesBook::whole_steps(begin, end, step);
  ApiAnswer answer;
  answer.body = "{\"start\":" + std::to_string(range.from) +
                ",\"step_ms\":" + std::to_string(range.step_s * 1000) +
                ",\"columns\":" + point_columns() + ",\"rows\":[";
  if (!book.has(id)) range.to = range.from;
  answer.parts = [&book, id, range, comma = ""](std::string& body) mutable {
    const std::int64_t to = std::min(range.to, range.from + kRowsInPart * range.step_s);
    const SeriesSlice slice = book.read(id, range.from, to, range.step_s);
    const auto rows = static_cast<std::size_t>(std::max<std::int64_t>(0, to - range.from)) /
                      static_cast<std::size_t>(range.step_s);
    for (std::size_t i = 0; i < rows; ++i) {
      body += std::exchange(comma, ",");
      if (i < slice.rows.size() && slice.rows[i]) {
        write_point(body, *slice.rows[i]);
      } else {
        body += "null";
      }
    }
    range.from = to;
    if (range.from < range.to) return true;
    body += "]}\n";
    return false;
  };
  return answer;
}

ApiAnswer ViewApi::cold_starts(const Asked& asked, const Revision& revision) const {
  const auto from = since_in(asked.target, "24h", asked.now);
  if (!from) return whole_answer(problem_answer(from.error()));
  ApiAnswer answer;
  answer.parts = parts_of_records(parts_.history.cold_starts(revision.facts(), *from),
                                  {0, History::kColdStartsShown});
  return answer;
}

ApiAnswer ViewApi::memory() const {
  if (parts_.front == nullptr) {
    return whole_answer(
        problem_answer(http::no_such_path("/api/v1/memory", "of a cluster see GET /api/v1/nodes")));
  }
  json body = parts_.front->memory();
  if (!body.is_null()) return whole_answer(http::json_answer(body));
  return whole_answer(problem_answer({503, "memory-unknown", "Memory not known",
                                      "the memory of this machine cannot be read", ""}));
}

ApiAnswer ViewApi::live(const Asked& asked) {
  const ApiTarget& target = asked.target;
  api::EventRing& ring = parts_.api.events();
  const std::string view = target.text("view");
  const std::string& last = asked.request.last_event_id;
  const auto id = last.empty() ? std::optional{ring.last_id()} : whole_number<std::uint64_t>(last);
  if (!id) return bad("Last-Event-ID", last, "give the id of an event, or leave it out");
  if (view != "fleet" && view != "service") {
    return bad("view", view, "view=fleet, or view=service with ns and name");
  }
  const Revision* revision = nullptr;
  const ServiceName name{target.text("ns"), target.text("name")};
  if (view == "service") {
    for (const char* const key : {"ns", "name"}) {
      if (target.text(key).empty()) return bad(key, {}, "view=service needs ns and name");
    }
    revision = parts_.api.find(name);
    // Another replica may have it.
    if (revision == nullptr && (!peer_live_ || peer_live_->is_all_here())) {
      return whole_answer(problem_answer(parts_.api.no_such_service(name)));
    }
  }
  const auto proof = static_cast<std::size_t>(asked.request.proof);
  if ((*streams_)[proof] >= kStreamsMax) {
    return whole_answer(
        problem_answer({503, "too-many-streams", "Too many streams",
                        "the API serves " + std::to_string(kStreamsMax) + " live streams at a time",
                        "close some pages, or hide them: a page that is not shown has no stream"}));
  }
  ApiAnswer answer;
  answer.content_type = "text/event-stream";
  if (asked.request.method == "HEAD") return answer;
  // Of another start, or of a later time of this one. What other replicas said is not kept here.
  const bool unknown = *id > ring.last_id() || (is_shared() && !last.empty());
  answer.body = "id: " + std::to_string(unknown ? ring.last_id() : *id) +
                "\nevent: hello\ndata: " + json_line(constants()) + "\n\n" +
                (unknown ? kStreamReset : "");
  const bool of_one = view == "service";
  const std::string shown = revision == nullptr ? name.name : revision->facts().service;
  api::ApiStream stream{.filter = live_events(of_one ? name.space : std::string{}),
                        .after = unknown ? ring.last_id() : *id,
                        .text_of =
                            [service = of_one ? shown : std::string{},
                             proof = asked.request.proof](const api::Event& event) {
                              const bool is_of = service.empty() || event.key.service.empty() ||
                                                 event.key.service == service;
                              return is_of ? live_text(event, proof) : std::string{};
                            },
                        .missed_text = kStreamReset};
  if (of_one) {
    stream.states = live_.service(name);
  } else {
    RowFilter filter{.query = {.text = target.text("q")}};
    const std::string rows = target.text("rows");
    for (const std::string_view each : http::parts_of(rows, ',')) {
      if (filter.names.size() < kNamesMax) filter.names.emplace(each);
    }
    stream.states = live_.fleet(std::move(filter), asked.reasons());
  }
  ++(*streams_)[proof];
  stream.hold =
      std::shared_ptr<void>(nullptr, [streams = streams_, proof](void*) { --(*streams)[proof]; });
  answer.stream = std::move(stream);
  return answer;
}

void ViewApi::join_events(ApiAnswer& answer, const ApiTarget& target) {
  if (!answer.stream || !is_shared() || target.flag(Peers::kHere)) return;
  const ServiceName name{target.text("namespace"), target.text("service")};
  answer.stream->states = live_.events(answer.stream->filter);
  // What others have said before is not kept here.
  const bool resumed = answer.stream->after != parts_.api.events().last_id();
  const std::string first =
      resumed ? ": sluice events\n\n: missed events of other replicas\n\n" : std::string{};
  const auto begin = [this, first](const ApiAnswer::Later& done) {
    peer_live_->when_heard([first, done] { done({200, "text/event-stream", first, {}}); });
  };
  answer.later = [this, name, begin](const ApiAnswer::Later& done) {
    if (name.space.empty() || name.name.empty()) return begin(done);
    peer_live_->find(name, [name, begin, done](const ServiceFinder::Found& found) {
      const bool unknown =
          found.where == ServiceFinder::Found::Where::nowhere && !found.missing.empty();
      if (!unknown) return begin(done);
      done(problem_answer(
          replica_missing("service " + name.space + "/" + name.name, found.missing)));
    });
  };
}

}  // namespace sluice::autoscaler
