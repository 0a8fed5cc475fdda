#include "programs/sluice/view/policies_text.h"

#include "common/json/read.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "programs/sluice/view/fields.h"
#include "programs/sluice/view/tables.h"
#include <vector>

namespace sluice::view {
namespace {

using nlohmann::json;

std::string joined(const json& words) {
  std::string text;
  for (const json& word : words) {
    if (word.is_string()) text += (text.empty() ? "" : ", ") + printable(word.get<std::string>());
  }
  return text;
}

// "in-flight 0.25, restart-cost -"
std::string values_text(const json& service) {
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  if (const auto score = reading::number(service, "score"))
    add("score", fmt::format("{:.2f}", *score));
  for (const json& each : reading::array(service, "values")) {
    const auto value = reading::number(each, "value");
    add(text_field(each, "algorithm"), value ? fmt::format("{:.2f}", *value) : "-");
  }
  return text.empty() ? "-" : text;
}

void add_rows(const json& place, std::vector<std::vector<std::string>>& rows) {
  std::string name = text_field(place, "place");
  int number = 0;
  for (const json& service : reading::array(place, "services")) {
    const std::int64_t priority = integer_field(service, "move_priority");
    const std::string values = values_text(service);
    rows.push_back({name, std::to_string(++number), text_field(service, "service"),
                    priority == 0 ? values : fmt::format("move-priority {}, {}", priority, values),
                    text_field(service, "why")});
  }
  for (const json& service : reading::array(place, "stay")) {
    rows.push_back(
        {name, "-", text_field(service, "service"), "stays", text_field(service, "why")});
  }
  if (reading::array(place, "services").empty() && reading::array(place, "stay").empty()) {
    rows.push_back({name, "-", "none", "-", "-"});
  }
}

}  // namespace

std::string policies_text(const json& policies) {
  std::string text;
  for (const json& policy : policies) {
    const std::string decides = joined(reading::array(policy, "decides"));
    text += fmt::format("\n{}  {}, {}; {}\n", text_field(policy, "name"),
                        text_field(policy, "mode"), text_field(policy, "select"),
                        decides.empty() ? "never used: others come first" : "for " + decides);
    std::vector<std::vector<std::string>> rows = {{"PLACE", "#", "SERVICE", "VALUES", "WHY"}};
    for (const json& place : reading::array(policy, "places")) add_rows(place, rows);
    text += table_text(rows);
  }
  return text;
}

}  // namespace sluice::view
