#include "bench/replays/paper-agent/paper_policy.h"

#include "memory-pressure/core/exemptions.h"
#include "memory-pressure/core/ladder.h"
#include "memory-pressure/core/quota.h"
#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>

namespace sluice::node_agent {
namespace {

double usage_of(const NodeMemory& memory) {
  return memory.capacity > 0
             ? static_cast<double>(memory.used) / static_cast<double>(memory.capacity)
             : 0;
}

std::string in_words(const NodeMemory& memory, const PolicySettings& settings) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "usage %.1f%%, U %.1f%%, L %.1f%%",
                usage_of(memory) * 100, settings.upper * 100, settings.lower * 100);
  return text.data();
}

/// Ascending by memory in use, ties by id; unknown use last.
std::vector<const Container*> candidates(const Observation& seen,
                                         const std::vector<Throttle>& restricted) {
  std::vector<const Container*> found;
  for (const Container& container : seen.containers) {
    const bool taken = std::any_of(restricted.begin(), restricted.end(),
                                   [&](const Throttle& one) { return one.id == container.id; });
    if (!taken && !exemption(container, seen.containers)) found.push_back(&container);
  }
  const auto key = [](const Container* container) {
    return std::tuple{!container->working_set.has_value(), container->working_set.value_or(0),
                      std::string_view{container->id}};
  };
  std::sort(found.begin(), found.end(),
            [&](const Container* a, const Container* b) { return key(a) < key(b); });
  return found;
}

}  // namespace

PaperPolicy::PaperPolicy(const PolicySettings& settings)
    : settings_(settings), time_(kLookGapMax) {}

Decision PaperPolicy::decide(const Observation& seen) {
  const TimePoint now = time_.advance(seen.now);
  Decision decision;
  decision.admit_bytes = decision.room_bytes = kAdmitAnything;
  decision.upper = settings_.upper;
  if (seen.runtime_answers) forget_gone(seen);
  if (seen.memory && seen.runtime_answers) {
    step(seen, *seen.memory, now);
    if (!victims_.empty()) {
      decision.sacrifice =
          Sacrifice{.id = victims_.front(), .grace = {}, .why = in_words(*seen.memory, settings_)};
      victims_.pop_front();
    }
    decision.why = in_words(*seen.memory, settings_);
    const double usage = usage_of(*seen.memory);
    const bool high = usage > settings_.upper || !restricted_.empty();
    decision.pressure = usage > settings_.critical ? Pressure::critical
                        : high                     ? Pressure::high
                                                   : Pressure::ok;
  } else {
    decision.pressure = Pressure::high;
    decision.why = seen.memory ? "the runtime does not answer" : "memory cannot be read";
  }
  decision.throttled = restricted_;
  return decision;
}

void PaperPolicy::forget_gone(const Observation& seen) {
  const auto gone = [&](const std::string& id) {
    const auto found = std::find_if(seen.containers.begin(), seen.containers.end(),
                                    [&](const Container& one) { return one.id == id; });
    return found == seen.containers.end() || exemption(*found, seen.containers).has_value();
  };
  std::erase_if(restricted_, [&](const Throttle& one) { return gone(one.id); });
  std::erase_if(victims_, gone);
  // No container is left whose pause could free memory: there is nothing to wait for (row 11).
  if (restricted_.empty() && victims_.empty()) waiting_since_.reset();
}

void PaperPolicy::step(const Observation& seen, const NodeMemory& memory, TimePoint now) {
  const double usage = usage_of(memory);
  if (waiting_since_) {
    if (usage < settings_.lower) {
      restricted_.clear();
      victims_.clear();
      waiting_since_.reset();
    } else if (now - *waiting_since_ >= settings_.escalate_after) {
      restrict(seen, memory, now);
    }
  } else if (usage > settings_.upper) {
    restrict(seen, memory, now);
  }
}

void PaperPolicy::restrict(const Observation& seen, const NodeMemory& memory, TimePoint now) {
  const auto chosen = candidates(seen, restricted_);
  // No container to restrict and none restricted: new ones are handled at the next sample.
  if (chosen.empty() && restricted_.empty()) return;
  waiting_since_ = now;
  if (chosen.empty()) {
    const std::size_t last = std::min<std::size_t>(settings_.step, restricted_.size());
    for (std::size_t i = 0; i < last; ++i) {
      victims_.push_back(restricted_[restricted_.size() - 1 - i].id);
    }
    return;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(settings_.step, chosen.size()); ++i) {
    restricted_.push_back({.id = chosen[i]->id,
                           .quota = signature(settings_.quota_millicores),
                           .ladder_step = kStepQuota,
                           .why = in_words(memory, settings_)});
  }
}

std::unique_ptr<Policy> make_paper(const PolicySettings& settings) {
  return std::make_unique<PaperPolicy>(settings);
}

}  // namespace sluice::node_agent
