#include "load/core/results.h"

#include <algorithm>

namespace sluice::loadgen {

Part part_of(const LoadPlan& plan, const Expression& condition) {
  return {plan.target_named(condition.target), plan.phase_named(condition.phase)};
}

Results::Results(const LoadPlan& plan)
    : whole{plan.warmup}, seconds{plan.targets.size(), plan.warmup} {
  const Tally part{plan.warmup};
  if (plan.targets.size() > 1) targets.assign(plan.targets.size(), part);
  if (plan.phases.size() > 1) phases.assign(plan.phases.size(), part);
  if (targets.empty() || phases.empty()) return;
  for (const Expression& condition : plan.conditions) {
    const Part wanted = part_of(plan, condition);
    const auto is_wanted = [&wanted](const Cell& cell) { return cell.part == wanted; };
    if (!wanted.target || !wanted.phase) continue;
    if (std::none_of(cells_.begin(), cells_.end(), is_wanted)) cells_.push_back({wanted, part});
  }
}

template <class Count>
void Results::each(const PlannedRequest& planned, const Count& count) {
  count(whole);
  if (!targets.empty()) count(targets[planned.target]);
  if (!phases.empty()) count(phases[planned.phase]);
  for (Cell& cell : cells_) {
    if (cell.part.target == planned.target && cell.part.phase == planned.phase) count(cell.tally);
  }
}

void Results::sent(const PlannedRequest& planned, Duration taken) {
  each(planned, [&](Tally& tally) { tally.sent(planned.at, taken); });
  seconds.sent(planned.target, planned.at, taken);
}

void Results::finished(const PlannedRequest& planned, const Outcome& outcome) {
  each(planned, [&](Tally& tally) { tally.finished(outcome); });
  seconds.finished(planned.target, outcome, is_error(outcome));
}

void Results::connected(const PlannedRequest& planned, Duration taken) {
  each(planned, [&](Tally& tally) { tally.connected(planned.at, taken); });
}

void Results::unsent(const PlannedRequest& planned) {
  each(planned, [](Tally& tally) { tally.unsent(1); });
  seconds.unsent(planned.target, planned.at);
}

void Results::add(const Results& other) {
  whole.add(other.whole);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i].add(other.targets[i]);
  for (std::size_t i = 0; i < phases.size(); ++i) phases[i].add(other.phases[i]);
  for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i].tally.add(other.cells_[i].tally);
  seconds.add(other.seconds);
}

const Tally& Results::of(const Part& part) const {
  const bool has_target = part.target && !targets.empty();
  const bool has_phase = part.phase && !phases.empty();
  if (has_target && has_phase) {
    for (const Cell& cell : cells_) {
      if (cell.part == part) return cell.tally;
    }
    return whole;
  }
  if (has_target) return targets[*part.target];
  return has_phase ? phases[*part.phase] : whole;
}

}  // namespace sluice::loadgen
