#include "memory-pressure/core/exemptions.h"

#include <algorithm>
#include <array>

namespace sluice::node_agent {
namespace {

std::optional<Exemption> own_exemption(const Marks& marks) {
  if (marks.system) return Exemption::system;
  if (marks.request_proxy) return Exemption::request_proxy;
  if (marks.init) return Exemption::init;
  if (marks.exclusive_cpus) return Exemption::exclusive_cpus;
  if (marks.never) return Exemption::opt_out;
  if (marks.holds_lock) return Exemption::lock_holder;
  return std::nullopt;
}

}  // namespace

std::optional<Exemption> exemption(const Container& container, std::span<const Container> node) {
  if (const auto own = own_exemption(container.marks)) return own;
  if (!container.described) return Exemption::undescribed;
  if (!container.marks.whole_pod) return std::nullopt;
  const bool sibling = std::any_of(node.begin(), node.end(), [&](const Container& other) {
    return other.pod_uid == container.pod_uid && own_exemption(other.marks).has_value();
  });
  return sibling ? std::optional{Exemption::sibling} : std::nullopt;
}

std::string_view name(Exemption why) {
  constexpr std::array<std::string_view, 8> kNames{"opted out",
                                                   "holds a lock",
                                                   "system",
                                                   "init container",
                                                   "request proxy",
                                                   "exclusive CPUs",
                                                   "not described yet",
                                                   "sibling of one that is exempt"};
  return kNames[static_cast<std::size_t>(why)];
}

}  // namespace sluice::node_agent
