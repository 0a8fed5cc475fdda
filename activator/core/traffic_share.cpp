#include "activator/core/traffic_share.h"

namespace sluice::activator {

// Each share earns its weight with every request, and the one with the most credit pays for it with
// the sum of all weights: after that many requests each has paid as often as its weight says.
std::size_t next_share(std::span<TrafficShare> shares) {
  std::int64_t total = 0;
  std::size_t best = 0;
  bool found = false;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    TrafficShare& share = shares[i];
    if (share.weight <= 0) continue;
    total += share.weight;
    share.credit += share.weight;
    if (!found || share.credit > shares[best].credit) best = i;
    found = true;
  }
  if (found) shares[best].credit -= total;
  return best;
}

}  // namespace sluice::activator
