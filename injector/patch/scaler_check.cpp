#include "injector/patch/scaler_check.h"

#include "common/json/write.h"
#include "common/kube/request_scaler.h"
#include "common/scaling/annotations.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace sluice::injector {
namespace {

// More keys than the schema has; a client that sends them gets the names of annotations.
constexpr std::size_t kKeysMax = 64;

/// Settings as the autoscaler merges them.
kube::StringMap merged(const Json& annotations, const Json& autoscaling) {
  Json scaler;
  scaler["metadata"]["name"] = "any";
  scaler["metadata"]["annotations"] = annotations;
  scaler["spec"]["autoscaling"] = autoscaling;
  auto read = kube::decode_request_scaler(json_line(scaler));
  return read ? std::move(read->scaling) : kube::StringMap{};
}

/// The annotations that keys of spec.autoscaling stand for, and those keys.
std::map<std::string, std::string> written_keys(const Json& autoscaling) {
  std::map<std::string, std::string> places;
  if (!autoscaling.is_object() || autoscaling.size() > kKeysMax) return places;
  for (const auto& [key, value] : autoscaling.items()) {
    Json alone;
    alone[key] = value;
    for (const auto& [annotation, text] : merged({}, alone)) {
      places.emplace(annotation, "spec.autoscaling." + key);
    }
  }
  return places;
}

// In a sentence each key is followed by its value in quotes.
void rename(std::string& sentence, const std::string& key, const std::string& place) {
  const std::string quoted = key + " \"";
  const std::size_t at = sentence.find(quoted);
  if (at != std::string::npos) sentence.replace(at, key.size(), place);
}

// The injector does not know config-autoscaler: everything passes that it could allow. The
// condition Settings reports what it forbids.
autoscaler::ClusterConfig most_lenient() {
  autoscaler::ClusterConfig config;
  config.allow_zero_initial_scale = true;
  config.max_scale_limit = 0;
  return config;
}

}  // namespace

std::vector<Problem> check_scaler(const Json& scaler) {
  std::vector<Problem> problems;
  const Json& autoscaling = member(member(scaler, "spec"), "autoscaling");
  const Json& annotations = member(member(scaler, "metadata"), "annotations");
  const auto wrong =
      autoscaler::check_annotations(merged(annotations, autoscaling), most_lenient());
  if (wrong.empty()) return problems;
  const auto places = written_keys(autoscaling);
  for (const autoscaler::AnnotationProblem& each : wrong) {
    Problem problem = each.problem;
    for (const std::string& key : each.keys) {
      const auto place = places.find(key);
      if (place != places.end()) rename(problem.what, key, place->second);
    }
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace sluice::injector
