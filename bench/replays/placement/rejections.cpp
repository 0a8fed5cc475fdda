// R2: how many applications are rejected after all have arrived.

#include "bench/replays/placement/fleet.h"
#include "bench/replays/placement/rearrangement.h"
#include "bench/replays/placement/replays.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace sluice::replay {
namespace {

constexpr std::uint64_t kBatches = 4000;
constexpr std::uint64_t kQuickBatches = 1000;
constexpr std::uint64_t kFreeBatches = 200;  // searches in which everything may move are slow
constexpr std::uint64_t kQuickFreeBatches = 20;
constexpr std::int64_t kUsualCpu = 6600;

// What one case rejected, by batch.
struct Outcome {
  std::vector<std::int64_t> rejected;
  std::int64_t moves = 0;
  std::vector<std::int64_t> clusters;  // of each application, 0 where it was rejected

  [[nodiscard]] std::int64_t sum(std::size_t batches) const {
    std::int64_t all = 0;
    for (std::size_t at = 0; at < batches; ++at) all += rejected[at];
    return all;
  }

  [[nodiscard]] std::int64_t sum() const { return sum(rejected.size()); }

  [[nodiscard]] double rate(std::size_t batches) const {
    return static_cast<double>(sum(batches)) /
           static_cast<double>(batches * kRepetitions * kApplications);
  }

  [[nodiscard]] double rate() const { return rate(rejected.size()); }
};

struct Experiment {
  TraceKind trace{};
  std::uint64_t batches = 0;
  Digest digest{};

  [[nodiscard]] Outcome play(const FleetKind& kind) {
    Fleet fleet{kind};
    Outcome outcome;
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
      std::int64_t rejected = 0;
      for (std::uint64_t repetition = 0; repetition < kRepetitions; ++repetition) {
        fleet.clear();
        for (const Application& each : draw_applications(trace, batch, repetition)) {
          rejected += fleet.admit(each) ? 0 : 1;
        }
        outcome.moves += fleet.moves();
        const auto clusters = fleet.clusters_used();
        outcome.clusters.insert(outcome.clusters.end(), clusters.begin(), clusters.end());
        fleet.describe(digest);
      }
      outcome.rejected.push_back(rejected);
    }
    return outcome;
  }

  [[nodiscard]] Outcome rearrange(std::uint64_t count, std::int64_t& cut_off) const {
    Outcome outcome;
    for (std::uint64_t batch = 0; batch < count; ++batch) {
      std::int64_t rejected = 0;
      for (std::uint64_t repetition = 0; repetition < kRepetitions; ++repetition) {
        Rearrangement all{kUsualCpu};
        for (const Application& each : draw_applications(trace, batch, repetition)) {
          rejected += all.admit(each) ? 0 : 1;
        }
        cut_off += all.cut_off();
      }
      outcome.rejected.push_back(rejected);
    }
    return outcome;
  }
};

double ratio(const Outcome& part, const Outcome& whole) {
  return static_cast<double>(part.sum()) /
         static_cast<double>(std::max<std::int64_t>(1, whole.sum()));
}

// Clusters beyond the first that an application uses, the mean over those that both cases let in:
// what only one lets in is larger than the others.
double dispersion(const Outcome& of, const Outcome& beside) {
  std::int64_t applications = 0;
  std::int64_t clusters = 0;
  for (std::size_t at = 0; at < of.clusters.size(); ++at) {
    if (of.clusters[at] == 0 || beside.clusters[at] == 0) continue;
    ++applications;
    clusters += of.clusters[at] - 1;
  }
  return static_cast<double>(clusters) /
         static_cast<double>(std::max<std::int64_t>(1, applications));
}

// Of ratio(), over batches: these are independent of each other, their repetitions are not.
double standard_error(const Outcome& part, const Outcome& whole) {
  const double all = ratio(part, whole);
  double squares = 0;
  for (std::size_t at = 0; at < whole.rejected.size(); ++at) {
    const double beyond =
        static_cast<double>(part.rejected[at]) - all * static_cast<double>(whole.rejected[at]);
    squares += beyond * beyond;
  }
  return std::sqrt(squares) / static_cast<double>(std::max<std::int64_t>(1, whole.sum()));
}

// Of the batches in which the plain rule rejects any, the median of what is rejected less.
double median_gain(const Outcome& ours, const Outcome& plain) {
  std::vector<double> gains;
  for (std::size_t at = 0; at < plain.rejected.size(); ++at) {
    if (plain.rejected[at] == 0) continue;
    gains.push_back(1 - static_cast<double>(ours.rejected[at]) /
                            static_cast<double>(plain.rejected[at]));
  }
  if (gains.empty()) return 0;
  std::sort(gains.begin(), gains.end());
  return gains[gains.size() / 2];
}

