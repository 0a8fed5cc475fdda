// scratch
#include "tests/simulation/node_run.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace sluice::node_agent {
TEST(Scratch, Table) {
  const int seeds = std::atoi(std::getenv("SEEDS") ? std::getenv("SEEDS") : "3");
  for (const bool faith : {false, true})
    for (const int n : {9, 10, 11, 12, 14}) {
      for (int kind = 0; kind < 6; ++kind) {
        NodeScene scene = lab(n);
        if (faith) scene = faithful(scene);
        auto rules = throttling(kind == 0 ? PolicyKind::off : PolicyKind::foresight);
        if (kind > 0) scene.sight_ms = kind == 2 ? 100 : 10;
        if (kind == 3) scene.sight_ms.reset();
        if (kind == 4) rules.policy.hold = HoldBy::quota;
        if (kind == 5) rules.policy.confidence = 3;
        int k = 0, own = 0, fr = 0, up = 0;
        double m = 0, p = 0;
        std::int64_t peak = 0;
        std::string br;
        for (int seed = 1; seed <= seeds; ++seed) {
          const NodeRun run = play(scene, rules, static_cast<std::uint64_t>(seed));
          k += run.restarts_kernel;
          own += run.restarts_own;
          fr += run.freezes;
          up += run.updates;
          m += run.makespan_ms / 1000;
          p = std::max(p, run.longest_pause_ms);
          peak = std::max(peak, run.peak);
          for (auto& b : run.breaches) br += b + "; ";
        }
        const char* names[] = {"off", "10ms", "100ms", "lists", "quota", "z3"};
        std::printf(
            "%s %d %s kernel %.1f own %.1f makespan %.1f freezes %.1f updates %.1f peak %ld pause "
            "%.1f %s\n",
            faith ? "faithful" : "harsh", n, names[kind], 1.0 * k / seeds, 1.0 * own / seeds,
            m / seeds, 1.0 * fr / seeds, 1.0 * up / seeds, peak >> 20, p / 1000, br.c_str());
      }
    }
}
}  // namespace sluice::node_agent
