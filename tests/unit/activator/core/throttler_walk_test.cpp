#include "activator/core/throttler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

constexpr int kPodNames = 6;

// One revision under random events, beside a record of what has been said. The record knows who
// waits in which order and who runs where; it decides nothing.
class Walk {
 public:
  Walk(const ThrottlerSpec& spec, std::uint64_t seed)
      : spec_(spec), throttler_(spec), random_(seed) {}

  void step() {
    now_ += std::chrono::milliseconds(below(3));
    switch (below(12)) {
      case 0:
        set_pods();
        break;
      case 1:
        cancel();
        break;
      case 2:
        expire();
        break;
      case 3:
        retry();
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        leave();
        break;
      default:
        enter(next_cookie_++, {});
    }
    check();
  }

  // Nothing in flight is lost: with a fresh pod and everybody leaving, the queue runs dry.
  void run_dry() {
    std::vector<Admission> admitted;
    throttler_.set_pods(std::vector<PodState>{{.id = {"fresh"}}}, admitted);
    listed_ = {{"fresh", false}};
    note(admitted);
    while (!running_.empty()) {
      leave();
      check();
    }
    EXPECT_EQ(throttler_.in_flight(), 0);
    EXPECT_EQ(throttler_.waiting(), 0);
    EXPECT_TRUE(waiting_.empty());
  }

 private:
  struct Waiting {
    std::uint64_t cookie;
    Ticket ticket;
    std::vector<PodRef> tried;
  };

  struct Running {
    std::uint64_t cookie;
    PodRef pod;
    std::string name;
  };

  std::size_t below(std::size_t bound) { return random_() % bound; }

  void set_pods() {
    std::map<std::string, bool> next;
    std::vector<PodState> states;
    for (int i = 0; i < kPodNames; ++i) {
      if (below(2) == 0) {
        const std::string name = "pod-" + std::to_string(i);
        next[name] = below(4) == 0;
        states.push_back({.id = {name}, .avoid = next[name]});
      }
    }
    std::shuffle(states.begin(), states.end(), random_);
    // A name that returns may be tried again: the record forgets it too.
    for (const Running& one : running_) {
      if (next.contains(one.name) && !listed_.contains(one.name)) {
        for (Waiting& waiter : waiting_) {
          std::erase(waiter.tried, one.pod);
        }
      }
    }
    listed_ = next;
    std::vector<Admission> admitted;
    throttler_.set_pods(states, admitted);
    note(admitted);
  }

  void enter(std::uint64_t cookie, const std::vector<PodRef>& tried) {
    const std::size_t waiting_before = waiting_.size();
    const Entered entered = throttler_.enter(now_, cookie, tried);
    if (entered.entry == Entry::admitted) {
      EXPECT_TRUE(std::find(tried.begin(), tried.end(), entered.pod) == tried.end());
      run(cookie, entered.pod);
      // Only a retry may run past those who wait, or a newcomer past retries that cannot use it.
      for (const Waiting& waiter : waiting_) {
        EXPECT_FALSE(may_use(waiter, entered.pod)) << "passed " << waiter.cookie;
      }
    } else if (entered.entry == Entry::queued) {
      Waiting waiter{.cookie = cookie, .ticket = entered.ticket, .tried = tried};
      waiting_.insert(tried.empty() ? waiting_.end() : waiting_.begin(), waiter);
    } else {
      EXPECT_EQ(waiting_before, static_cast<std::size_t>(spec_.queue_depth));
    }
  }

  void retry() {
    if (running_.empty()) {
      return;
    }
    const Running failed = running_[below(running_.size())];
    leave_one(failed);
    enter(failed.cookie, {failed.pod});
  }

  void leave() {
    if (!running_.empty()) {
      leave_one(running_[below(running_.size())]);
    }
  }

  // By value: the record of it goes on the way.
  void leave_one(Running one) {
    EXPECT_EQ(throttler_.pod_id(one.pod).name, one.name);
    std::erase_if(running_, [&](const Running& other) { return other.cookie == one.cookie; });
    std::vector<Admission> admitted;
    throttler_.leave(one.pod, admitted);
    note(admitted);
  }

  void cancel() {
    if (waiting_.empty()) {
      return;
    }
    const auto chosen = waiting_.begin() + static_cast<std::ptrdiff_t>(below(waiting_.size()));
    EXPECT_TRUE(throttler_.cancel(chosen->ticket));
    EXPECT_FALSE(throttler_.cancel(chosen->ticket));
    waiting_.erase(chosen);
  }

