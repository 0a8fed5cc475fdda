// Goal: whatever becomes of requests, events and processes, no bucket has two owners at a time, and
// one whose owner was killed has another within a lease and a retry period.
// Method: an API server with versions, and replicas whose clocks show other times, in steps of 10
// ms of true time; requests and events take a while, get lost, or take effect after their caller
// has given up for them any more. Every step asks each replica whether it holds what another holds.

#include "autoscaler/core/share/lease_election.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kStep = milliseconds{10};
constexpr Duration kRequestLimit = seconds{5};

constexpr LeaderElection kRules{.buckets = 3,
                                .lease_duration = seconds{15},
                                .renew_deadline = seconds{10},
                                .retry_period = seconds{2}};

class World {
 public:
  World(std::uint64_t seed, int replicas) : random_{seed} {
    for (int i = 0; i < replicas; ++i) start(i);
  }

  // Wrong by up to ten minutes either way.
  void start(int number) {
    const Duration skew = milliseconds{chance(1'200'000)} - std::chrono::minutes{10};
    auto replica = std::make_unique<Replica>();
    replica->name = "pod-" + std::to_string(number) + "_10.0.0." + std::to_string(number);
    replica->skew = skew;
    replica->seen = history_.size();
    replica->election = std::make_unique<LeaseElection>(bucket_names(kRules.buckets), replica->name,
                                                        kRules, local(*replica));
    replicas_[number] = std::move(replica);
  }

  void kill(int number) { replicas_.erase(number); }

  void pause(int number, Duration length) { replicas_.at(number)->paused_until = now_ + length; }

  // Another program edits the lease.
  void steal(const std::string& bucket) {
    LeaseView lease = leases_.contains(bucket) ? leases_[bucket] : LeaseView{};
    lease.holder = "thief_10.9.9.9";
    lease.renewed = "stolen " + std::to_string(version_);
    lease.duration = seconds{15};
    put(bucket, lease);
    stolen_[bucket] = now_;
  }

  void lossy(int percent) {
    lossy_ = percent;
    calm_ = false;
  }

  void watches(bool work) {
    watches_ = work;
    calm_ = false;
  }

  void play(Duration length) {
    for (const TimePoint end = now_ + length; now_ < end; now_ += kStep) {
      run_due();
      for (auto& [number, replica] : replicas_) {
        if (now_ < replica->paused_until) continue;
        follow(*replica);
        for (LeaseStep& step : replica->election->steps(local(*replica))) {
          send(number, std::move(step));
        }
      }
      check();
    }
  }

  [[nodiscard]] std::size_t owned(int number) const {
    const Replica& replica = *replicas_.at(number);
    return replica.election->owned(now_ + replica.skew).size();
  }

  [[nodiscard]] std::size_t owned_by_anybody() const {
    std::size_t count = 0;
    for (const auto& [number, replica] : replicas_) count += owned(number);
    return count;
  }

  /// Epochs under which buckets were taken, in order.
  [[nodiscard]] std::vector<std::uint64_t> epochs() const { return epochs_; }

  LeaseElection& election(int number) { return *replicas_.at(number)->election; }

  int chance(int below) { return std::uniform_int_distribution{0, below - 1}(random_); }

 private:
  struct Replica {
    std::string name;
    Duration skew{};
    TimePoint paused_until{};
    std::size_t seen = 0;  // of history_
    std::unique_ptr<LeaseElection> election;
  };

  struct Event {
    std::string bucket;
    LeaseView lease;
    TimePoint visible{};
  };

  struct Due {
    TimePoint at{};
    std::function<void()> what;
  };

  [[nodiscard]] TimePoint local(const Replica& replica) const { return now_ + replica.skew; }

