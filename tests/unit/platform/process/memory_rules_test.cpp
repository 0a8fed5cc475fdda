#include "platform/process/memory_rules.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/quota.h"
#include <set>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;
using node_agent::Action;
using node_agent::CpuQuota;
using node_agent::kUnlimited;
using node_agent::NodeMemory;
using node_agent::Outcome;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr TimePoint kStart{std::chrono::hours{1000}};

/// A machine of 1024 MiB, of which the engine keeps 51 MiB clear.
NodeMemory used(std::int64_t mebibytes) {
  return {.capacity = 1024 * kMiB, .used = mebibytes * kMiB, .stall = {}};
}

ReplicaSeen replica(int number, std::int64_t mebibytes = 20, TimePoint started = kStart - 120s) {
  return {.id = "app-00001-" + std::to_string(number),
          .revision = "app-00001",
          .pid = 100 + number,
          .started = started,
          .ready = true,
          .memory = mebibytes * kMiB,
          .quota = kUnlimited};
}

/// Plays the kernel: carries out what the rules want and writes down the quotas in order.
class Machine {
 public:
  explicit Machine(MemoryRules& rules) : rules_(rules) {}

  void look(std::int64_t mebibytes, std::vector<ReplicaSeen> replicas) {
    now_ += 250ms;
    for (ReplicaSeen& each : replicas) {
      if (const auto set = quotas_.find(each.id); set != quotas_.end()) each.quota = set->second;
      each.held = held_.contains(each.id);
    }
    carry_out(rules_.look(used(mebibytes), replicas, now_));
  }

  [[nodiscard]] TimePoint now() const { return now_; }

  std::vector<std::string> diary;

 private:
  void carry_out(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (const auto* update = std::get_if<node_agent::Update>(&action)) {
        const std::string id = MemoryRules::replica_of(update->id);
        quotas_[id] = update->quota;
        diary.push_back(id + " " + std::to_string(update->quota.quota_us));
        carry_out(rules_.controller().answered(update->call, Outcome::ok, now_));
      } else if (const auto* freeze = std::get_if<node_agent::Freeze>(&action)) {
        const std::string id = MemoryRules::replica_of(freeze->id);
        if (freeze->frozen) held_.insert(id);
        if (!freeze->frozen) held_.erase(id);
        diary.push_back(id + (freeze->frozen ? " held" : " let go"));
        carry_out(rules_.controller().answered(freeze->call, Outcome::ok, now_));
      } else if (const auto* read = std::get_if<node_agent::ReadBack>(&action)) {
        const CpuQuota quota = quotas_[MemoryRules::replica_of(read->id)];
        carry_out(rules_.controller().read_back(read->call, quota, now_));
      } else if (const auto* stop = std::get_if<node_agent::Stop>(&action)) {
        diary.push_back(MemoryRules::replica_of(stop->id) + " stopped");
        carry_out(rules_.controller().answered(stop->call, Outcome::ok, now_));
      }
    }
  }

  MemoryRules& rules_;
  TimePoint now_ = kStart;
  std::map<std::string, CpuQuota> quotas_;
  std::set<std::string> held_;
};

using Diary = std::vector<std::string>;

TEST(MemoryRules, EveryReplicaMayStartWhereMemoryCannotBeRead) {
  MemoryRules rules{true};

  (void)rules.look(std::nullopt, {}, kStart);

  EXPECT_TRUE(rules.ask("app-00001-1", "app-00001", 4096 * kMiB, kStart).granted);
}

TEST(MemoryRules, TheFirstReplicaMayStartOnAFullMachine) {
  MemoryRules rules{true};

  (void)rules.look(used(1020), {}, kStart);

  EXPECT_TRUE(rules.ask("app-00001-1", "app-00001", 512 * kMiB, kStart).granted);
  EXPECT_FALSE(rules.ask("app-00001-2", "app-00001", 512 * kMiB, kStart).granted);
}

TEST(MemoryRules, ShowsNoMoreRoomThanTheMachineHas) {
  MemoryRules rules{true};

  (void)rules.look(used(20), {}, kStart);

  EXPECT_GT(rules.decision().room_bytes, 1024 * kMiB) << "claims are seldom used up";
  EXPECT_EQ(rules.admit_bytes(), 1024 * kMiB);
}

TEST(MemoryRules, BoundsReplicasThatStartWithTheFirst) {
  MemoryRules rules{true};
  (void)rules.look(used(800), {}, kStart);

  EXPECT_TRUE(rules.ask("app-00001-1", "app-00001", 256 * kMiB, kStart).granted);
  EXPECT_FALSE(rules.ask("app-00001-2", "app-00001", 256 * kMiB, kStart).granted);
}

