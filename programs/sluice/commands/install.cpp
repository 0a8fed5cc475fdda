#include "programs/sluice/commands/install.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

namespace sluice::commands {
namespace {

constexpr std::size_t kSpaceMax = 63;
constexpr std::size_t kRegistryMax = 255;
constexpr std::string_view kLabel = "abcdefghijklmnopqrstuvwxyz0123456789-";
constexpr std::string_view kReference = "abcdefghijklmnopqrstuvwxyz0123456789-._:/";
constexpr std::array<std::string_view, 6> kPrograms{"queue-proxy", "activator",  "autoscaler",
                                                    "injector",    "node-agent", "sluice"};

bool made_of(std::string_view text, std::string_view letters) {
  return text.find_first_not_of(letters) == std::string_view::npos;
}

Result<std::string, Problem> checked(const Installation& installation) {
  const std::string& space = installation.space;
  if (space.empty() || space.size() > kSpaceMax || !made_of(space, kLabel) ||
      space.front() == '-' || space.back() == '-') {
    return Problem{"--namespace \"" + space + "\" is not a namespace name",
                   "accepted: at most 63 lower-case letters, digits and dashes"};
  }
  if (space.starts_with("kube-") || space == "default") {
    return Problem{"--namespace " + space + " is reserved",
                   "choose a separate one, such as sluice-system"};
  }
  const std::string& registry = installation.registry;
  if (registry.empty() || registry.size() > kRegistryMax || !made_of(registry, kReference) ||
      std::isalnum(static_cast<unsigned char>(registry.front())) == 0 || registry.back() == '/') {
    return Problem{"--image-registry \"" + registry + "\" is not an image registry",
                   "accepted: HOST[:PORT][/PATH] in lower case, such as registry.local:5000"};
  }
  for (const Manifest& manifest : built_in_manifests()) {
    if (manifest.profile != installation.profile) continue;
    return {boost::system::in_place_value, manifest.text};
  }
  return Problem{"--profile " + installation.profile + " is unknown",
                 "accepted: small, standard, ha"};
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

bool is_kind(const YAML::Node& object, std::string_view kind) {
  return object["kind"].as<std::string>("") == kind;
}

// Objects that others depend on are deleted last: webhooks without a server would refuse pods, and
// a namespace takes everything in it.
int turn(const YAML::Node& object) {
  const auto kind = object["kind"].as<std::string>("");
  if (kind.ends_with("WebhookConfiguration")) return 0;
  if (kind == "CustomResourceDefinition") return 2;
  if (kind == "Namespace") return 3;
  return 1;
}

std::string identity(const YAML::Node& object) {
  YAML::Node named;
  named["apiVersion"] = object["apiVersion"];
  named["kind"] = object["kind"];
  named["metadata"]["name"] = object["metadata"]["name"];
  if (object["metadata"]["namespace"]) {
    named["metadata"]["namespace"] = object["metadata"]["namespace"];
  }
  YAML::Emitter out;
  out << named;
  return std::string{"---\n"} + out.c_str() + "\n";
}

}  // namespace

Result<std::string, Problem> install_text(const Installation& installation) {
  auto text = checked(installation);
  if (!text) return text;
  // First: the name of a registry may hold that of the namespace.
  replace_all(*text, std::string{kRenderedSpace}, installation.space);
  // Whole references: the registry's name is the domain of our labels too.
  for (const std::string_view program : kPrograms) {
    const std::string rest = "/" + std::string{program} + ":";
    replace_all(*text, std::string{kRenderedRegistry} + rest, installation.registry + rest);
  }
  return text;
}

Result<std::string, Problem> uninstall_text(const Installation& installation, bool crds) {
  const auto text = install_text(installation);
  if (!text) return text.error();
  // As text: assigning a node would change the document it belongs to.
  std::vector<std::pair<int, std::string>> objects;
  for (const YAML::Node& object : YAML::LoadAll(*text)) {
    if (!object.IsMap() || (!crds && is_kind(object, "CustomResourceDefinition"))) continue;
    objects.emplace_back(turn(object), identity(object));
  }
  std::reverse(objects.begin(), objects.end());
  std::stable_sort(objects.begin(), objects.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string list =
      "# For kubectl delete -f -. First, while the autoscaler still runs and gives Services back:\n"
      "#   kubectl delete requestscalers --all --all-namespaces\n";
  for (const auto& [_, object] : objects) list += object;
  return {boost::system::in_place_value, std::move(list)};
}

}  // namespace sluice::commands
