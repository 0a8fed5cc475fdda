#include "tests/unit/injector/pods.h"

namespace sluice::injector {

Json plain_pod() {
  return Json::parse(R"({
    "metadata": {"labels": {"app": "shop"}},
    "spec": {"containers": [
      {"name": "app", "image": "shop:1", "ports": [{"name": "web", "containerPort": 8080}]}]}})");
}

InjectionSettings usual_settings() {
  InjectionSettings settings;
  settings.image = "sluice.dev/queue-proxy:1.0.0";
  settings.version = "1.0.0";
  return settings;
}

PodOwner shop() {
  return {.name = "shop", .scaler = std::nullopt};
}

Json injected(const Json& pod, const PodOwner& owner, const InjectionSettings& settings) {
  Json copy = pod;
  const Verdict verdict = inject(copy, owner, settings);
  return verdict.kind == Verdict::Kind::patched ? copy : Json(verdict.why.text());
}

const Json& sidecar_of(const Json& pod) {
  static const Json kNone;
  for (const char* list : {"initContainers", "containers"}) {
    const Json* found = named(array(member(pod, "spec"), list), "queue-proxy");
    if (found != nullptr) return *found;
  }
  return kNone;
}

std::map<std::string, std::string> variables_of(const Json& pod) {
  std::map<std::string, std::string> variables;
  for (const Json& one : array(sidecar_of(pod), "env")) {
    const std::string field = text(member(member(one, "valueFrom"), "fieldRef"), "fieldPath");
    variables[text(one, "name")] = field.empty() ? text(one, "value") : "<" + field + ">";
  }
  return variables;
}

std::string told(const Json& pod, const PodOwner& owner, const InjectionSettings& settings) {
  Json copy = pod;
  const Verdict verdict = inject(copy, owner, settings);
  if (verdict.kind == Verdict::Kind::patched) return "patched";
  if (copy != pod) return "changed without being patched";
  const bool skipped = verdict.kind == Verdict::Kind::skipped;
  return (skipped ? "skipped: " : "refused: ") + verdict.why.text();
}

Json annotated(Json pod, const std::string& key, const std::string& value) {
  pod["metadata"]["annotations"][key] = value;
  return pod;
}

}  // namespace sluice::injector
