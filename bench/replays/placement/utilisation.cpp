// R1: how much of the liked and of the other clusters is in use after 5, 10 and 15 applications.

#include "bench/replays/placement/fleet.h"
#include "bench/replays/placement/replays.h"

#include <array>
#include <string>
#include <utility>

namespace sluice::replay {
namespace {

constexpr std::uint64_t kBatches = 200;
constexpr std::array<std::size_t, 3> kMeasured{5, 10, 15};

// Shares of CPU, summed over runs.
struct Use {
  double liked = 0;
  double other = 0;
  double total = 0;
};

using Uses = std::array<Use, kMeasured.size()>;

void measure(const Fleet& fleet, Use& use) {
  const auto whole = static_cast<double>(fleet.cpu());
  const auto share = [&](std::size_t cluster) {
    return static_cast<double>(fleet.cpu_used(cluster)) / whole;
  };
  use.liked += (share(0) + share(1)) / 2;
  use.other += share(2);
  use.total += (share(0) + share(1) + share(2)) / Fleet::kClusters;
}

Uses play(const FleetKind& kind, std::uint64_t seed, Digest& digest) {
  Fleet fleet{kind};
  Uses uses{};
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    for (std::uint64_t repetition = 0; repetition < kRepetitions; ++repetition) {
      fleet.clear();
      std::size_t arrived = 0;
      for (const Application& each : draw_applications({.seed = seed}, batch, repetition)) {
        (void)fleet.admit(each);
        ++arrived;
        for (std::size_t at = 0; at < kMeasured.size(); ++at) {
          if (arrived == kMeasured[at]) measure(fleet, uses[at]);
        }
      }
      fleet.describe(digest);
    }
  }
  for (Use& use : uses) {
    constexpr auto kRuns = static_cast<double>(kBatches * kRepetitions);
    use = {use.liked / kRuns, use.other / kRuns, use.total / kRuns};
  }
  return uses;
}

}  // namespace

Report run_utilisation(const Options& options) {
  Digest digest;
  const Uses none = play({.preference = false}, options.seed, digest);
  const Uses liking = play({}, options.seed, digest);
  const Uses moving = play({.mover = Mover::ours}, options.seed, digest);
  Report report{.title = "R1 utilisation: no preference (a), preference (b), with moves (c)"};
  report.notes = {"seed " + std::to_string(options.seed) + ", digest " +
                  std::to_string(digest.value()) + ", " + std::to_string(kBatches) +
                  " batches of " + std::to_string(kRepetitions)};
  for (std::size_t at = 0; at < kMeasured.size(); ++at) {
    const std::string when = " at " + std::to_string(kMeasured[at]) + " applications";
    const std::array<std::pair<const char*, const Use*>, 3> cases{
        {{"(a) ", &none[at]}, {"(b) ", &liking[at]}, {"(c) ", &moving[at]}}};
    for (const auto& [name, use] : cases) {
      report.show(std::string{name} + "private" + when, use->liked);
      report.show(std::string{name} + "public" + when, use->other);
      report.show(std::string{name} + "total" + when, use->total);
    }
  }
  constexpr double kPoints = 0.01;
  const auto apart = [](double left, double right) {
    return left > right ? left - right : right - left;
  };
  report.at_least("private (c) / (a) at 5", moving[0].liked / none[0].liked, 1.20);
  report.at_least("private (c) / (a) at 10", moving[1].liked / none[1].liked, 1.20);
  report.at_most("public (c) / (a) at 5", moving[0].other / none[0].other, 0.5);
  report.at_most("total (c) and (a) apart at 5", apart(moving[0].total, none[0].total),
                 2 * kPoints);
  report.at_most("total (c) and (a) apart at 10", apart(moving[1].total, none[1].total),
                 2 * kPoints);
  report.at_least("total (c) - (b) at 15", moving[2].total - liking[2].total, 5 * kPoints);
  report.at_least("total (c) - (a) at 15", moving[2].total - none[2].total, 3 * kPoints);
  return report;
}

}  // namespace sluice::replay
