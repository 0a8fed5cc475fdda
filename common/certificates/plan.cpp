// A rotation never breaks a handshake: trust goes first and leaves last. A new CA enters the bundle
// while the old leaf serves on; ten minutes later it signs a new leaf; an hour after that the old
// CA goes. Each step is written to the one Secret, so that any replica may take the next.

#include "common/certificates/plan.h"

namespace sluice::certificates {
namespace {

bool good(const std::optional<Span>& span, TimePoint now) {
  // A replica whose clock is behind the one that signed is given an hour.
  return span && now + std::chrono::hours{1} >= span->from && now < span->until;
}

bool ageing(const Span& span, TimePoint now) {
  return now - span.from >= (span.until - span.from) / 3 * 2;
}

bool serves(const State& state, TimePoint now) {
  const bool trusted = state.leaf_by_ca || (state.old_ca && state.leaf_by_old_ca);
  return trusted && good(state.leaf, now);
}

}  // namespace

Step next_step(const State& state, TimePoint now, Duration leaf_spreads) {
  if (!good(state.ca, now)) return Step::make_all;
  if (!serves(state, now)) return Step::renew_leaf;
  if (ageing(*state.ca, now)) return Step::renew_ca;
  if (!state.leaf_by_ca) {
    return now - state.ca->from >= kCaSpreads ? Step::renew_leaf : Step::none;
  }
  if (ageing(*state.leaf, now)) return Step::renew_leaf;
  const bool settled = state.old_ca && now - state.leaf->from >= leaf_spreads;
  return settled ? Step::drop_old_ca : Step::none;
}

Step step_before_bundle(Step due, const State& state, TimePoint now) {
  if (due == Step::drop_old_ca) return Step::none;
  const bool by_another_ca = due == Step::renew_leaf && !state.leaf_by_ca;
  return by_another_ca && serves(state, now) ? Step::none : due;
}

}  // namespace sluice::certificates
