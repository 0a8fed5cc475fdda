#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/placement.h"
#include "bench/micro/allocation_count.h"
#include "common/base/check.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::placement {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kAskedAt{1'700'000'000s};
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
constexpr Resources kNode{.cpu = 16'000, .memory = 64 * kGibibyte, .slots = 200};
constexpr Resources kReplica{.cpu = 500, .memory = kGibibyte, .slots = 1};

constexpr std::array<std::string_view, 3> kPlaces{"a", "b", "c"};

// So many places of one node each, where everything starts that there is room for.
class OpenSite final : public Site {
 public:
  explicit OpenSite(std::size_t places, std::int64_t times) {
    for (std::size_t at = 0; at < places; ++at) {
      const std::string name{kPlaces[at]};
      const auto place =
          ledger_.add_place({.name = name, .preference = static_cast<std::int32_t>(at)});
      nodes_.push_back(ledger_.add_node({.name = name, .place = place, .capacity = kNode * times}));
    }
  }

  Ledger& ledger() override { return ledger_; }

  [[nodiscard]] std::optional<NodeId> find(std::string_view node) const override {
    const auto at = std::find(kPlaces.begin(), kPlaces.end(), node) - kPlaces.begin();
    return nodes_[static_cast<std::size_t>(at)];
  }

  [[nodiscard]] bool reports_settled() const override { return false; }

  Terms terms(const RevisionId& /*revision*/, const RevisionDemand& demand,
              std::int64_t /*held*/) override {
    const auto there = static_cast<std::int32_t>(demand.replicas.size());
    return {.most = demand.wanted, .there = there, .now = demand.wanted - there};
  }

  GateAnswer may_start(const RevisionId& /*revision*/, std::int32_t /*nth*/, NodeId /*node*/,
                       const Resources& /*each*/, TimePoint /*now*/) override {
    return {};
  }

  std::int64_t on_start(NodeId /*node*/, TimePoint /*now*/) override { return 0; }

  [[nodiscard]] std::optional<TimePoint> rested(const Resources& /*each*/) const override {
    return std::nullopt;
  }

  void explain(const RevisionId& /*revision*/, const RevisionDemand& /*demand*/,
               const Refusal& /*refusal*/, Missing& /*missing*/) override {}

 private:
  Ledger ledger_;
  std::vector<NodeId> nodes_;
};

// One item is a revision of one replica that asks for a second one, and then no longer wants it,
// with one place or with three.
void placement_ask(benchmark::State& state) {
  OpenSite site{static_cast<std::size_t>(state.range(0)), 1};
  Placement placement{site};
  const RevisionId revision{"default", "shop-00001"};
  const std::array replicas{ReplicaAt{.node = kPlaces[0]}};
  RevisionDemand demand{.each = kReplica, .replicas = replicas, .now = kAskedAt};
  const auto once = [&] {
    for (const std::int32_t wanted : {2, 1}) {
      demand.wanted = wanted;
      CHECK(placement.ask(revision, demand).replicas == wanted);
    }
  };
  once();
  const std::int64_t before = micro::allocations();
  for (auto _ : state) once();
  if (state.range(0) == 1) {
    micro::conclude(state, before);
  } else {
    // Its answer has the replicas of each place.
    state.counters["allocations_per_item"] = benchmark::Counter(
        static_cast<double>(micro::allocations() - before), benchmark::Counter::kAvgIterations);
  }
}

BENCHMARK(placement_ask)->Arg(1)->Arg(3);

// One round is that many revisions, each of which asks for the two replicas that it has.
void placement_sweep(benchmark::State& state) {
  const auto revisions = static_cast<std::size_t>(state.range(0));
  OpenSite site{kPlaces.size(), state.range(0)};
  Placement placement{site};
  std::vector<RevisionId> named;
  for (std::size_t at = 0; at < revisions; ++at) {
    named.push_back({"default", "service-" + std::to_string(at) + "-00001"});
  }
  const std::array replicas{ReplicaAt{.node = kPlaces[0]}, ReplicaAt{.node = kPlaces[1]}};
  RevisionDemand demand{.wanted = 2, .each = kReplica, .replicas = replicas, .now = kAskedAt};
  const auto once = [&] {
    for (const RevisionId& revision : named) {
      CHECK(placement.ask(revision, demand).replicas == 2);
    }
    demand.now += 2s;
  };
  once();
  for (auto _ : state) once();
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

BENCHMARK(placement_sweep)->Arg(10'000)->Unit(benchmark::kMillisecond);

// One item is one replica of a service that may use three places of one node each: the choice of
// its node, its reservation, and the end of that.
void placement_reserve(benchmark::State& state) {
  Ledger ledger;
  for (int at = 0; at < 3; ++at) {
    const auto place = ledger.add_place({.name = std::to_string(at), .preference = at});
    (void)ledger.add_node({.name = "n", .place = place, .capacity = kNode});
  }
  const PlaceOrder order{ledger, {}};
  const Demand demand{.service = ServiceId{7}, .need = kReplica, .order = &order};
  const auto once = [&] {
    const auto choice = choose(ledger, demand);
    CHECK(choice.node);
    const auto id = ledger.reserve({.owner = Owner::of(demand.service),
                                    .service = demand.service,
                                    .node = *choice.node,
                                    .room = kReplica,
                                    .expires = kAskedAt});
    CHECK(ledger.release(id));
  };
  once();
  const std::int64_t before = micro::allocations();
  for (auto _ : state) once();
  micro::conclude(state, before);
}

BENCHMARK(placement_reserve);

// One item is one replica that a place of that many nodes is given, and one that it loses: four
// fifths of the nodes are full.
void placement_choose(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  Ledger ledger;
  const auto place = ledger.add_place({.name = "fleet", .packing = Packing::pack});
  for (std::uint32_t at = 0; at < nodes; ++at) {
    const auto node = ledger.add_node({.name = "n", .place = place, .capacity = kNode});
    if (at % 5 != 0) ledger.take(node, ServiceId{at % 100}, kReplica * 32);
  }
  const PlaceOrder order{ledger, {}};
  const Demand demand{.service = ServiceId{100}, .need = kReplica, .order = &order};
  const auto once = [&] {
    const auto choice = choose(ledger, demand);
    CHECK(choice.node);
    ledger.take(*choice.node, demand.service, kReplica);
    ledger.give_back(*choice.node, demand.service, kReplica);
  };
  once();
  const std::int64_t before = micro::allocations();
  for (auto _ : state) once();
  micro::conclude(state, before);
}

BENCHMARK(placement_choose)->Arg(1)->Arg(5'000)->Arg(50'000);

}  // namespace
}  // namespace sluice::placement
