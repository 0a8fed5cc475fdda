#include "common/base/clean_text.h"

#include "load/core/load_plan.h"
#include "load/core/quantity.h"
#include <cmath>

namespace sluice::loadgen {

namespace {

// The end of a path says more than its beginning.
std::string describe_replay(const Replay& replay) {
  constexpr std::size_t kShownMax = 60;
  const std::string& file = replay.trace.file;
  const std::size_t cut = file.size() > kShownMax ? file.size() - kShownMax : 0;
  std::string text = "replay of " + std::string{cut > 0 ? "…" : ""} + clean_text(file.substr(cut)) +
                     " (" + grouped(replay.requests) + " requests in " + spoken(replay.length) +
                     ")";
  if (replay.speed != 1) text += ", speed " + plain(replay.speed);
  if (replay.times != 1) text += ", times " + std::to_string(replay.times);
  if (replay.part.from > Duration::zero()) text += ", from " + spoken(replay.part.from);
  if (replay.part.until < Duration::max()) text += ", until " + spoken(replay.part.until);
  if (replay.part.methods == Methods::all) text += ", all methods";
  return text;
}

std::string describe_rates(const Phase& phase) {
  if (phase.replay) return describe_replay(*phase.replay);
  if (phase.shape.empty()) return plain(phase.segments.front().per_second) + "/s";
  constexpr std::size_t kShownMax = 120;
  if (phase.shape.size() <= kShownMax) return phase.shape;
  return phase.shape.substr(0, kShownMax) + "…";
}

std::string counted(std::size_t count, const std::string& noun) {
  return grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string extent(const LoadPlan& plan) {
  const Phase& phase = plan.phases.front();
  std::string text;
  if (plan.count) text += ", " + grouped(*plan.count) + " requests";
  if (plan.duration && phase.shape.empty() && !phase.replay) {
    text += (plan.count ? " within " : " for ") + spoken(*plan.duration);
  }
  return text;
}

// What is not as usual about connections.
std::string describe_reuse(const LoadPlan& plan) {
  if (!plan.reuse) return {};
  if (*plan.reuse == 1) return ", a connection for each request";
  return ", " + grouped(*plan.reuse) + " requests per connection";
}

std::string line(const std::string& label, const std::string& text) {
  constexpr std::size_t kLabelWidth = 24;
  const std::size_t blanks = label.size() < kLabelWidth ? kLabelWidth - label.size() : 1;
  return "  " + label + std::string(blanks, ' ') + text + "\n";
}

// Which targets a phase sends to: `shop 90 %, pay 10 %`.
std::string describe_mix(const LoadPlan& plan, const Phase& phase) {
  double sum = 0;
  for (const double share : phase.mix) sum += share;
  std::string text;
  for (std::size_t i = 0; i < phase.mix.size(); ++i) {
    if (phase.mix[i] == 0) continue;
    text += (text.empty() ? "    " : ", ") + plan.targets[i].name + " " +
            plain(std::round(phase.mix[i] / sum * 1000) / 10) + " %";
  }
  return text;
}

}  // namespace

std::string describe(const LoadPlan& plan) {
  std::string text;
  if (plan.loop == Loop::closed) {
    return "closed loop, " + counted(plan.connections, "connection") + extent(plan) +
           describe_reuse(plan);
  }
  const std::string seed = ", seed " + std::to_string(plan.seed);
  if (!plan.name.empty()) {
    text = plan.name + ": open loop, " + counted(plan.phases.size(), "phase") + " in " +
           spoken(plan.begin_of(plan.phases.size())) + ", " +
           counted(plan.targets.size(), "target") + describe_reuse(plan);
  } else {
    text =
        "open loop, " + describe_rates(plan.phases.front()) + extent(plan) + describe_reuse(plan);
    if (plan.phases.front().replay) return text + seed;
  }
  return text + (plan.arrivals == Arrivals::uniform ? ", uniform" : ", poisson") +
         (plan.arrivals == Arrivals::uniform && plan.name.empty() ? "" : seed);
}

std::string plan_text(const LoadPlan& plan) {
  std::string text = describe(plan) + "\n";
  for (const TargetPlan& target : plan.targets) {
    text += line("target " + target.name, target.method + " " + clean_text(target.url));
  }
  for (std::size_t i = 0; i < plan.phases.size(); ++i) {
    const Phase& phase = plan.phases[i];
    const auto requests = static_cast<std::uint64_t>(std::llround(expected_requests(phase)));
    text +=
        line("phase " + phase.name, spoken(plan.begin_of(i)) + " + " + spoken(phase.length()) +
                                        "    " + describe_rates(phase) + "    about " +
                                        counted(requests, "request") + describe_mix(plan, phase));
  }
  for (const Expression& condition : plan.conditions) {
    text += line(condition.use == Use::assertion ? "assert" : "fail if", condition.text);
  }
  if (!plan.baseline.empty()) {
    text += line("compare with",
                 clean_text(plan.baseline) + ", tolerance " + plain(plan.tolerance * 100) + " %");
  }
  return text;
}

}  // namespace sluice::loadgen
