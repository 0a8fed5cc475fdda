// What a stream would have said since then, as one answer: other replicas ask it each second.

#include "autoscaler/io/api_routes.h"
#include "autoscaler/io/view_api.h"
#include "common/json/write.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

using api::ApiAnswer;
using api::Proof;
using http::problem_answer;
using nlohmann::json;

constexpr std::size_t kChangesMax = 100;  // rows, and events, in one answer

// What another replica has of this one: `START-ROWS-EVENT`.
struct Heard {
  std::int64_t start = 0;   // which start of this program
  std::uint64_t rows = 0;   // version of the rows
  std::uint64_t event = 0;  // its id

  [[nodiscard]] std::string text() const {
    return std::to_string(start) + "-" + std::to_string(rows) + "-" + std::to_string(event);
  }
};

std::optional<Heard> read_heard(const std::string& text) {
  const auto parts = http::parts_of(text, '-');
  if (parts.size() != 3) return std::nullopt;
  const auto start = whole_number<std::int64_t>(parts[0]);
  const auto rows = whole_number<std::uint64_t>(parts[1]);
  const auto event = whole_number<std::uint64_t>(parts[2]);
  if (!start || !rows || !event) return std::nullopt;
  return Heard{*start, *rows, *event};
}

// An answer that is being written.
struct Changes {
  Heard heard;
  bool reset = false;
  bool more = false;
  std::string text{};
};

void add_events(Changes& changes, const api::EventRing& ring, const std::string& space,
                const std::string& service, Proof proof) {
  const api::EventRing::Backlog backlog = ring.after(changes.heard.event, live_events(space));
  changes.reset = changes.reset || backlog.missed > 0;
  changes.text += ",\"events\":[";
  std::size_t count = 0;
  std::uint64_t taken = ring.last_id();
  for (const auto& event : backlog.events) {
    if (count == kChangesMax) {
      taken = event->id - 1;
      changes.more = true;
      break;
    }
    const bool is_of =
        service.empty() || event->key.service.empty() || event->key.service == service;
    const auto data = is_of ? event_data(*event, proof) : std::nullopt;
    if (!data) continue;
    changes.text += count++ > 0 ? "," : "";
    changes.text += "{\"type\":" + quoted(live_type(*event, *data)) + ",\"data\":" + *data + "}";
  }
  changes.heard.event = taken;
  changes.text += "]";
}

void add_rows(Changes& changes, const FleetRows& rows, Reasons reasons) {
  const auto since = rows.changes_since(changes.heard.rows, kChangesMax);
  changes.reset = changes.reset || !since;
  changes.heard.rows = since ? since->version : rows.version();
  changes.more = changes.heard.rows < rows.version();
  changes.text += ",\"rows\":[";
  const char* comma = "";
  json names = json::array();
  if (since) {
    for (const FleetRows::Kept* const kept : since->rows) {
      changes.text += std::exchange(comma, ",");
      write_row(changes.text, kept->row, reasons);
    }
    for (const FleetRows::Gone* const each : since->gone) {
      if (rows.find(each->id) != nullptr) continue;
      names.push_back(
          {{"namespace", each->id.space}, {"name", each->service}, {"revision", each->id.name}});
    }
  }
  changes.text += "],\"gone\":" + json_line(names);
}

}  // namespace

ApiAnswer ViewApi::changes(const api::ApiRequest& request, const http::ApiTarget& target) const {
  const auto refused = [](http::ApiProblem problem) {
    return ApiAnswer{problem_answer(problem), {}, {}, {}};
  };
  const api::EventRing& ring = parts_.api.events();
  const std::int64_t start = facts_.program.started.time_since_epoch().count();
  Changes changes{.heard = {start, parts_.view.rows().version(), ring.last_id()}};
  if (const std::string after = target.text("after"); !after.empty()) {
    const auto heard = read_heard(after);
    if (!heard) return refused(http::bad_parameter("after", after, "give `after` of an answer"));
    changes.reset = heard->start != start || heard->rows > changes.heard.rows ||
                    heard->event > changes.heard.event;
    if (!changes.reset) changes.heard = *heard;
  }
  if (target.text("view") == "fleet") {
    add_rows(changes, parts_.view.rows(),
             request.proof == Proof::none ? Reasons::hidden : Reasons::shown);
    add_events(changes, ring, {}, {}, request.proof);
    changes.text += ",\"overview\":" + json_line(figures());
  } else if (target.text("view") == "service") {
    const ServiceName name{target.text("ns"), target.text("name")};
    const Revision* const revision = parts_.api.find(name);
    if (revision == nullptr) return refused(parts_.api.no_such_service(name));
    add_events(changes, ring, name.space, revision->facts().service, request.proof);
    changes.text += "," + live_.sample_of(*revision);
  } else {
    return refused(http::bad_parameter("view", target.text("view"),
                                       "view=fleet, or view=service with ns and name"));
  }
  ApiAnswer answer;
  answer.body = "{\"after\":" + quoted(changes.heard.text()) +
                (changes.reset ? ",\"reset\":true" : "") + (changes.more ? ",\"more\":true" : "") +
                changes.text + "}\n";
  return answer;
}

}  // namespace sluice::autoscaler
