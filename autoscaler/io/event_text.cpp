// Events and lines of output as the API writes them.

#include "autoscaler/io/api_routes.h"
#include "autoscaler/io/shown_facts.h"
#include "common/base/clean_text.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace sluice::autoscaler {

using api::Event;
using api::Proof;
using nlohmann::json;

namespace {

// By name: a type of event that is new is for the engine's user alone until it stands here.
constexpr std::array<std::string_view, 8> kForAll{"engine",     "service", "replica", "decision",
                                                  "cold_start", "place",   "move",    "memory"};
constexpr std::array<std::string_view, 3> kForOwnUser{"warning", "error", "log"};

bool is_among(std::span<const std::string_view> types, std::string_view type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

}  // namespace

Result<std::vector<std::string>, http::ApiProblem> event_types(std::string_view list) {
  std::vector<std::string> types;
  for (const std::string_view type : http::parts_of(list, ',')) {
    if (!is_among(kForAll, type) && !is_among(kForOwnUser, type)) {
      std::string fix = "give some of";
      for (const std::string_view each : kForAll) fix.append(" ").append(each);
      for (const std::string_view each : kForOwnUser) fix.append(" ").append(each);
      return http::bad_parameter("types", type, std::move(fix));
    }
    types.emplace_back(type);
  }
  return types;
}

bool hide_failures(json& body) {
  if (!body.is_object()) return false;
  const bool failing = body.value("failing", false);
  if (failing) body["why"] = "replicas fail to start; the user who runs the engine can see why";
  const bool ended = body.erase("stderr_tail") > 0;
  if (ended) body.erase("why");
  const auto others = body.find("not_ready");
  const bool listed = others != body.end() && others->is_array() && !others->empty();
  if (listed) {
    for (json& one : *others) one.erase("why");
  }
  return failing || ended || listed;
}

std::optional<std::string> event_data(const Event& event, Proof proof) {
  if (proof != Proof::none) return event.data();
  if (!is_among(kForAll, event.key.type)) return std::nullopt;
  json body = reading::parsed(event.data());
  if (!body.is_object()) return std::nullopt;
  return hide_failures(body) ? json_line(body) : event.data();
}

std::string sse_text(const Event& event, Proof proof) {
  const auto data = event_data(event, proof);
  if (!data) return {};
  return "id: " + std::to_string(event.id) + "\nevent: " + event.key.type + "\ndata: " + *data +
         "\n\n";
}

std::string output_text(const OutputLine& line, bool times) {
  std::string text;
  if (times) text += line.time + " ";
  text += line.replica;
  if (times && line.start > 0) text += "#" + std::to_string(line.start);
  return text + " | " + clean_text(line.text) + "\n";
}

std::string log_line_of(const Event& event, bool times) {
  const json body = reading::parsed(event.data());
  if (!body.is_object()) return {};
  OutputLine line{.time = reading::text(body, "time"),
                  .replica = reading::text(body, "replica"),
                  .start = reading::whole(body, "start").value_or(0),
                  .text = reading::text(body, "text")};
  if (line.replica.empty()) line.replica = "?";
  return output_text(line, times);
}

}  // namespace sluice::autoscaler
