#include "autoscaler/io/view_json.h"

#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

constexpr std::string_view kHiddenWhy =
    "replicas fail to start; the user who runs the engine can see why";
constexpr double kShown = 1000;  // three digits after the point
constexpr double kWholeMax = 1e15;

void write_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> digits{};
  char* const begin = digits.data();
  char* const bound = begin + digits.size();
  const double shown = std::round(value * kShown) / kShown;
  // Most are counts, of which a whole number is written in a tenth of the time.
  const bool whole = std::abs(shown) < kWholeMax && shown == std::trunc(shown);
  const auto end = whole ? std::to_chars(begin, bound, static_cast<std::int64_t>(shown))
                         : std::to_chars(begin, bound, shown);
  out.append(begin, end.ptr);
}

void write_key(std::string& out, std::string_view name) {
  if (out.back() != '{') out += ',';
  out.append("\"").append(name).append("\":");
}

// In ASCII and without what a JSON string escapes.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

void write_text(std::string& out, std::string_view name, std::string_view text) {
  write_key(out, name);
  if (is_plain(text)) {
    out.append("\"").append(text).append("\"");
  } else {
    out += json_line(json(text));
  }
}

}  // namespace

void write_numbers(std::string& out, std::span<const float> numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    write_number(out, static_cast<double>(numbers[i]));
  }
  out += ']';
}

void write_row(std::string& out, const FleetRow& row, Reasons reasons,
               std::span<const float> points) {
  out += '{';
  write_text(out, "namespace", row.id.space);
  write_text(out, "name", row.service);
  write_text(out, "revision", row.id.name);
  write_text(out, "state", row.state);
  if (row.trouble.empty()) {
    write_key(out, "trouble");
    out += "null";
  } else {
    write_text(out, "trouble", row.trouble);
  }
  write_text(out, "mode", row.panic_since ? "panic" : "stable");
  const std::array<std::pair<std::string_view, double>, 12> numbers{
      {{"ready", row.ready},
       {"starting", row.starting},
       {"want", row.want},
       {"stable", row.stable},
       {"panic", row.panic},
       {"target", row.target},
       {"rps", row.rps},
       {"queued", row.queued},
       {"in_flight", row.in_flight},
       {"p50_ms", row.p50_ms},
       {"p99_ms", row.p99_ms},
       {"last_cold_start_ms", row.last_cold_start_ms.value_or(std::nan(""))}}};
  for (const auto& [name, value] : numbers) {
    write_key(out, name);
    write_number(out, value);
  }
  const bool hidden = row.state == "failing" && reasons == Reasons::hidden;
  write_text(out, "why", hidden ? kHiddenWhy : std::string_view{row.why});
  if (!points.empty()) {
    write_key(out, "points");
    write_numbers(out, points);
  }
  out += '}';
}

void write_point(std::string& out, const SeriesPoint& point) {
  write_numbers(out, point.figures);
  out.back() = ',';
  out += '[';
  for (std::size_t i = 0; i < kHeatBuckets; ++i) {
    if (i > 0) out += ',';
    out += std::to_string(point.latency[i]);
  }
  out += "]]";
}

std::string point_columns() {
  std::string out = "[";
  for (const std::string_view name : kFigureNames) out.append("\"").append(name).append("\",");
  return out + "\"latency\"]";
}

json tiles_json(const FleetTiles& tiles) {
  json services = {{"all", tiles.services}};
  for (std::size_t i = 0; i < tiles.states.size(); ++i) {
    services[std::string{FleetTiles::kStates[i]}] = tiles.states[i];
  }
  for (std::size_t i = 0; i < tiles.troubles.size(); ++i) {
    services[std::string{kTroubles[i]}] = tiles.troubles[i];
  }
  return {{"services", std::move(services)},
          {"ready", tiles.ready},
          {"want", tiles.want},
          {"rps", tiles.rps},
          {"queued", tiles.queued},
          {"in_flight", tiles.in_flight}};
}

}  // namespace sluice::autoscaler
