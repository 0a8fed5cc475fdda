#include "autoscaler/core/decision/multi_scaler.h"
#include "bench/micro/allocation_count.h"
#include "common/base/check.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using sluice::Duration;
using sluice::RevisionId;
using sluice::TimePoint;
using sluice::autoscaler::MultiScaler;
using sluice::autoscaler::ScaleInputs;
using sluice::autoscaler::Stat;
using sluice::autoscaler::StatDoor;

constexpr TimePoint kStart{1'700'000'000s};

std::int32_t ready_pods(std::size_t revision) {
  return static_cast<std::int32_t>(1 + revision % 40);
}

// A load that differs by revision and moves in time, so that answers move too.
Stat stat_of(std::size_t revision, std::int64_t second) {
  const auto wave = static_cast<double>((revision * 7 + static_cast<std::size_t>(second)) % 50);
  const double load = 60.0 * ready_pods(revision) + wave;
  return {.average_concurrency = load, .request_count = load / 2};
}

std::vector<RevisionId> names(std::size_t count) {
  std::vector<RevisionId> revisions;
  for (std::size_t i = 0; i < count; ++i) {
    revisions.push_back({"default", "a-service-of-a-usual-name-" + std::to_string(i) + "-00001"});
  }
  return revisions;
}

/// Revisions with their loads on one scheduler, and a time that moves only when told.
class Fleet {
 public:
  /// `revisions` are borrowed from the bench, which keeps them beside the fleet.
  explicit Fleet(std::span<const RevisionId> revisions) : revisions_(revisions) {
    for (std::size_t i = 0; i < revisions.size(); ++i) {
      CHECK(scalers_.add(revisions_[i], {}, ready_pods(i), now_).has_value());
    }
    evaluate();
  }

  void advance() {
    ++second_;
    now_ += 1s;
  }

  /// A stat of one pod, by the door that activators and scrapes share.
  void push(std::size_t revision, const Stat& stat) {
    const auto poked = scalers_.push(revisions_[revision], stat, now_, StatDoor::stream, now_);
    benchmark::DoNotOptimize(poked);
  }

  /// The next second, and one stat of every revision.
  void report() {
    advance();
    for (std::size_t i = 0; i < revisions_.size(); ++i) {
      push(i, stat_of(i, second_));
    }
  }

  /// Evaluates the revisions that are due, and returns how many those were.
  std::size_t evaluate() {
    std::size_t evaluated = 0;
    scalers_.take_due(now_, due_);
    for (const MultiScaler::Due& due : due_) {
      if (!due.evaluate) {
        continue;
      }
      ++evaluated;
      // Handles count up from 0 as revisions are added.
      const ScaleInputs inputs{.ready = ready_pods(due.handle.index)};
      benchmark::DoNotOptimize(scalers_.scaler(due.handle)->evaluate(inputs, now_));
    }
    return evaluated;
  }

  void play(Duration length) {
    const TimePoint end = now_ + length;
    while (now_ < end) {
      report();
      evaluate();
    }
  }

 private:
  TimePoint now_ = kStart;
  std::int64_t second_ = 0;
  std::span<const RevisionId> revisions_;
  MultiScaler scalers_;
  std::vector<MultiScaler::Due> due_;
};

// Heap bytes per revision of a fleet that lived for `length`: its windows, its decider, its place
// in the scheduler.
double bytes_each(std::span<const RevisionId> revisions, Duration length) {
  const std::int64_t before = sluice::micro::live_bytes();
  Fleet fleet(revisions);
  fleet.play(length);
  const auto used = static_cast<double>(sluice::micro::live_bytes() - before);
  return used / static_cast<double>(revisions.size());
}

// Bytes that a day of traffic adds to each of a few revisions whose windows are full already.
double bytes_grown_in_a_day(std::span<const RevisionId> revisions) {
  Fleet fleet(revisions);
  fleet.play(10min);
  const std::int64_t before = sluice::micro::live_bytes();
  fleet.play(24h);
  const auto grown = static_cast<double>(sluice::micro::live_bytes() - before);
  return grown / static_cast<double>(revisions.size());
}

// One round is one evaluation of every revision, all with full windows of 60 s; between rounds two
// seconds of stats come in, off the clock. The memory figures are of fleets made beside it: with
// full windows, after a day, and without a single stat.
void decider_sweep(benchmark::State& state) {
  const auto revisions = static_cast<std::size_t>(state.range(0));
  const std::vector<RevisionId> named = names(revisions);
  Fleet fleet(named);
  fleet.play(60s);
  for (auto _ : state) {
    state.PauseTiming();
    fleet.report();
    fleet.report();
    state.ResumeTiming();
    CHECK(fleet.evaluate() == revisions);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
  fleet.report();
  fleet.report();
  const std::int64_t before = sluice::micro::allocations();
  CHECK(fleet.evaluate() == revisions);
  const auto made = static_cast<double>(sluice::micro::allocations() - before);
  state.counters["allocations_per_revision"] = made / static_cast<double>(revisions);
  constexpr std::size_t kFew = 8;
  const double full = bytes_each(named, 60s);
  state.counters["bytes_per_revision"] = full;
  state.counters["bytes_after_a_day"] = full + bytes_grown_in_a_day(std::span{named}.first(kFew));
  state.counters["bytes_per_idle_revision"] = bytes_each(named, 0s);
}

BENCHMARK(decider_sweep)->Arg(10'000)->Unit(benchmark::kMillisecond);

// One round is what a second brings: the stats of all pods, 50 to a revision and in no order, each
// recorded by itself, and the evaluation of the half of the revisions whose tick it is.
void stat_ingest(benchmark::State& state) {
  constexpr std::size_t kPodsEach = 50;
  const auto pods = static_cast<std::size_t>(state.range(0));
  const std::size_t revisions = pods / kPodsEach;
  const std::vector<RevisionId> named = names(revisions);
  Fleet fleet(named);
  fleet.play(60s);
  std::vector<std::size_t> senders(pods);
  for (std::size_t i = 0; i < pods; ++i) {
    senders[i] = i % revisions;
  }
  std::shuffle(senders.begin(), senders.end(), std::mt19937_64{1});
  const Stat stat{.average_concurrency = 1.3, .request_count = 9};
  for (auto _ : state) {
    fleet.advance();
    for (const std::size_t sender : senders) {
      fleet.push(sender, stat);
    }
    benchmark::DoNotOptimize(fleet.evaluate());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

BENCHMARK(stat_ingest)->Arg(50'000)->Unit(benchmark::kMillisecond);

}  // namespace
