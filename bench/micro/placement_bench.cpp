#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/ledger.h"
#include "bench/micro/allocation_count.h"
#include "common/base/check.h"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace {

using namespace std::chrono_literals;
using sluice::TimePoint;
using sluice::placement::choose;
using sluice::placement::Demand;
using sluice::placement::Ledger;
using sluice::placement::NodeId;
using sluice::placement::Owner;
using sluice::placement::Packing;
using sluice::placement::PlaceOrder;
using sluice::placement::Resources;
using sluice::placement::ServiceId;

constexpr TimePoint kAskedAt{1'700'000'000s};
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
constexpr Resources kNode{.cpu = 16'000, .memory = 64 * kGibibyte, .slots = 200};
constexpr Resources kReplica{.cpu = 500, .memory = kGibibyte, .slots = 1};

// One item is one replica of a service that may use three places of one node each: the choice of
// its node, its reservation, and the end of that.
void placement_ask(benchmark::State& state) {
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
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) once();
  sluice::micro::conclude(state, before);
}

BENCHMARK(placement_ask);

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
  const std::int64_t before = sluice::micro::allocations();
  for (auto _ : state) once();
  sluice::micro::conclude(state, before);
}

BENCHMARK(placement_choose)->Arg(1)->Arg(5'000)->Arg(50'000);

}  // namespace