TEST(MemoryRules, RefusesAReplicaThatDoesNotFitWithBothNumbers) {
  MemoryRules rules{true};
  (void)rules.look(used(800), {replica(1)}, kStart);

  const GateAnswer answer = rules.ask("app-00001-2", "app-00001", 512 * kMiB, kStart);

  EXPECT_FALSE(answer.granted);
  EXPECT_FALSE(answer.later);
  EXPECT_EQ(answer.claim, 512 * kMiB);
  // (1024 - 51 - 800) / 0.8: a stranger is expected to take so much of its claim.
  EXPECT_LT(answer.free, 217 * kMiB);
  EXPECT_GT(answer.free, 200 * kMiB);
}

TEST(MemoryRules, ClaimsTheLimitElseTheLargestReadyReplicaElseADefault) {
  MemoryRules rules{true};
  (void)rules.look(used(100), {}, kStart);
  EXPECT_EQ(rules.ask("a-1", "app-00001", 0, kStart).claim, 64 * kMiB);
  EXPECT_EQ(rules.ask("a-2", "app-00001", 256 * kMiB, kStart).claim, 256 * kMiB);

  ReplicaSeen starting = replica(3, 500);
  starting.ready = false;
  (void)rules.look(used(100), {replica(1, 90), replica(2, 30), starting}, kStart + 1s);

  EXPECT_EQ(rules.ask("a-4", "app-00001", 0, kStart + 1s).claim, 90 * kMiB);
  EXPECT_EQ(rules.ask("b-1", "other-00001", 0, kStart + 1s).claim, 64 * kMiB);

  rules.forget("app-00001");

  EXPECT_EQ(rules.ask("a-5", "app-00001", 0, kStart + 1s).claim, 64 * kMiB);
}

TEST(MemoryRules, ClaimsOfOneTurnAddUp) {
  MemoryRules rules{true};
  (void)rules.look(used(700), {replica(1)}, kStart);
  int granted = 0;
  for (int i = 2; i < 20; ++i) {
    const auto answer =
        rules.ask("app-00001-" + std::to_string(i), "app-00001", 100 * kMiB, kStart);
    if (answer.granted) ++granted;
  }
  EXPECT_EQ(granted, 3);  // of (1024 - 51 - 700) / 0.8 = 341 MiB

  rules.controller().ended("app-00001-2");

  EXPECT_TRUE(rules.ask("app-00001-30", "app-00001", 100 * kMiB, kStart).granted);
}

TEST(MemoryRules, ManyStartAtOnceWhereThereIsMuchRoom) {
  MemoryRules rules{true};
  (void)rules.look(NodeMemory{.capacity = 8192 * kMiB, .used = 4096 * kMiB, .stall = {}}, {},
                   kStart);
  for (int i = 1; i <= 50; ++i) {
    EXPECT_TRUE(rules.ask("app-00001-" + std::to_string(i), "app-00001", 0, kStart).granted) << i;
  }
}

TEST(MemoryRules, OneStartsPerLookNearTheEdge) {
  MemoryRules rules{true};
  (void)rules.look(used(900), {replica(1)}, kStart);

  EXPECT_TRUE(rules.ask("app-00001-2", "app-00001", 0, kStart).granted);
  const GateAnswer second = rules.ask("app-00001-3", "app-00001", 0, kStart);

  EXPECT_FALSE(second.granted);
  EXPECT_TRUE(second.later);
}

TEST(MemoryRules, ThrottlesTheYoungestAndRestoresExactlyItsQuota) {
  MemoryRules rules{true};
  Machine machine{rules};
  const std::vector<ReplicaSeen> both{replica(1, 200), replica(2, 200, kStart - 60s)};
  machine.look(960, both);
  EXPECT_EQ(machine.diary, (Diary{"app-00001-2 10003"}));
  ASSERT_TRUE(rules.throttled().contains("app-00001-2"));
  EXPECT_NE(rules.throttled().at("app-00001-2"), "");

  for (int i = 0; i < 8; ++i) machine.look(400, both);

  EXPECT_EQ(machine.diary, (Diary{"app-00001-2 10003", "app-00001-2 -1"}));
  EXPECT_FALSE(rules.throttled().contains("app-00001-2"));
}

TEST(MemoryRules, RestoresTheLimitOfTheSpec) {
  MemoryRules rules{true};
  Machine machine{rules};
  std::vector<ReplicaSeen> both{replica(1, 200), replica(2, 200, kStart - 60s)};
  for (ReplicaSeen& each : both) each.quota = CpuQuota{.quota_us = 50'000, .period_us = 100'000};
  machine.look(960, both);
  for (int i = 0; i < 8; ++i) machine.look(400, both);

  EXPECT_EQ(machine.diary, (Diary{"app-00001-2 10003", "app-00001-2 50000"}));
}

TEST(MemoryRules, ReleasesAReplicaThatIsToLeave) {
  MemoryRules rules{true};
  Machine machine{rules};
  std::vector<ReplicaSeen> both{replica(1, 200), replica(2, 200, kStart - 60s)};
  machine.look(960, both);

  both[1].leaving = true;
  machine.look(960, both);
  machine.look(960, both);

  EXPECT_EQ(machine.diary, (Diary{"app-00001-2 10003", "app-00001-2 -1"}));
}

