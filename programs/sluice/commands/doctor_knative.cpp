#include "programs/sluice/commands/doctor_knative.h"

#include "common/scaling/cluster_config.h"

#include "programs/sluice/commands/doctor_knative_changes.h"
#include <algorithm>
#include <cctype>
#include <utility>

namespace sluice::commands {
namespace {

using Grade = KnativeLevel::Grade;

// Of Knative 1.x (0.42 by its modules): the one whose objects and programs ours is written for.
constexpr int kWrittenFor = 15;

constexpr std::size_t kLabelWidth = 12;

// As the Service activator-service has it in each release of Knative.
constexpr const char* kTheirActivators = "app=activator";

std::string value_of(const std::optional<kube::StringMap>& map, std::string_view key) {
  if (!map) return {};
  const auto found = map->find(key);
  return found == map->end() ? std::string{} : found->second;
}

bool enabled(const std::optional<kube::StringMap>& map, std::string_view key) {
  std::string value = value_of(map, key);
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return value == "enabled" || value == "true";
}

void stand_against(KnativeLevel& level, Grade grade, std::string why) {
  level.grade = std::max(level.grade, grade);
  level.why.push_back(std::move(why));
}

std::string shown_selector(const kube::StringMap& selector) {
  std::string text;
  for (const auto& [key, value] : selector) {
    text.append(text.empty() ? "" : ",").append(key).append("=").append(value);
  }
  return text;
}

void judge_versions(const KnativeFacts& facts, KnativeLevel& level) {
  for (const auto& program : facts.programs) {
    if (settings::knative_minor(program.version) == kWrittenFor) continue;
    stand_against(level, Grade::careful,
                  program.name + " is of version " +
                      (program.version.empty() ? "unknown" : program.version) +
                      "; Sluice is written for 1." + std::to_string(kWrittenFor) +
                      ": run the shadow first (knative.shadow=true)");
    return;
  }
}

bool internal_tls(const KnativeFacts& facts) {
  return enabled(facts.network, "system-internal-tls");
}

// By the name under which deploy/images makes it, from whichever registry.
bool is_our_sidecar(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t slash = image.rfind('/');
  if (slash != std::string_view::npos) image.remove_prefix(slash + 1);
  return image.substr(0, image.find(':')) == "queue-proxy";
}

KnativeLevel sidecar_level(const KnativeFacts& facts, const std::string& version) {
  KnativeLevel level;
  level.name = "A  sidecar image";
  const std::string present = value_of(facts.deployment, "queue-sidecar-image");
  const bool ours = is_our_sidecar(present) && present != facts.sidecar;
  if (ours) level.now = present;
  level.needs = "our image where nodes find it; all pods of all revisions are rolled";
  level.set = "config-deployment: queue-sidecar-image: sluice.dev/queue-proxy:" + version;
  const std::string& theirs = ours ? facts.sidecar : present;
  level.restore = "config-deployment: queue-sidecar-image: " +
                  (theirs.empty() ? "what the release of Knative has there" : theirs);
  judge_versions(facts, level);
  if (internal_tls(facts)) {
    stand_against(level, Grade::careful,
                  "config-network says system-internal-tls: ours serves the certificates that "
                  "Knative mounts, which is not tested on a real cluster");
  }
  if (present.empty()) {
    stand_against(level, Grade::unsafe,
                  "config-deployment has no queue-sidecar-image to restore; correct the "
                  "installation of Knative first");
  }
  return level;
}

// What of level B is in force, and how to revert it.
void tell_classes(const KnativeFacts& facts, KnativeLevel& level) {
  const std::string present = value_of(facts.autoscaler, "pod-autoscaler-class");
  const bool none = present.empty() || present == autoscaler::kOurClass;
  level.restore = "config-autoscaler: pod-autoscaler-class: " +
                  (none ? std::string{autoscaler::kKnativeClass} : present);
  const auto ours = facts.classes.find(autoscaler::kOurClass);
  if (ours != facts.classes.end()) {
    level.now = "revisions of our class: " + std::to_string(ours->second);
    // Which Knative's webhook asks for; it leaves that empty on what came as ours.
    level.restore +=
        ", and the same as annotation of the PodAutoscalers that are of our class, with "
        "autoscaling.knative.dev/metric=concurrency where that is empty";
  }
  if (present == autoscaler::kOurClass) {
    level.now +=
        std::string{level.now.empty() ? "" : "; "} + "revisions that come are of our class";
  }
  if (facts.stats.empty()) return;
  level.now += (level.now.empty() ? "" : "; ") + ("stats go to " + facts.stats);
  level.restore += "; then Service autoscaler: type: ClusterIP";
}

KnativeLevel autoscaler_level(const KnativeFacts& facts) {
  KnativeLevel level;
  level.name = "B  autoscaler";
  level.needs =
      "our chart with knative.enabled=true in a namespace of its own, and the Service autoscaler "
      "of " +
      facts.space + " leading to it (type: ExternalName): deploy/KNATIVE.md";
  level.set = std::string{"config-autoscaler: pod-autoscaler-class: "} + autoscaler::kOurClass +
              " (of revisions that come; of one that is there: the annotation "
              "autoscaling.knative.dev/class of its PodAutoscaler)";
  tell_classes(facts, level);
  judge_versions(facts, level);
  if (facts.autoscaler) {
    const auto parsed = autoscaler::parse_cluster_config(*facts.autoscaler);
    if (!parsed) {
      stand_against(level, Grade::unsafe, "config-autoscaler is refused: " + parsed.error().text());
    }
  } else {
    stand_against(level, Grade::careful,
                  "there is no config-autoscaler: the defaults apply; create it to set the class");
  }
  const auto horizontal = facts.classes.find(autoscaler::kHorizontalClass);
  if (horizontal != facts.classes.end()) {
    stand_against(level, Grade::careful,
                  std::to_string(horizontal->second) +
                      " revisions are of the class hpa.autoscaling.knative.dev and stay Knative's");
  }
  return level;
}

KnativeLevel activator_level(const KnativeFacts& facts) {
  KnativeLevel level;
  level.name = "C  activator";
  level.set =
      "Service activator-service: selector app.kubernetes.io/name=activator,"
      "app.kubernetes.io/part-of=sluice";
  level.needs = "our activators in the namespace " + facts.space +
                ": our chart with knative.enabled=true and knative.activators=true";
  judge_versions(facts, level);
  if (internal_tls(facts)) {
    stand_against(level, Grade::unsafe,
                  "config-network says system-internal-tls: our chart gives activators no "
                  "certificates");
  }
  if (!facts.activators || facts.activators->empty()) {
    stand_against(level, Grade::unsafe,
                  "the Service activator-service has no selector to restore; its endpoints must be "
                  "changed where they are written");
  } else {
    const bool ours = value_of(facts.activators, "app.kubernetes.io/part-of") == "sluice";
    if (ours) level.now = "requests go by our activators";
    level.restore = "Service activator-service: selector " +
                    (ours ? kTheirActivators : shown_selector(*facts.activators));
  }
  if (enabled(facts.network, "mesh-compatibility-mode") ||
      enabled(facts.network, "enable-mesh-pod-addressability")) {
    stand_against(
        level, Grade::careful,
        "config-network configures a mesh: our activators must be part of it, and have the "
        "same in SLUICE_MESH_COMPATIBILITY_MODE and SLUICE_MESH_POD_ADDRESSABILITY "
        "(activator.env of the chart)");
  }
  return level;
}

std::string contract_text(const KnativeFacts& facts) {
  const std::string release = release_of(facts);
  const bool older = contract_beside(facts) == settings::KnativeContract::older;
  std::string text = older ? "that of 1.18 and before" : "that of 1.19 and later";
  if (release.empty()) {
    text += ", since no label names its release; set SLUICE_KNATIVE_CONTRACT of our activators";
  } else {
    text += ", since it is " + release;
  }
  return text + " (docs/knative-contracts.md)";
}

std::string_view text_of(Grade grade) {
  switch (grade) {
    case Grade::safe:
      return "safe    ";
    case Grade::careful:
      return "careful ";
    case Grade::unsafe:
      return "UNSAFE  ";
  }
  return {};
}

}  // namespace

bool KnativeReport::good() const {
  return found && std::none_of(levels.begin(), levels.end(),
                               [](const auto& each) { return each.grade == Grade::unsafe; });
}

KnativeReport judge_knative(const KnativeFacts& facts, const std::string& version) {
  KnativeReport report;
  report.found = !facts.programs.empty();
  if (!report.found) return report;
  for (const auto& program : facts.programs) {
    report.facts.emplace_back(
        program.name, (program.version.empty() ? "?" : program.version) + "  " + program.image);
  }
  std::string classes;
  for (const auto& [name, count] : facts.classes) {
    classes += (classes.empty() ? "" : ", ") + std::to_string(count) + " of " +
               (name.empty() ? "no class" : name);
  }
  report.facts.emplace_back("revisions", classes.empty() ? "none" : classes);
  report.facts.emplace_back("contract", contract_text(facts));
  report.levels = {sidecar_level(facts, version), autoscaler_level(facts), activator_level(facts)};
  report.levels[0].changes = sidecar_changes(facts);
  report.levels[1].changes = autoscaler_changes();
  report.levels[2].changes = activator_changes(facts);
  return report;
}

std::string knative_text(const KnativeReport& report) {
  std::string text;
  const auto line = [&text](std::string label, const std::string& value) {
    if (label.size() < kLabelWidth) label.resize(kLabelWidth, ' ');
    text += label + " " + value + "\n";
  };
  for (const auto& [name, value] : report.facts) line(name, value);
  for (const KnativeLevel& level : report.levels) {
    text += "\n        " + level.name + "\n";
    for (const std::string& change : level.changes) text += "        changes  " + change + "\n";
    text += std::string{text_of(level.grade)} + level.name + "\n";
    for (const std::string& why : level.why) text += "        - " + why + "\n";
    if (!level.now.empty()) text += "        now      " + level.now + "\n";
    if (!level.needs.empty()) text += "        needs    " + level.needs + "\n";
    text += "        set      " + level.set + "\n";
    if (!level.restore.empty()) text += "        restore  " + level.restore + "\n";
  }
  return text;
}

}  // namespace sluice::commands
