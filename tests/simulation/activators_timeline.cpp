#include "tests/simulation/activators_timeline.h"

namespace sluice::simulation {

double Timeline::share() {
  return static_cast<double>(random_() >> 11) * 0x1p-53;
}

Duration Timeline::draw(const Between& range) {
  return range.from + from_seconds(share() * to_seconds(range.to - range.from));
}

}  // namespace sluice::simulation
