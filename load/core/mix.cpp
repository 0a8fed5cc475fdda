#include "load/core/mix.h"

#include "common/base/check.h"

#include "load/core/portable_math.h"
#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::loadgen {

Mix::Mix(std::vector<double> shares, std::size_t targets, Arrivals arrivals, std::uint64_t seed)
    : shares_{std::move(shares)}, owed_(targets), arrivals_{arrivals}, random_{seed} {
  if (shares_.empty()) shares_.assign(targets, 1);
  CHECK(shares_.size() == targets && targets > 0);
  const double sum = std::accumulate(shares_.begin(), shares_.end(), 0.0);
  CHECK(sum > 0);
  for (double& share : shares_) share /= sum;
}

std::size_t Mix::next() {
  if (shares_.size() == 1) return 0;
  if (arrivals_ == Arrivals::uniform) {
    for (std::size_t i = 0; i < shares_.size(); ++i) owed_[i] += shares_[i];
    const auto most = std::max_element(owed_.begin(), owed_.end());
    *most -= 1;
    return static_cast<std::size_t>(most - owed_.begin());
  }
  double left = unit_of(random_());
  std::size_t last = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i] == 0) continue;
    last = i;
    if (left < shares_[i]) return i;
    left -= shares_[i];
  }
  return last;  // what rounding leaves
}

}  // namespace sluice::loadgen
