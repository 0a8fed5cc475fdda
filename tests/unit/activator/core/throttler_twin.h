#pragma once

#include "activator/core/throttler.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::activator {

/// A throttler that keeps everything in lists and recomputes everything from them: which request
/// may run where by activator.md 5.4 and 14.2. Pods are names. For a random policy it gets the
/// choice and only checks whether it was possible; every other choice it makes itself.
class ThrottlerTwin {
 public:
  /// A pod and its generation: one that was removed and returned, or is trusted again, has another.
  struct Life {
    std::string pod;
    int number = 0;

    friend bool operator==(const Life&, const Life&) = default;
  };

  struct Waiting {
    std::uint64_t cookie = 0;
    TimePoint deadline = kNever;
    std::vector<Life> tried;
  };

  struct Pod {
    bool listed = false;
    bool avoid = false;
    std::uint32_t limit = 0;
    std::uint32_t load = 0;
    int life = 0;
    int enlisted = 0;  // the life in which it was listed last
    std::optional<TimePoint> paused_until;
  };

  explicit ThrottlerTwin(const ThrottlerSpec& spec)
      : spec_(spec), policy_(spec.policy.value_or(default_policy(spec.container_concurrency))) {}

  void list(const std::string& name, bool avoid, std::int32_t capacity) {
    Pod& pod = pods_[name];
    if (!pod.listed) {
      pod.enlisted = ++pod.life;
    }
    pod.listed = true;
    pod.avoid = avoid;
    pod.limit = static_cast<std::uint32_t>(capacity > 0 ? capacity : spec_.container_concurrency);
  }

  void unlist(const std::string& name) {
    pods_[name].listed = false;
    pods_[name].paused_until.reset();
  }

  void renew(const std::string& name) { pods_[name].life += lists(name) ? 1 : 0; }

  [[nodiscard]] bool lists(const std::string& name) const {
    const auto pod = pods_.find(name);
    return pod != pods_.end() && pod->second.listed;
  }

  [[nodiscard]] std::vector<std::string> listed() const {
    std::vector<std::string> names;
    for (const auto& [name, pod] : pods_) {
      if (pod.listed) {
        names.push_back(name);
      }
    }
    return names;
  }

  [[nodiscard]] std::optional<std::int64_t> capacity() const {
    std::int64_t sum = 0;
    for (const std::string& name : listed()) {
      if (pods_.at(name).limit == 0) {
        return std::nullopt;
      }
      sum += pods_.at(name).limit;
    }
    return sum;
  }

  /// The pods to choose from, by name.
  [[nodiscard]] std::vector<std::string> line() const {
    std::vector<std::string> names = listed();
    const auto avoided = [this](const std::string& name) { return pods_.at(name).avoid; };
    if (!std::all_of(names.begin(), names.end(), avoided)) {
      std::erase_if(names, avoided);
    }
    return names;
  }

  [[nodiscard]] bool may_take(const std::string& name, const std::vector<Life>& tried) const {
    const Pod& pod = pods_.at(name);
    return !pod.paused_until && (pod.limit == 0 || pod.load < pod.limit) &&
           std::find(tried.begin(), tried.end(), Life{name, pod.life}) == tried.end();
  }

  [[nodiscard]] bool any_room(const std::vector<Life>& tried) const {
    const std::vector<std::string> names = line();
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return may_take(name, tried); });
  }

  /// Where the next request goes; `went` is where the throttler sent it. "" for nowhere, and "?"
  /// when a random policy could not have gone there.
  [[nodiscard]] std::string choose(const std::vector<Life>& tried, const std::string& went) {
    const std::vector<std::string> names = line();
    if (!any_room(tried)) {
      return "";
    }
    const bool turns = policy_ == BalancingPolicy::round_robin ||
                       (policy_ == BalancingPolicy::least_in_flight && names.size() <= 64);
    if (policy_ == BalancingPolicy::first_available) {
      return *std::find_if(names.begin(), names.end(),
                           [&](const std::string& name) { return may_take(name, tried); });
    }
    return turns ? choose_in_turn(names, tried) : check_random(names, tried, went);
  }

  /// The request to run next, if any can; retries first.
  [[nodiscard]] std::deque<Waiting>::iterator next_waiting(std::deque<Waiting>*& queue) {
    for (std::deque<Waiting>* each : {&returned, &newcomers}) {
      const auto found = std::find_if(each->begin(), each->end(),
                                      [this](const Waiting& one) { return any_room(one.tried); });
      if (found != each->end()) {
        queue = each;
        return found;
      }
    }
    queue = nullptr;
    return {};
  }

  [[nodiscard]] Pod& pod(const std::string& name) { return pods_[name]; }

  [[nodiscard]] Life life_of(const std::string& name) { return {name, pods_[name].life}; }

  [[nodiscard]] std::size_t waiting() const { return returned.size() + newcomers.size(); }

  void resume(TimePoint now) {
    for (auto& [name, pod] : pods_) {
      if (pod.paused_until && *pod.paused_until <= now) {
        pod.paused_until.reset();
      }
    }
  }

  [[nodiscard]] std::optional<TimePoint> next_resume() const {
    std::optional<TimePoint> next;
    for (const auto& [name, pod] : pods_) {
      if (pod.paused_until) {
        next = next ? std::min(*next, *pod.paused_until) : pod.paused_until;
      }
    }
    return next;
  }

  std::deque<Waiting> returned;
  std::deque<Waiting> newcomers;

 private:
  [[nodiscard]] std::string choose_in_turn(const std::vector<std::string>& names,
                                           const std::vector<Life>& tried) {
    turn_ = turn_ >= names.size() ? 0 : turn_;
    std::optional<std::size_t> best;
    for (std::size_t looked = 0; looked < names.size(); ++looked) {
      const std::size_t rank = (turn_ + looked) % names.size();
      const bool better = !best || (policy_ == BalancingPolicy::least_in_flight &&
                                    pods_.at(names[rank]).load < pods_.at(names[*best]).load);
      if (may_take(names[rank], tried) && better) {
        best = rank;
      }
    }
    turn_ = *best + 1;
    return names[*best];
  }

  // The better of two is never the one pod that is busier than all others.
  [[nodiscard]] std::string check_random(const std::vector<std::string>& names,
                                         const std::vector<Life>& tried, const std::string& went) {
    std::size_t candidates = 0;
    bool another_as_busy = false;
    bool possible = false;
    for (const std::string& name : names) {
      if (may_take(name, tried)) {
        ++candidates;
        possible |= name == went;
        another_as_busy |= name != went && pods_.at(name).load >= pods_[went].load;
      }
    }
    return possible && (candidates == 1 || another_as_busy) ? went : "?";
  }

  ThrottlerSpec spec_;
  BalancingPolicy policy_;
  std::map<std::string, Pod> pods_;
  std::size_t turn_ = 0;
};

}  // namespace sluice::activator
