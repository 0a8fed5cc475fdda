#include "programs/sluice/simulation/limited_site.h"

#include <algorithm>

namespace sluice::simulation {

// Requests wait for room as long as it takes, as for memory of one machine.
placement::Site::Terms LimitedSite::terms(const RevisionId& revision,
                                          const placement::RevisionDemand& demand,
                                          std::int64_t held) {
  Terms terms = gates_.terms(revision, demand, held);
  if (!limit_) return terms;
  terms.most = std::min(demand.wanted, std::max(*limit_, demand.ordered));
  terms.there = std::min(terms.there, terms.most);
  if (terms.most < demand.wanted) {
    terms.missing = placement::Missing{.reason = placement::Reason::gate,
                                       .detail = "no room for more replicas",
                                       .patience = std::nullopt};
  }
  return terms;
}

}  // namespace sluice::simulation
