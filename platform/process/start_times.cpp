#include "platform/process/start_times.h"

#include <algorithm>

namespace sluice::local {

void StartTimes::note(Duration took) {
  last_.at(noted_ % kKept) = took;
  ++noted_;
}

std::optional<Duration> StartTimes::usual() const {
  if (noted_ == 0) return std::nullopt;
  auto sorted = last_;
  const auto count = static_cast<std::ptrdiff_t>(std::min(noted_, kKept));
  const auto middle = sorted.begin() + count / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + count);
  return *middle;
}

}  // namespace sluice::local
