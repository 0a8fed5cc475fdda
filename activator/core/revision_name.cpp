#include "activator/core/revision_name.h"

#include <array>
#include <cstddef>

namespace sluice::activator {

namespace {

// Name, namespace, `svc`, and all that follows.
constexpr std::size_t kParts = 4;

// `host` without a port; the brackets of an IPv6 address stay.
std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  return colon == std::string_view::npos ? host : host.substr(0, colon);
}

}  // namespace

RevisionName name_revision(std::string_view space, std::string_view name, std::string_view host,
                           std::string_view cluster_domain) {
  const RevisionName given{.space = space, .name = name};
  if (!space.empty() && !name.empty()) {
    return given;
  }
  std::array<std::string_view, kParts> parts;
  for (std::size_t i = 0; i + 1 < kParts; ++i) {
    const std::size_t dot = host.find('.');
    if (dot == std::string_view::npos) {
      return given;
    }
    parts[i] = host.substr(0, dot);
    host.remove_prefix(dot + 1);
  }
  parts[kParts - 1] = without_port(host);
  if (parts[2] != "svc" || parts[3] != cluster_domain) {
    return given;
  }
  return {.space = parts[1], .name = parts[0]};
}

std::string private_host(const RevisionName& revision) {
  return std::string(revision.name) + "-private." + std::string(revision.space);
}

std::string not_found_text(std::string_view name) {
  return "Error getting active endpoint: revision.serving.knative.dev \"" + std::string(name) +
         "\" not found\n";
}

}  // namespace sluice::activator
