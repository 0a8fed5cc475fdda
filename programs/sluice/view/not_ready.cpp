#include "programs/sluice/view/not_ready.h"

#include "common/json/read.h"

#include <nlohmann/json.hpp>

#include "programs/sluice/view/fields.h"

namespace sluice::view {
namespace {

using nlohmann::json;

std::string line_of(const json& one) {
  const std::string revision = text_field(one, "revision");
  const std::string state = text_field(one, "state");
  const std::string why = text_field(one, "why");
  std::string line = revision;
  line += " ";
  line += state == "failing"      ? "does not start"
          : state == "given_up"   ? kDidNotStart
          : state == "restarting" ? "restarts"
          : state == "short"      ? "has fewer replicas than it wants"
                                  : "is not ready";
  if (!why.empty()) line += ": " + why;
  const std::string serving = serving_text(one);
  return line + (serving.empty() ? "" : "; " + serving);
}

}  // namespace

std::string serving_text(const json& object) {
  const std::vector<std::string> names = reading::strings(object, "serving");
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + printable(names[i]);
  }
  return text + (names.empty() ? "" : names.size() == 1 ? " serves" : " serve");
}

std::vector<std::string> not_ready_lines(const json& service) {
  std::vector<std::string> lines;
  for (const json& one : reading::array(service, "not_ready")) lines.push_back(line_of(one));
  return lines;
}

std::string why_text(const json& service) {
  const json& all = reading::array(service, "not_ready");
  if (all.empty()) return text_field(service, "why");
  const json& newest = all.front();
  const std::string why = text_field(newest, "why");
  if (text_field(newest, "revision") != text_field(service, "revision")) {
    return not_ready_lines(service).front();
  }
  return why.empty() ? text_field(service, "why") : why;
}

}  // namespace sluice::view