TEST(MemoryRules, StopsOneAsTheLastResortUnderItsQuota) {
  MemoryRules rules{true};
  Machine machine{rules};
  const std::vector<ReplicaSeen> both{replica(1, 200), replica(2, 200, kStart - 60s)};

  for (int i = 0; i < 4 * 40; ++i) machine.look(1000, both);

  ASSERT_GE(machine.diary.size(), 2U);
  EXPECT_EQ(machine.diary[0], "app-00001-2 10003");
  EXPECT_EQ(machine.diary[1], "app-00001-2 stopped");
}

TEST(MemoryRules, ThrottlesNoReplicaWithoutACgroupButShutsTheGate) {
  MemoryRules rules{false};
  Machine machine{rules};

  machine.look(1000, {replica(1, 200), replica(2, 200)});

  EXPECT_EQ(machine.diary, Diary{});
  EXPECT_FALSE(rules.ask("app-00001-3", "app-00001", 0, machine.now()).granted);
  EXPECT_TRUE(rules.trims(machine.now()));
}

TEST(MemoryRules, IdleReplicasStayAwayAMinuteAfterThePressure) {
  MemoryRules rules{true};
  (void)rules.look(used(500), {replica(1)}, kStart);
  EXPECT_FALSE(rules.trims(kStart));

  (void)rules.look(used(960), {replica(1)}, kStart + 1s);
  EXPECT_TRUE(rules.trims(kStart + 1s));
  (void)rules.look(used(500), {replica(1)}, kStart + 2s);

  EXPECT_TRUE(rules.trims(kStart + 60s));
  EXPECT_FALSE(rules.trims(kStart + 62s));
}

TEST(MemoryRules, LooksMoreOftenNearTheEdge) {
  MemoryRules rules{true};
  (void)rules.look(used(500), {replica(1)}, kStart);
  EXPECT_EQ(rules.controller().next_sample(), 250ms);
  (void)rules.look(used(900), {replica(1)}, kStart + 1s);
  EXPECT_EQ(rules.controller().next_sample(), 50ms);
}

/// Two, of which the second rests and could take 400 MiB more.
std::vector<ReplicaSeen> busy_and_idle() {
  std::vector<ReplicaSeen> both{replica(1, 300), replica(2, 100)};
  both[1].memory_limit = 512 * kMiB;
  both[1].holdable = both[1].rests = true;
  return both;
}

TEST(MemoryRules, HoldsWhatRestsInsteadOfSlowingDownWhatServes) {
  MemoryRules rules{true};
  Machine machine{rules};
  const std::vector<ReplicaSeen> both = busy_and_idle();
  for (int i = 0; i < 8; ++i) machine.look(500, both);
  ASSERT_EQ(machine.diary, Diary{});

  for (int i = 0; i < 4; ++i) machine.look(880, both);

  EXPECT_EQ(machine.diary, Diary{"app-00001-2 held"});
  EXPECT_TRUE(rules.throttled().empty()) << "it takes requests as any other";
  for (int i = 0; i < 8; ++i) machine.look(500, both);
  EXPECT_EQ(machine.diary, (Diary{"app-00001-2 held", "app-00001-2 let go"}));
}

TEST(MemoryRules, HoldsWhatRestsWithoutACgroupToo) {
  MemoryRules rules{false};
  Machine machine{rules};

  for (int i = 0; i < 8; ++i) machine.look(880, busy_and_idle());

  EXPECT_EQ(machine.diary, Diary{"app-00001-2 held"});
}

TEST(MemoryRules, EndsAHoldWhenTheReplicaHasARequestOrIsToLeave) {
  for (const bool leaves : {false, true}) {
    MemoryRules rules{true};
    Machine machine{rules};
    std::vector<ReplicaSeen> both = busy_and_idle();
    for (int i = 0; i < 8; ++i) machine.look(880, both);
    ASSERT_EQ(machine.diary, Diary{"app-00001-2 held"});

    both[1].rests = leaves;
    both[1].leaving = leaves;
    machine.look(880, both);

    ASSERT_GE(machine.diary.size(), 2U);
    EXPECT_EQ(machine.diary[1], "app-00001-2 let go");
  }
}

TEST(MemoryRules, HoldsNoReplicaThatIsProbedOrThatOptedOut) {
  for (const bool never : {false, true}) {
    MemoryRules rules{true};
    Machine machine{rules};
    std::vector<ReplicaSeen> both = busy_and_idle();
    both[1].holdable = never;
    both[1].never = never;

    for (int i = 0; i < 8; ++i) machine.look(880, both);

    EXPECT_EQ(machine.diary, Diary{});
  }
}

}  // namespace
}  // namespace sluice::local
