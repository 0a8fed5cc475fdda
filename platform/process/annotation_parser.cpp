#include "platform/process/annotation_parser.h"

#include "common/ignore/rules.h"
#include "common/scaling/annotations.h"
#include "common/scaling/placement_annotations.h"
#include "common/scaling/setting_names.h"
#include "common/values/closest_name.h"
#include "common/values/go_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::local {
namespace {

constexpr std::string_view kOurs = "sluice.dev/";
constexpr std::string_view kAutoscaling = "autoscaling.knative.dev/";
constexpr std::string_view kOurAutoscaling = "autoscaling.sluice.dev/";
constexpr std::string_view kClass = "autoscaling.knative.dev/class";
constexpr const char* kOfTemplate = "spec.template.metadata.annotations";

const std::vector<std::string> kServiceKeys{"sluice.dev/hosts"};
const std::vector<std::string> kTemplateKeys{"sluice.dev/port", "sluice.dev/stop-grace",
                                             "sluice.dev/start-timeout", "sluice.dev/throttle",
                                             std::string{kLoadBalancingKey}};

/// Keys under sluice.dev/ are ours, so a misspelt one is an error, not another program's
/// annotation.
void check_our_keys(YamlReader& reader, const YamlEntry& entry, const Annotations& annotations,
                    const std::vector<std::string>& here, const std::vector<std::string>& elsewhere,
                    const std::string& other_place) {
  for (const auto& [key, value] : annotations) {
    if (key.rfind(kOurs, 0) != 0) continue;
    if (std::find(here.begin(), here.end(), key) != here.end()) continue;
    const int line = annotation_entry(entry, key).line;
    if (std::find(elsewhere.begin(), elsewhere.end(), key) != elsewhere.end()) {
      reader.fail(line, fmt::format("`{}` does not belong here", key),
                  fmt::format("move it to {}", other_place));
      continue;
    }
    const auto meant = closest_name(key, here);
    reader.fail(line, fmt::format("unknown annotation `{}`", key),
                meant ? fmt::format("did you mean `{}`?", *meant)
                      : fmt::format("known are {}", fmt::join(here, ", ")));
  }
}

/// A cluster takes any annotation, so a misspelt one is reported and not refused.
void warn_of_unknown_scaling(YamlReader& reader, const YamlEntry& entry,
                             const Annotations& annotations) {
  const std::vector<std::string> known = autoscaler::annotation_keys();
  for (const auto& [key, value] : annotations) {
    if (key.rfind(kAutoscaling, 0) != 0) continue;
    const int line = annotation_entry(entry, key).line;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const auto meant = closest_name(key, known);
      reader.warn(line, fmt::format("`{}` is not a key of the autoscaler and has no effect{}", key,
                                    meant ? fmt::format("; did you mean `{}`?", *meant) : ""));
    } else if (key == kClass && value != autoscaler::kKnativeClass &&
               value != autoscaler::kOurClass) {
      reader.warn(line, fmt::format("`{}: {}` has no effect on one machine; services are scaled "
                                    "by concurrency or rps",
                                    key, value));
    }
  }
}

/// Knative takes NaN and infinity, and then no load ever wants a replica.
void check_finite(YamlReader& reader, const YamlEntry& entry, const Annotations& annotations) {
  for (const auto& [key, value] : annotations) {
    const auto number = key.starts_with(kAutoscaling) ? read_go_float(value) : std::nullopt;
    if (!number || std::isfinite(*number)) continue;
    reader.fail(annotation_entry(entry, key).line,
                fmt::format("`{}: {}` is not finite", key, value), "give a number");
  }
}

/// Keys under autoscaling.sluice.dev/ are ours, too. The others of the autoscaler are judged by the
/// engine, which knows its settings, and what these forbid.
void check_scaling(YamlReader& reader, const YamlEntry& entry, const Annotations& annotations) {
  check_finite(reader, entry, annotations);
  const autoscaler::StringMap all{annotations.begin(), annotations.end()};
  const autoscaler::ClusterConfig allows_all{.allow_zero_initial_scale = true};
  for (const auto& wrong : autoscaler::check_annotations(all, allows_all)) {
    reader.fail(annotation_entry(entry, wrong.keys.front()).line, wrong.problem.what,
                wrong.problem.fix);
  }
  const auto text = [&annotations](std::string_view key) {
    const auto found = annotations.find(std::string{key});
    return found == annotations.end() ? std::string{} : found->second;
  };
  const auto check = [&](std::string_view key, const ignore::Rules& rules) {
    const int line = annotation_entry(entry, std::string{key}).line;
    for (const Problem& problem : rules.problems()) reader.fail(line, problem.what, problem.fix);
  };
  check(ignore::kPathsKey, ignore::Rules{text(ignore::kPathsKey), {}});
  check(ignore::kAgentsKey, ignore::Rules{{}, text(ignore::kAgentsKey)});
}

/// One that is misspelt gets both corrections at once.
void check_placement_is_elsewhere(YamlReader& reader, const YamlEntry& entry,
                                  const Annotations& annotations) {
  for (const auto& [key, value] : annotations) {
    if (!key.starts_with(autoscaler::kPlacementPrefix)) continue;
    const auto meant = closest_name(key, autoscaler::placement_keys());
    reader.fail(annotation_entry(entry, key).line, fmt::format("`{}` does not belong here", key),
                fmt::format("write `{}` under {}", meant.value_or(key), kOfTemplate));
  }
}

}  // namespace

Annotations read_annotations(YamlReader& reader, const YamlEntry& entry) {
  Annotations result;
  for (const YamlEntry& pair : reader.any_entries(entry.value, entry.line, entry.key)) {
    if (auto value = reader.text(pair)) result[pair.key] = std::move(*value);
  }
  return result;
}

YamlEntry annotation_entry(const YamlEntry& annotations, const std::string& key) {
  for (const auto& pair : annotations.value) {
    if (pair.first.IsScalar() && pair.first.Scalar() == key)
      return {key, pair.first.Mark().line + 1, pair.second};
  }
  return {key, annotations.line, YAML::Node()};
}

void check_service_annotations(YamlReader& reader, const YamlEntry& entry,
                               const Annotations& annotations) {
  check_our_keys(reader, entry, annotations, kServiceKeys, kTemplateKeys, kOfTemplate);
  check_placement_is_elsewhere(reader, entry, annotations);
  for (const auto& [key, value] : annotations) {
    if (key.starts_with(kAutoscaling) || key.starts_with(kOurAutoscaling)) {
      reader.warn(
          annotation_entry(entry, key).line,
          fmt::format("`{}` has no effect on the service; put it under {}", key, kOfTemplate));
    }
  }
}

void check_template_annotations(YamlReader& reader, const YamlEntry& entry,
                                const Annotations& annotations) {
  check_our_keys(reader, entry, annotations, kTemplateKeys, kServiceKeys, "metadata.annotations");
  warn_of_unknown_scaling(reader, entry, annotations);
  check_scaling(reader, entry, annotations);
}

model::PlacementWish read_placement_wish(YamlReader& reader, const YamlEntry& entry,
                                         const Annotations& annotations) {
  auto read = autoscaler::read_placement({annotations.begin(), annotations.end()});
  for (auto& wrong : read.problems) {
    reader.fail(annotation_entry(entry, wrong.keys.front()).line, std::move(wrong.problem.what),
                std::move(wrong.problem.fix));
  }
  return std::move(read.wish);
}

}  // namespace sluice::local
