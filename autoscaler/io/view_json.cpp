#include "autoscaler/io/view_json.h"

#include "common/json/read.h"
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
    out += quoted(std::string{text});
  }
}

// The one of `words` that is equal, which lives as long as the program; empty: none is.
template <std::size_t N>
std::string_view known_word(const std::array<std::string_view, N>& words, std::string_view text) {
  const auto found = std::find(words.begin(), words.end(), text);
  return found == words.end() ? std::string_view{} : *found;
}

}  // namespace

std::string quoted(const std::string& text) {
  return json_line(json(text));
}

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

std::optional<FleetRow> read_row(const json& row) {
  FleetRow read{.id = {reading::text(row, "namespace"), reading::text(row, "revision")},
                .service = reading::text(row, "name"),
                .state = known_word(FleetTiles::kStates, reading::text(row, "state")),
                .trouble = known_word(kTroubles, reading::text(row, "trouble")),
                .ready = reading::integer32(row, "ready", 0),
                .starting = reading::integer32(row, "starting", 0),
                .want = reading::integer32(row, "want", 0),
                .last_cold_start_ms = reading::number(row, "last_cold_start_ms"),
                .why = reading::text(row, "why")};
  if (read.id.space.empty() || read.id.name.empty() || read.state.empty()) return std::nullopt;
  if (reading::text(row, "mode") == "panic") read.panic_since = TimePoint{};
  const auto figure = [&row](const char* name) {
    return reading::number(row, name).value_or(std::nan(""));
  };
  read.stable = figure("stable");
  read.panic = figure("panic");
  read.target = figure("target");
  read.rps = figure("rps");
  read.queued = figure("queued");
  read.in_flight = figure("in_flight");
  read.p50_ms = figure("p50_ms");
  read.p99_ms = figure("p99_ms");
  return read;
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
