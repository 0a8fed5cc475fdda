#pragma once

#include "tests/unit/memory-pressure/core/scene.h"

#include "memory-pressure/core/foresight_policy.h"
#include <chrono>
#include <string>

namespace sluice::node_agent {

inline PolicySettings without_reserve() {
  PolicySettings settings;
  settings.reserve = 0;
  return settings;
}

/// A node under the rule. Its memory is what its containers use, and `beside`.
class Foreseen {
 public:
  explicit Foreseen(const PolicySettings& settings = without_reserve()) : policy_{settings} {}

  /// A container of a Job whose program begins now.
  Container& birth(const std::string& id, std::int64_t limit, std::int64_t size = 0) {
    Container& one = scene.add(id, size, limit, 0);
    one.marks.batch = true;
    one.cgroup = "/pods/" + id;
    one.born = scene.seen.now;
    one.image = "job";
    one.frozen = false;
    return one;
  }

  Container& service(const std::string& id, std::int64_t limit, std::int64_t size) {
    Container& one = scene.add(id, size, limit, 3'600'000);
    one.image = "service";
    return one;
  }

  /// Who is held or throttled after a look, `milliseconds` after the one before.
  std::string look(std::int64_t milliseconds = 50) {
    scene.after(milliseconds);
    std::int64_t used = beside * kMiB;
    for (const Container& one : scene.seen.containers) used += one.working_set.value_or(0);
    scene.node().used = used;
    decision = policy_.decide(scene.seen);
    for (Container& one : scene.seen.containers) one.frozen = false;
    for (const Throttle& held : decision.throttled) scene[held.id].frozen = held.freeze;
    return throttled(decision);
  }

  std::string look_for(Duration time, std::int64_t each_ms = 250) {
    std::string last;
    for (Duration at{}; at < time; at += std::chrono::milliseconds{each_ms}) last = look(each_ms);
    return last;
  }

  /// Containers of 100 MiB with `limit` that swing between 20 and 60 have been watched.
  void know(std::int64_t limit) {
    for (int cycle = 0; cycle < 3; ++cycle) {
      if (cycle == 0) birth("teacher", limit, 20);
      scene.grow("teacher", 60);
      look_for(std::chrono::seconds{10});
      scene.grow("teacher", 20);
      look_for(std::chrono::seconds{10});
    }
    scene.remove("teacher");
    look();
  }

  ForesightPolicy& policy() { return policy_; }

  Scene scene;
  std::int64_t beside = 0;
  Decision decision;

 private:
  ForesightPolicy policy_;
};

}  // namespace sluice::node_agent
