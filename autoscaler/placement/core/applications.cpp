#include "autoscaler/placement/core/applications.h"

namespace sluice::placement {

void Applications::add(ServiceId service, std::string_view name, const Ledger& ledger) {
  std::size_t spread = spreads_.size();
  if (!name.empty()) spread = named_.try_emplace(std::string{name}, spread).first->second;
  if (spread == spreads_.size()) spreads_.emplace_back();
  for (const Holding& held : ledger.holdings(service)) {
    spreads_[spread].insert(ledger.node(held.node).place);
  }
  const auto number = static_cast<std::uint32_t>(spread) + 1;
  members_[service] = {.application = name.empty() ? ApplicationId{} : ApplicationId{number},
                       .spread = spread};
}

ApplicationId Applications::of(ServiceId service) const {
  const auto found = members_.find(service);
  return found == members_.end() ? ApplicationId{} : found->second.application;
}

std::int64_t Applications::places(ServiceId service) const {
  const auto found = members_.find(service);
  if (found == members_.end()) return 0;
  return static_cast<std::int64_t>(spreads_[found->second.spread].size());
}

}  // namespace sluice::placement
