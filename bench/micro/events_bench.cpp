#include "autoscaler/io/fleet_events.h"
#include "autoscaler/io/ring_history.h"
#include "common/base/check.h"
#include "common/loop/loop.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace autoscaler = sluice::autoscaler;

// A loop of which the events ask the time alone.
class Still final : public sluice::Loop {
 public:
  [[nodiscard]] sluice::TimePoint now() const override { return sluice::TimePoint{1'700'000'000s}; }

  void post(std::function<void()> /*action*/) override {}

  [[nodiscard]] std::unique_ptr<sluice::Timer> timer() override { return nullptr; }
};

// One round tells of a changed decision of every revision: the part of an evaluation that events
// and history add when all change at once. `readers` of /events read each of them.
void decisions_told(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<sluice::model::Revision> revisions(count);
  autoscaler::DecisionRecord record;
  for (std::size_t i = 0; i < count; ++i) {
    revisions[i].service = "a-service-of-a-usual-name-" + std::to_string(i);
    revisions[i].id = {"default", revisions[i].service + "-00001"};
  }
  record.revision = revisions[0].id.name;
  const Still loop;
  sluice::api::EventRing ring;
  autoscaler::RingHistory history;
  autoscaler::FleetEvents events{loop, ring, history};
  std::size_t read = 0;
  std::vector<sluice::api::EventRing::Subscription> readers;
  for (std::int64_t i = 0; i < state.range(1); ++i) {
    readers.push_back(
        ring.subscribe({}, [&read](const auto& event) { read += event->data().size(); }));
  }
  for (auto _ : state) {
    for (const auto& revision : revisions) events.decided(revision, record);
  }
  CHECK((read > 0) == (state.range(1) > 0));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

BENCHMARK(decisions_told)
    ->ArgNames({"revisions", "readers"})
    ->Args({10'000, 0})
    ->Args({10'000, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