  void put(const std::string& bucket, LeaseView lease) {
    lease.version = std::to_string(++version_);
    leases_[bucket] = lease;
    const Duration late = milliseconds{chance(lossy_ > 0 ? 3'000 : 50)};
    const TimePoint before = history_.empty() ? TimePoint{} : history_.back().visible;
    history_.push_back({bucket, std::move(lease), std::max(now_ + late, before)});
  }

  void follow(Replica& replica) {
    while (watches_ && replica.seen < history_.size() && history_[replica.seen].visible <= now_) {
      const Event& event = history_[replica.seen++];
      replica.election->observed(event.bucket, event.lease, local(replica));
    }
  }

  void run_due() {
    std::vector<Due> rest;
    std::vector<Due> now;
    for (Due& due : due_) (due.at <= now_ ? now : rest).push_back(std::move(due));
    due_ = std::move(rest);
    for (const Due& due : now) due.what();
  }

  // It takes effect, or not, after a while; the answer comes, or not, after another.
  void send(int number, LeaseStep step) {
    const bool lost = chance(100) < lossy_;
    const bool slow = chance(100) < lossy_;
    const Duration there = milliseconds{slow ? 4'000 + chance(8'000) : 1 + chance(40)};
    const TimePoint limit = now_ + kRequestLimit;
    if (lost) {
      due_.push_back({limit, [=, this] { answer(number, step, LeaseAnswer::failed, {}); }});
      return;
    }
    due_.push_back({now_ + there, [=, this] { take_effect(number, step, limit); }});
    if (now_ + there >= limit) {
      due_.push_back({limit, [=, this] { answer(number, step, LeaseAnswer::failed, {}); }});
    }
  }

  void take_effect(int number, const LeaseStep& step, TimePoint limit) {
    LeaseAnswer result = LeaseAnswer::done;
    const auto found = leases_.find(step.bucket);
    if (step.kind == LeaseStep::Kind::create ? found != leases_.end() : found == leases_.end()) {
      result = step.kind == LeaseStep::Kind::create ? LeaseAnswer::conflict : LeaseAnswer::missing;
    } else if (step.kind == LeaseStep::Kind::replace &&
               found->second.version != step.lease.version) {
      result = LeaseAnswer::conflict;
    } else if (step.kind != LeaseStep::Kind::read) {
      LeaseView lease = step.lease;
      lease.renewed = std::to_string(step.at.time_since_epoch().count());
      if (lease.acquired.empty()) {
        lease.acquired = lease.renewed;
        epochs_.push_back(lease.epoch);
      }
      put(step.bucket, lease);
    }
    if (now_ >= limit) return;  // the caller has given up
    std::optional<LeaseView> lease;
    if (result == LeaseAnswer::done) lease = leases_[step.bucket];
    const bool lost = chance(100) < lossy_;
    const TimePoint back = lost ? limit : now_ + milliseconds{1 + chance(40)};
    due_.push_back(
        {back, [=, this] { answer(number, step, lost ? LeaseAnswer::failed : result, lease); }});
  }

  void answer(int number, const LeaseStep& step, LeaseAnswer result,
              const std::optional<LeaseView>& lease) {
    const auto found = replicas_.find(number);
    if (found == replicas_.end()) return;
    if (now_ < found->second->paused_until) {
      const TimePoint later = found->second->paused_until + kStep;
      due_.push_back({later, [=, this] { answer(number, step, result, lease); }});
      return;
    }
    found->second->election->answered(step.id, result, lease, local(*found->second));
  }

  void check() {
    for (const std::string& bucket : bucket_names(kRules.buckets)) {
      int owners = 0;
      for (const auto& [number, replica] : replicas_) {
        // A paused replica does nothing; it reads again before it acts.
        if (now_ < replica->paused_until) continue;
        const auto owned = replica->election->owned(local(*replica));
        owners += std::binary_search(owned.begin(), owned.end(), bucket) ? 1 : 0;
      }
      ASSERT_LE(owners, 1) << bucket << " at " << to_seconds(now_.time_since_epoch());
      const auto stolen = stolen_.find(bucket);
      const bool known = calm_ && stolen != stolen_.end() && now_ - stolen->second > seconds{3} &&
                         leases_[bucket].holder == "thief_10.9.9.9";
      if (known) {
        ASSERT_EQ(owners, 0) << "a replica acts against the lease";
      }
    }
  }

  std::mt19937_64 random_;
  TimePoint now_{seconds{1'700'000'000}};
  std::map<int, std::unique_ptr<Replica>> replicas_;
  std::map<std::string, LeaseView> leases_;
  std::deque<Event> history_;
  std::vector<Due> due_;
  std::map<std::string, TimePoint> stolen_;
  bool calm_ = true;  // nothing is late or lost
  std::vector<std::uint64_t> epochs_;
  std::uint64_t version_ = 0;
  int lossy_ = 0;
  bool watches_ = true;
};

TEST(LeaseWorld, AFreshClusterSpreadsItsBuckets) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    World world{seed, 3};
    world.play(seconds{8});

    for (int i = 0; i < 3; ++i) EXPECT_EQ(world.owned(i), 1U) << "seed " << seed;
  }
}

TEST(LeaseWorld, BucketsOfAKilledReplicaAreTakenWithinALeaseAndARetry) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world{seed, 3};
    world.play(seconds{20} + milliseconds{world.chance(2'000)});
    world.kill(0);
    world.play(kRules.lease_duration + kRules.retry_period);

    EXPECT_EQ(world.owned_by_anybody(), 3U) << "seed " << seed;
  }
}

TEST(LeaseWorld, BucketsOfAKilledReplicaAreTakenWithoutAWatchToo) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    World world{seed, 3};
    world.watches(false);
    world.play(seconds{40});
    world.kill(0);
    // A lease is looked at when it should be free; by then its holder may have just renewed it.
    world.play(2 * kRules.lease_duration + kRules.retry_period);

    EXPECT_EQ(world.owned_by_anybody(), 3U) << "seed " << seed;
  }
}

