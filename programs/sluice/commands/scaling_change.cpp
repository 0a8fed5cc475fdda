#include "programs/sluice/commands/scaling_change.h"

#include "common/scaling/annotations.h"
#include "common/values/closest_name.h"
#include "common/values/go_syntax.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::commands {
namespace {

using autoscaler::GivenScaling;

constexpr std::string_view kPrefix = "autoscaling.knative.dev/";

// minScale is min-scale.
std::string dashed(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool large = c >= 'A' && c <= 'Z';
    if (large) result += '-';
    result += large ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

// The key of an annotation, by its whole name, its short one or its alias; empty when it is none.
std::string annotation_of(const std::string& key) {
  const std::string name = key.starts_with(kPrefix) ? key.substr(kPrefix.size()) : key;
  std::string whole = std::string{kPrefix} + dashed(name);
  const auto all = autoscaler::annotation_keys();
  if (std::find(all.begin(), all.end(), whole) != all.end()) return whole;
  return key == autoscaler::kBurstHysteresis ? key : std::string{};
}

bool is_config(const std::string& key) {
  const auto all = autoscaler::cluster_config_keys();
  return std::any_of(all.begin(), all.end(),
                     [&key](const autoscaler::ClusterKey& each) { return each.name == key; });
}

Problem unknown(const std::string& flag, const std::string& key) {
  std::vector<std::string> known;
  for (const std::string& each : autoscaler::annotation_keys()) {
    known.push_back(each.substr(kPrefix.size()));
  }
  for (const autoscaler::ClusterKey& each : autoscaler::cluster_config_keys()) {
    known.push_back(each.name);
  }
  const auto meant = closest_name(key, known);
  return {flag + ": unknown setting " + key,
          meant ? "did you mean " + *meant + "?"
                : "give a key of autoscaling.knative.dev/ or of config-autoscaler, such as target"};
}

}  // namespace

Result<ScalingEdits, Problem> ScalingEdits::parse(const std::vector<std::string>& sets,
                                                  std::string flag) {
  ScalingEdits edits;
  edits.flag_ = std::move(flag);
  for (const std::string& each : sets) {
    const std::size_t equals = each.find('=');
    const std::string key = each.substr(0, equals);
    if (equals == std::string::npos || key.empty()) {
      return Problem{edits.flag_ + ": " + each + " is not KEY=VALUE",
                     "give it like --set target=50"};
    }
    const std::string value = each.substr(equals + 1);
    // The reference lets a service have them, and then decides nothing.
    if (const auto number = read_go_float(value); number && !std::isfinite(*number)) {
      return Problem{
          edits.flag_ + ": " + each + " is no finite number, from which nothing can be decided",
          "give a finite number"};
    }
    if (const std::string annotation = annotation_of(key); !annotation.empty()) {
      edits.annotations_[annotation] = value;
    } else if (is_config(key)) {
      edits.config_[key] = value;
    } else {
      return unknown(edits.flag_, key);
    }
    edits.text_ += (edits.text_.empty() ? "" : " ") + each;
  }
  return edits;
}

void ScalingEdits::replace_service(autoscaler::StringMap annotations,
                                   std::int64_t container_concurrency) {
  service_ = Service{std::move(annotations), container_concurrency};
}

bool ScalingEdits::sets(const char* name) const {
  return service_ || autoscaler::find_annotation(annotations_, name) || config_.contains(name);
}

Result<GivenScaling, Problem> ScalingEdits::edited(const GivenScaling& given) const {
  GivenScaling changed = given;
  if (service_) {
    changed.annotations = service_->annotations;
    changed.container_concurrency = service_->container_concurrency;
  }
  for (const auto& [key, value] : annotations_) changed.annotations[key] = value;
  auto config = autoscaler::parse_cluster_config(config_, given.config);
  if (!config) return config.error();
  changed.config = *config;
  return changed;
}

std::optional<Problem> ScalingEdits::problem_with(const GivenScaling& given) const {
  const auto changed = edited(given);
  if (!changed) return refused(changed.error());
  const auto problems = autoscaler::check_annotations(changed->annotations, changed->config);
  if (problems.empty()) return std::nullopt;
  return refused(problems.front().problem);
}

Problem ScalingEdits::refused(const Problem& problem) const {
  const std::string flags = !has_spec()     ? flag_ + ": "
                            : text_.empty() ? "--spec: "
                                            : "--spec, " + flag_ + ": ";
  return {flags + problem.what, problem.fix};
}

autoscaler::ScalingSpec ScalingEdits::apply(const autoscaler::ScalingSpec& recorded,
                                            const GivenScaling& given) const {
  const auto resolved = [](const GivenScaling& from) {
    return autoscaler::resolve(from.config, from.annotations, from.container_concurrency,
                               from.reachability);
  };
  const auto changed = edited(given);
  if (!changed) return recorded;
  autoscaler::ScalingSpec spec = resolved(*changed);
  const autoscaler::Bounds before = resolved(given).bounds;
  if (recorded.bounds.min != before.min && !sets("min-scale"))
    spec.bounds.min = recorded.bounds.min;
  if (recorded.bounds.max != before.max && !sets("max-scale"))
    spec.bounds.max = recorded.bounds.max;
  return spec;
}

autoscaler::BoundsInput ScalingEdits::apply(autoscaler::BoundsInput recorded) const {
  if (sets("min-scale")) recorded.min.reset();
  if (sets("max-scale")) recorded.max.reset();
  return recorded;
}

}  // namespace sluice::commands
