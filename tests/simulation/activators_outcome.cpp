#include "tests/simulation/activators_world.h"

namespace sluice::simulation {

void ActivatorsOutcome::add(const ActivatorsOutcome& other) {
  sent += other.sent;
  answered += other.answered;
  refused += other.refused;
  cut += other.cut;
  left += other.left;
  retried += other.retried;
  waited += other.waited;
  wakes += other.wakes;
  sleeps += other.sleeps;
  pods_started += other.pods_started;
  pods_killed += other.pods_killed;
  pods_removed += other.pods_removed;
  streams_cut += other.streams_cut;
  autoscalers_killed += other.autoscalers_killed;
  activators_gone += other.activators_gone;
  clock_jumps += other.clock_jumps;
  shortages += other.shortages;
  events += other.events;
  for (const auto& [reason, count] : other.refused_by) refused_by[reason] += count;
}

std::string printed(const ActivatorsOutcome& outcome) {
  std::string text;
  const auto figure = [&text](const std::string& what, std::uint64_t count) {
    if (count > 0) text += (text.empty() ? "" : ", ") + what + " " + std::to_string(count);
  };
  figure("sent", outcome.sent);
  figure("answered", outcome.answered);
  figure("refused", outcome.refused);
  for (const auto& [reason, count] : outcome.refused_by) figure("(" + reason + ")", count);
  figure("cut", outcome.cut);
  figure("left", outcome.left);
  figure("waited", outcome.waited);
  figure("retried", outcome.retried);
  figure("wakes", outcome.wakes);
  figure("sleeps", outcome.sleeps);
  figure("pods started", outcome.pods_started);
  figure("killed", outcome.pods_killed);
  figure("removed", outcome.pods_removed);
  figure("streams cut", outcome.streams_cut);
  figure("autoscalers killed", outcome.autoscalers_killed);
  figure("activators gone", outcome.activators_gone);
  figure("clock jumps", outcome.clock_jumps);
  figure("shortages", outcome.shortages);
  figure("events", outcome.events);
  return text;
}

}  // namespace sluice::simulation