double worse(const Outcome& ours, const Outcome& plain) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < plain.rejected.size(); ++at) {
    count += ours.rejected[at] > plain.rejected[at] ? 1U : 0U;
  }
  return static_cast<double>(count) / static_cast<double>(plain.rejected.size());
}

// Of a policy that names `dispersion`, as the document's does, and of the built-in one, which does
// not.
void show_dispersion(Experiment& experiment, const Outcome& written, const Outcome& ours,
                     Report& report) {
  const Outcome by_it =
      experiment.play({.mover = Mover::ours,
                       .policy = {.name = "together", .algorithms = {{.name = "dispersion"}}}});
  report.show("rejected by ours with the policy dispersion", by_it.rate());
  report.at_most("clusters of an application beyond its first: that / the document as written",
                 dispersion(by_it, written) / dispersion(written, by_it), 1);
  report.show("clusters of an application beyond its first: ours / the document as written",
              dispersion(ours, written) / dispersion(written, ours));
}

void at_usual_load(Experiment& experiment, const Options& options, Report& report) {
  const Outcome loose = experiment.play({.preference = false});
  const Outcome plain = experiment.play({});
  const Outcome written = experiment.play({.mover = Mover::document});
  const Outcome with_destinations = experiment.play({.mover = Mover::document_destinations});
  const Outcome with_room = experiment.play({.mover = Mover::document_room});
  const Outcome ours = experiment.play({.mover = Mover::ours});
  const std::uint64_t some = options.quick ? kQuickFreeBatches : kFreeBatches;
  std::int64_t cut_off = 0;
  const Outcome free = experiment.rearrange(some, cut_off);
  report.show("rejected at 6,600: no preference", loose.rate());
  report.show("preference only", plain.rate());
  report.show("the document as written", written.rate());
  report.show("the document with destinations", with_destinations.rate());
  report.show("the document with a look at room elsewhere", with_room.rate());
  report.show("ours", ours.rate());
  report.at_most("ours / preference only", ratio(ours, plain), options.quick ? 0.47 : 0.45);
  report.show("standard error of that", standard_error(ours, plain));
  report.at_most("ours / the document as written", ratio(ours, written), 0.65);
  report.at_most("ours / the document with destinations", ratio(ours, with_destinations), 0.80);
  const auto extra_of = [&plain](const Outcome& outcome) {
    return static_cast<double>(std::max<std::int64_t>(1, plain.sum() - outcome.sum()));
  };
  report.show("ours / the document with a look at room elsewhere", ratio(ours, with_room));
  report.show("moves per extra application of that",
              static_cast<double>(with_room.moves) / extra_of(with_room));
  report.at_least("fewer in the median batch", median_gain(ours, plain), 0.5);
  report.at_most("batches worse than preference only", worse(ours, plain), 0.01);
  report.at_most("moves per extra application", static_cast<double>(ours.moves) / extra_of(ours),
                 3.2);
  show_dispersion(experiment, written, ours, report);
  const std::string of_some = " over " + std::to_string(some) + " batches";
  report.show("everything rearranged freely" + of_some, free.rate());
  report.show("searches that were cut off" + of_some, static_cast<double>(cut_off));
  report.at_most("ours beyond that, in points" + of_some, 100 * (ours.rate(some) - free.rate()), 1);
}

// The loads and traces beside the usual one: `where` names them.
void at_load(Experiment& experiment, const std::string& where, std::int64_t cpu, double bar,
             Report& report) {
  const Outcome plain = experiment.play({.cpu = cpu});
  const Outcome written = experiment.play({.cpu = cpu, .mover = Mover::document});
  const Outcome ours = experiment.play({.cpu = cpu, .mover = Mover::ours});
  report.show("rejected " + where + ": preference only", plain.rate());
  report.show("the document as written", written.rate());
  report.show("ours", ours.rate());
  report.at_most("ours / preference only", ratio(ours, plain), bar);
  report.at_most("ours / the document as written", ratio(ours, written), 1);
}

}  // namespace

Report run_rejections(const Options& options) {
  Experiment experiment{.trace = {.seed = options.seed},
                        .batches = options.quick ? kQuickBatches : kBatches};
  Report report{.title = "R2 rejected applications"};
  at_usual_load(experiment, options, report);
  constexpr std::int64_t kHighLoad = 6000;
  constexpr std::int64_t kLowLoad = 7200;
  at_load(experiment, "at 6,000", kHighLoad, 0.65, report);
  at_load(experiment, "at 7,200", kLowLoad, 0.32, report);
  experiment.trace.per_service = true;
  at_load(experiment, "with constraints per service", kUsualCpu, 0.36, report);
  report.notes = {"seed " + std::to_string(options.seed) + ", digest " +
                  std::to_string(experiment.digest.value()) + ", " +
                  std::to_string(experiment.batches) + " batches of " +
                  std::to_string(kRepetitions)};
  return report;
}

}  // namespace sluice::replay
