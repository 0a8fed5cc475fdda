#include "common/certificates/identity.h"

#include <algorithm>

namespace sluice::certificates {
namespace {

constexpr std::string_view kAutoscaler = "sluice://autoscaler";
constexpr std::string_view kActivator = "sluice://activator";
constexpr std::string_view kNodeAgent = "sluice://node-agent/";
constexpr std::size_t kNodeNameMax = 253;
constexpr std::string_view kNodeLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

}  // namespace

bool is_node_name(std::string_view name) {
  return !name.empty() && name.size() <= kNodeNameMax &&
         name.find_first_not_of(kNodeLetters) == std::string_view::npos;
}

bool Identity::has(Role role) const {
  switch (role) {
    case Role::autoscaler:
      return autoscaler;
    case Role::activator:
      return activator;
    case Role::node_agent:
      return !node.empty();
  }
  return false;
}

std::string Identity::shown() const {
  std::string all = autoscaler ? "autoscaler" : "";
  const auto add = [&all](const std::string& more) { all += (all.empty() ? "" : ", ") + more; };
  if (activator) add("activator");
  if (!node.empty()) add("node agent of " + node);
  return all.empty() ? "an unknown program" : all;
}

Identity identity_of(std::span<const std::string> uris) {
  Identity identity;
  bool several = false;
  for (const std::string_view uri : uris) {
    if (uri == kAutoscaler) identity.autoscaler = true;
    if (uri == kActivator) identity.activator = true;
    if (!uri.starts_with(kNodeAgent)) continue;
    const std::string_view node = uri.substr(kNodeAgent.size());
    several = several || !is_node_name(node) || (!identity.node.empty() && identity.node != node);
    identity.node = node;
  }
  if (several) identity.node.clear();
  return identity;
}

std::string uri_of(Role role, const std::string& node) {
  switch (role) {
    case Role::autoscaler:
      return std::string{kAutoscaler};
    case Role::activator:
      return std::string{kActivator};
    case Role::node_agent:
      return std::string{kNodeAgent} + node;
  }
  return {};
}

}  // namespace sluice::certificates
