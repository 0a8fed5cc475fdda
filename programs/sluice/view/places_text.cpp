#include "programs/sluice/view/places_text.h"

#include "common/json/read.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "programs/sluice/view/fields.h"
#include "programs/sluice/view/tables.h"
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::view {
namespace {

using nlohmann::json;

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kGibibyte = 1024.0 * kMebibyte;
constexpr double kMillicores = 1000;

const json& amounts_of(const json& place, const char* which) {
  static const json kNone = json::object();
  const auto found = place.find(which);
  return found != place.end() && found->is_object() ? *found : kNone;
}

// `612 MiB`, `1 GiB`, `3.9 GiB`.
std::string memory_text(double bytes) {
  if (bytes < kGibibyte) return fmt::format("{:.0f} MiB", bytes / kMebibyte);
  const std::string text = fmt::format("{:.1f}", bytes / kGibibyte);
  return (text.ends_with(".0") ? text.substr(0, text.size() - 2) : text) + " GiB";
}

// `0.8`, `1`, `0.25`.
std::string cores_text(double millicores) {
  return fmt::format("{:g}", millicores / kMillicores);
}

template <class Text>
std::string used_of(const json& place, const char* amount, bool shown_unbounded, Text text) {
  const double used = reading::number(amounts_of(place, "used"), amount).value_or(0);
  const auto capacity = reading::number(amounts_of(place, "capacity"), amount);
  if (!capacity) return shown_unbounded ? text(used) : "-";
  return text(used) + " of " + text(*capacity);
}

// What is claimed of the CPU that the place has; where it has cores alone, what is used of those.
std::string cpu_text(const json& place) {
  const auto cores = reading::number(place, "cores");
  if (!cores || reading::number(amounts_of(place, "capacity"), "cpu_millicores")) {
    return used_of(place, "cpu_millicores", false, cores_text);
  }
  const double used = reading::number(place, "cpu_use_millicores").value_or(0);
  return fmt::format("{:.1f} of {:g}", used / kMillicores, *cores);
}

// Of what bounds a replica there.
std::string hole_text(const json& place) {
  const json& hole = amounts_of(place, "largest_hole");
  const auto replicas = reading::number(hole, "replicas");
  const auto cpu = reading::number(hole, "cpu_millicores");
  const auto memory = reading::number(hole, "memory_bytes");
  const auto none = [](const std::optional<double>& amount) { return amount && *amount <= 0; };
  if (none(replicas) || none(cpu) || none(memory)) return "no replica";
  if (memory) return memory_text(*memory);
  if (cpu) return cores_text(*cpu) + " CPU";
  if (replicas) return fmt::format("{:.0f} {}", *replicas, *replicas == 1 ? "replica" : "replicas");
  return "-";
}

// Of revisions of one service the sum.
std::string services_text(const json& place) {
  std::vector<std::pair<std::string, std::int64_t>> services;
  for (const json& service : reading::array(place, "services")) {
    const std::string name = text_field(service, "name");
    const auto found = std::find_if(services.begin(), services.end(),
                                    [&name](const auto& each) { return each.first == name; });
    if (found == services.end()) {
      services.emplace_back(name, integer_field(service, "replicas"));
    } else {
      found->second += integer_field(service, "replicas");
    }
  }
  std::string text;
  for (const auto& [name, replicas] : services) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, replicas);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::string places_text(const json& places) {
  std::vector<std::vector<std::string>> rows = {
      {"PLACE", "PREF", "STATE", "REPLICAS", "CPU", "MEMORY", "LARGEST HOLE", "SERVICES"}};
  for (const json& place : places) {
    rows.push_back({text_field(place, "name"), std::to_string(integer_field(place, "preference")),
                    text_field(place, "state"),
                    used_of(place, "replicas", true,
                            [](double count) { return fmt::format("{:.0f}", count); }),
                    cpu_text(place), used_of(place, "memory_bytes", false, memory_text),
                    hole_text(place), services_text(place)});
  }
  return table_text(rows);
}

std::string shares_text(const json& decision) {
  std::string text;
  for (const json& share : reading::array(decision, "places")) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", text_field(share, "name"),
                        integer_field(share, "replicas"));
  }
  return text;
}

}  // namespace sluice::view