TEST(LeaseWorld, ReleasedBucketsHaveAnotherOwnerAtOnce) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    World world{seed, 3};
    world.play(seconds{20});
    world.election(0).release();
    world.play(seconds{2});

    EXPECT_TRUE(world.election(0).released());
    EXPECT_EQ(world.owned(0), 0U);
    EXPECT_EQ(world.owned_by_anybody(), 3U) << "seed " << seed;
  }
}

TEST(LeaseWorld, ARestartedReplicaContinuesAtOnce) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    World world{seed, 1};
    world.play(seconds{20});
    world.kill(0);
    world.start(0);
    world.play(seconds{2});

    EXPECT_EQ(world.owned(0), 3U) << "seed " << seed;
  }
}

TEST(LeaseWorld, StolenBucketsAreGivenUpAndTakenBackAfterTheyExpire) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    World world{seed, 3};
    world.play(seconds{20});
    for (const std::string& bucket : bucket_names(kRules.buckets)) world.steal(bucket);
    world.play(seconds{10});
    EXPECT_EQ(world.owned_by_anybody(), 0U);
    world.play(seconds{8});

    EXPECT_EQ(world.owned_by_anybody(), 3U) << "seed " << seed;
  }
}

TEST(LeaseWorld, NoBucketEverHasTwoOwners) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    World world{seed, 3};
    int next = 3;
    std::vector<int> alive{0, 1, 2};
    for (int round = 0; round < 40; ++round) {
      world.lossy(world.chance(4) * 20);
      world.watches(world.chance(4) > 0);
      const auto who = static_cast<std::size_t>(world.chance(3));
      switch (world.chance(4)) {
        case 0:
          world.kill(alive[who]);
          alive[who] = next++;
          world.start(alive[who]);
          break;
        case 1:
          world.pause(alive[who], milliseconds{world.chance(30'000)});
          break;
        case 2:
          world.steal(bucket_names(kRules.buckets)[who]);
          break;
        default:
          break;
      }
      world.play(milliseconds{world.chance(20'000)});
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " round " << round;
    }
    world.lossy(0);
    world.watches(true);
    world.play(seconds{60});

    EXPECT_EQ(world.owned_by_anybody(), 3U) << "seed " << seed;
    const std::vector<std::uint64_t> epochs = world.epochs();
    EXPECT_GT(epochs.size(), 3U);
  }
}

TEST(LeaseWorld, EpochsGrowFromOwnerToOwnerWhateverTheirClocksShow) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world{seed, 2};
    world.play(seconds{20});
    std::uint64_t highest = 0;
    for (int round = 0; round < 6; ++round) {
      const int now = round % 2;
      highest = std::max({highest, world.election(0).epoch(), world.election(1).epoch()});
      world.kill(now);
      world.play(seconds{18});
      const std::uint64_t successor = world.election(1 - now).epoch();

      EXPECT_GT(successor, highest) << "seed " << seed << " round " << round;
      highest = successor;
      world.start(now);
      world.play(seconds{5});
    }
  }
}

}  // namespace
}  // namespace sluice::autoscaler