  void expire() {
    while (const std::optional<Dismissal> late = throttler_.expire(now_)) {
      ASSERT_FALSE(waiting_.empty());
      EXPECT_EQ(late->cookie, waiting_.front().cookie);
      waiting_.pop_front();
    }
  }

  // Admitted in the order of the queue; whoever was passed could not have used that pod.
  void note(const std::vector<Admission>& admitted) {
    for (const Admission& one : admitted) {
      auto chosen = waiting_.begin();
      while (chosen != waiting_.end() && chosen->cookie != one.cookie) {
        EXPECT_FALSE(may_use(*chosen, one.pod)) << one.cookie << " passed " << chosen->cookie;
        ++chosen;
      }
      ASSERT_NE(chosen, waiting_.end());
      EXPECT_EQ(chosen->ticket, one.ticket);
      EXPECT_TRUE(may_use(*chosen, one.pod));
      waiting_.erase(chosen);
      run(one.cookie, one.pod);
    }
  }

  void run(std::uint64_t cookie, PodRef pod) {
    const std::string name = throttler_.pod_id(pod).name;
    EXPECT_TRUE(eligible(name)) << name;
    running_.push_back({.cookie = cookie, .pod = pod, .name = name});
    if (spec_.container_concurrency > 0) {
      EXPECT_LE(load(name), spec_.container_concurrency);
    }
  }

  static bool may_use(const Waiting& waiter, PodRef pod) {
    return std::find(waiter.tried.begin(), waiter.tried.end(), pod) == waiter.tried.end();
  }

  [[nodiscard]] bool eligible(const std::string& name) const {
    const auto known = listed_.find(name);
    const bool all_avoided =
        std::all_of(listed_.begin(), listed_.end(), [](const auto& pod) { return pod.second; });
    return known != listed_.end() && (!known->second || all_avoided);
  }

  [[nodiscard]] std::int64_t load(const std::string& name) const {
    return std::count_if(running_.begin(), running_.end(),
                         [&](const Running& one) { return one.name == name; });
  }

  void check() const {
    ASSERT_EQ(throttler_.waiting(), static_cast<std::int32_t>(waiting_.size()));
    ASSERT_EQ(throttler_.in_flight(), static_cast<std::int64_t>(running_.size()));
    ASSERT_LE(throttler_.waiting(), spec_.queue_depth);
    for (const Running& one : running_) {
      ASSERT_EQ(throttler_.in_flight(one.pod), load(one.name));
    }
    // Nobody stranded: a newcomer in line means that no pod has room.
    const bool newcomer_waits = std::any_of(waiting_.begin(), waiting_.end(),
                                            [](const Waiting& one) { return one.tried.empty(); });
    if (newcomer_waits) {
      for (const auto& [name, avoid] : listed_) {
        ASSERT_FALSE(eligible(name) &&
                     (spec_.container_concurrency == 0 || load(name) < spec_.container_concurrency))
            << name << " has room";
      }
    }
  }

  ThrottlerSpec spec_;
  Throttler throttler_;
  std::mt19937_64 random_;
  TimePoint now_{1'700'000'000s};
  std::uint64_t next_cookie_ = 1;
  std::map<std::string, bool> listed_;  // to avoid or not
  std::deque<Waiting> waiting_;
  std::vector<Running> running_;
};

// Goal: under any order of events, no pod above its limit, nobody passed, stranded or lost.
// Method: seeded walks of every policy and limit, each event followed by a look at everything.
TEST(ThrottlerWalk, KeepsLimitsAndOrderAndStrandsNobody) {
  for (const std::int32_t limit : {0, 1, 2, 5}) {
    for (const std::string_view policy :
         {"first-available", "round-robin", "random-choice-2", "least-in-flight"}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE("limit " + std::to_string(limit) + " " + std::string(policy) + " seed " +
                     std::to_string(seed));
        Walk walk({.container_concurrency = limit,
                   .queue_depth = 8,
                   .queue_wait = 50ms,
                   .policy = parse_policy(policy),
                   .seed = seed},
                  seed);
        for (int i = 0; i < 1000 && !testing::Test::HasFailure(); ++i) {
          walk.step();
        }
        walk.run_dry();
        ASSERT_FALSE(testing::Test::HasFailure());
      }
    }
  }
}

}  // namespace
}  // namespace sluice::activator
