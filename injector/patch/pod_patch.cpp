// Injection only adds, but for the grace period. What it adds over an empty or null member, and the
// former grace period, stand in the annotation sluice.dev/before-injection; everything else follows
// from what is there. So restore() returns the original document, whatever happened meanwhile to
// the rest of it.

#include "injector/patch/pod_patch.h"

#include "common/json/write.h"
#include "common/kube/labels.h"

#include <nlohmann/json.hpp>

#include "injector/patch/names.h"
#include "injector/patch/pod_facts.h"
#include "injector/patch/sidecar_container.h"
#include <algorithm>
#include <array>

namespace sluice::injector {
namespace {

constexpr const char* kGrace = "terminationGracePeriodSeconds";
constexpr std::array kLists{"containers", "initContainers"};
constexpr const char* kCurrent = "it already has the sidecar of this version";

Verdict skipped(std::string why) {
  return {Verdict::Kind::skipped, {std::move(why), ""}};
}

const Json& annotations_of(const Json& pod) {
  return member(member(pod, "metadata"), "annotations");
}

const Json& labels_of(const Json& pod) {
  return member(member(pod, "metadata"), "labels");
}

bool has_sidecar(const Json& pod) {
  const Json& spec = member(pod, "spec");
  return std::any_of(kLists.begin(), kLists.end(), [&](const char* list) {
    return named(array(spec, list), kContainer) != nullptr;
  });
}

// A member that is there but says nothing would not come back by itself: it is written down.
Json& opened(Json& object, const char* key, const Json& fresh, Json& before,
             const std::string& place) {
  const auto found = object.find(key);
  if (found == object.end()) {
    object[key] = fresh;
  } else if (found->is_null() || found->empty()) {
    before["was"][place] = *found;
    *found = fresh;
  }
  return object[key];
}

void close(Json& object, const char* key, const Json& before, const std::string& place) {
  const auto found = object.find(key);
  if (found == object.end() || !found->empty()) return;
  const Json& was = member(before, "was");
  const auto written = was.is_object() ? was.find(place) : was.end();
  if (was.is_object() && written != was.end()) {
    *found = *written;
  } else {
    object.erase(key);
  }
}

bool is_our_hook(const Json& hook) {
  return hook.is_object() && text(member(hook, "httpGet"), "path") == kDrainPath;
}

// The app gets SIGTERM only when the sidecar has drained.
void hook_containers(Json& spec, const PodFacts& facts, Json& before) {
  Json hooks = Json::array();
  for (Json& container : spec["containers"]) {
    if (!member(member(container, "lifecycle"), "preStop").is_null()) continue;
    const std::string name = text(container, "name");
    Json& lifecycle = opened(container, "lifecycle", Json::object(), before, "lifecycle/" + name);
    lifecycle["preStop"] = {
        {"httpGet", {{"path", kDrainPath}, {"port", facts.admin.number}, {"scheme", "HTTP"}}}};
    hooks.push_back(name);
  }
  if (!hooks.empty()) before["hooks"] = std::move(hooks);
}

void unhook_containers(Json& spec, const Json& before) {
  const Json& hooks = array(before, "hooks");
  for (Json& container : spec["containers"]) {
    const std::string name = text(container, "name");
    const bool ours = std::find(hooks.begin(), hooks.end(), Json(name)) != hooks.end();
    if (!ours || !is_our_hook(member(member(container, "lifecycle"), "preStop"))) continue;
    container["lifecycle"].erase("preStop");
    close(container, "lifecycle", before, "lifecycle/" + name);
  }
}

void extend_grace(Json& spec, const PodFacts& facts, Json& before) {
  const auto own = spec.find(kGrace);
  const bool absent = own == spec.end() || own->is_null();
  // Absent is the API's default, and so is 30.
  if (whole(spec, kGrace).value_or(absent ? 30 : 0) == facts.grace_seconds) return;
  if (own != spec.end()) before["was"][kGrace] = *own;
  before["grace"] = facts.grace_seconds;
  spec[kGrace] = facts.grace_seconds;
}

// A later change by another program is kept.
void reset_grace(Json& spec, const Json& before) {
  const Json& given = member(before, "grace");
  if (given.is_null() || member(spec, kGrace) != given) return;
  const Json& was = member(before, "was");
  if (was.is_object() && was.contains(kGrace)) {
    spec[kGrace] = was.at(kGrace);
  } else {
    spec.erase(kGrace);
  }
}

Verdict put_in(Json& pod, const PodFacts& facts, const PodOwner& owner,
               const InjectionSettings& settings) {
  const Json sidecar = sidecar_container(pod, facts, owner, settings);
  Json before = Json::object();
  Json& metadata = opened(pod, "metadata", Json::object(), before, "metadata");
  opened(metadata, "labels", Json::object(), before, "labels")[std::string{kube::kSidecarLabel}] =
      kContainer;
  opened(metadata, "annotations", Json::object(), before, "annotations");
  Json& spec = pod["spec"];
  hook_containers(spec, facts, before);
  extend_grace(spec, facts, before);
  const char* list = settings.native ? "initContainers" : "containers";
  // Last of its list: it starts when the pod's own preparations are over, and as a native sidecar
  // it ends before the others, which may be its network.
  opened(spec, list, Json::array(), before, list).push_back(sidecar);
  Json& annotations = pod["metadata"]["annotations"];
  annotations[std::string{kInjected}] = settings.version;
  if (!before.empty()) annotations[std::string{kBefore}] = json_line(before);
  return {};
}

// Equal but for the order of keys, which another program may have changed.
bool same(const Json& one, const Json& other) {
  return nlohmann::json(one) == nlohmann::json(other);
}

std::optional<std::string> reason_to_skip(const Json& pod, const InjectionSettings& settings) {
  const Json& spec = member(pod, "spec");
  const std::string label = text(labels_of(pod), kInjectLabel);
  if (label == "false") return "the label " + std::string{kInjectLabel} + " is false";
  const std::string policy = text(spec, "restartPolicy");
  const bool ends = policy == "Never" || policy == "OnFailure";
  // An ordinary sidecar would keep it from ever ending, a native one while it drains.
  if (ends && !(settings.native && label == "true")) {
    return "it runs to completion (restartPolicy " + policy + "), which a sidecar would delay";
  }
  if (member(spec, "hostNetwork") == true) {
    return "it uses the host network, where the sidecar would take ports of the node";
  }
  const bool windows = text(member(spec, "os"), "name") == "windows" ||
                       text(member(spec, "nodeSelector"), "kubernetes.io/os") == "windows";
  if (windows) return "it runs on Windows";
  if (has_sidecar(pod)) {
    return "it has a container named " + std::string{kContainer} + " that is not a Sluice sidecar";
  }
  return std::nullopt;
}

}  // namespace

bool is_injected(const Json& pod) {
  return member(annotations_of(pod), kInjected).is_string() && has_sidecar(pod);
}

Verdict inject(Json& pod, const PodOwner& owner, const InjectionSettings& settings) {
  if (auto wrong = wrong_form(pod)) return {Verdict::Kind::refused, std::move(*wrong)};
  Json fresh = pod;
  if (is_injected(pod)) {
    const std::string version = text(annotations_of(pod), kInjected);
    if (!settings.renew && version == settings.version) return skipped(kCurrent);
    if (!settings.renew) return skipped("it has the sidecar of version " + version);
    restore(fresh);
  }
  if (auto reason = reason_to_skip(fresh, settings)) return skipped(std::move(*reason));
  const auto facts = read_facts(fresh, owner);
  if (!facts) return {Verdict::Kind::refused, facts.error()};
  Verdict verdict = put_in(fresh, *facts, owner, settings);
  if (is_injected(pod) && same(fresh, pod)) return skipped(kCurrent);
  pod = std::move(fresh);
  return verdict;
}

bool restore(Json& pod) {
  if (wrong_form(pod) || !is_injected(pod)) return false;
  const auto written = parse_json(text(annotations_of(pod), kBefore));
  const Json before = written && written->is_object() ? *written : Json::object();
  Json& spec = pod["spec"];
  for (const char* list : kLists) {
    if (named(array(spec, list), kContainer) == nullptr) continue;
    Json& containers = spec[list];
    const auto sidecar = std::find_if(containers.begin(), containers.end(), [](const Json& item) {
      return text(item, "name") == kContainer;
    });
    containers.erase(sidecar);
    close(spec, list, before, list);
  }
  unhook_containers(spec, before);
  reset_grace(spec, before);
  Json& metadata = pod["metadata"];
  if (metadata.contains("labels")) {
    if (metadata["labels"].is_object()) metadata["labels"].erase(std::string{kube::kSidecarLabel});
    close(metadata, "labels", before, "labels");
  }
  metadata["annotations"].erase(std::string{kInjected});
  metadata["annotations"].erase(std::string{kBefore});
  close(metadata, "annotations", before, "annotations");
  close(pod, "metadata", before, "metadata");
  return true;
}

std::string json_patch(const Json& before, const Json& after) {
  return json_line(Json::diff(before, after));
}

OwnerName owner_of(const Json& pod) {
  const Json& metadata = member(pod, "metadata");
  for (const Json& owner : array(metadata, "ownerReferences")) {
    if (member(owner, "controller") != true) continue;
    const std::string kind = text(owner, "kind");
    const std::string name = text(owner, "name");
    const std::string hash = text(labels_of(pod), "pod-template-hash");
    const bool of_deployment = kind == "ReplicaSet" && !hash.empty() && name.ends_with("-" + hash);
    if (!of_deployment) return {kind, name};
    return {"Deployment", name.substr(0, name.size() - hash.size() - 1)};
  }
  std::string name = text(metadata, "name");
  if (name.empty()) name = text(metadata, "generateName");
  while (name.ends_with('-')) name.pop_back();
  return {"Pod", name};
}

}  // namespace sluice::injector
