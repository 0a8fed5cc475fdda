#include "platform/directory/scale_file.h"

#include "common/files/json_file.h"
#include "common/files/revision_file.h"
#include "common/json/fields.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <set>

namespace sluice::files {
namespace {

using nlohmann::json;

constexpr std::int64_t kReplicasMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kVersionMax = std::numeric_limits<std::int64_t>::max();

}  // namespace

Result<ScaleFile, Problem> parse_scale_file(std::string_view text) {
  json document;
  if (auto problem = parse_file(text, document)) return std::move(*problem);
  reading::Findings findings;
  reading::Fields fields{document, "", findings};
  ScaleFile file;
  file.version = static_cast<std::uint64_t>(fields.integer("version", 0, 0, kVersionMax));
  // A missing number is no zero: it would stop everything.
  const std::int64_t replicas = fields.integer("replicas", -1, 0, kReplicasMax);
  if (replicas < 0) fields.refuse("replicas", "is missing", "how many replicas should run");
  file.replicas = static_cast<std::int32_t>(replicas);
  std::set<std::string_view> names;
  if (const json* const list = fields.array("remove", kPodsMax)) {
    for (const json& item : *list) {
      if (!item.is_string() || !names.insert(item.get_ref<const std::string&>()).second) {
        fields.refuse("remove", reading::shown(item.dump()) + " is not a name, or is listed twice",
                      "unique names of pods");
        break;
      }
      file.remove.push_back({item.get<std::string>()});
    }
  }
  if (findings.problem) return *findings.problem;
  return file;
}

std::string write_scale_file(const ScaleFile& file) {
  json remove = json::array();
  for (const PodId& pod : file.remove) remove.push_back(pod.name);
  const json document = {
      {"version", file.version}, {"replicas", file.replicas}, {"remove", std::move(remove)}};
  return json_line(document) + "\n";
}

}  // namespace sluice::files
