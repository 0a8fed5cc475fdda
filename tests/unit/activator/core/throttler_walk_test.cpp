#include "activator/core/throttler.h"
#include "tests/unit/activator/core/throttler_twin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;
using Incarnation = ThrottlerTwin::Incarnation;

// One revision under random events, beside its naive twin: whatever the throttler does, the twin
// would have done.
class Walk {
 public:
  Walk(const ThrottlerSpec& spec, std::size_t names, std::uint64_t seed)
      : spec_(spec), names_(names), throttler_(spec), twin_(spec), random_(seed) {}

  void step() {
    now_ += std::chrono::microseconds(below(1000));
    switch (below(17)) {
      case 16:
        renew_pod();
        break;
      case 0:
        below(4) == 0 ? set_pods() : remove_pod();
        break;
      case 1:
      case 2:
        update_pod();
        break;
      case 3:
        cancel();
        break;
      case 4:
        expire();
        break;
      case 5:
        retry();
        break;
      case 6:
        resume();
        break;
      case 7:
      case 8:
      case 9:
        leave();
        break;
      default:
        enter(next_cookie_++, {});
    }
    check();
  }

  // Nothing in flight is lost: with a new pod and every request leaving, the queue becomes empty.
  void run_dry() {
    std::vector<Admission> admitted;
    for (const std::string& name : twin_.listed()) {
      twin_.unlist(name);
    }
    twin_.list("fresh", false, 0);
    throttler_.set_pods(std::vector<PodState>{{.id = {"fresh"}}}, admitted);
    note(admitted);
    while (!running_.empty()) {
      leave();
      check();
    }
    EXPECT_EQ(throttler_.in_flight(), 0);
    EXPECT_EQ(throttler_.waiting(), 0);
  }

 private:
  struct Running {
    std::uint64_t cookie;
    PodRef pod;
    Incarnation incarnation;
  };

  std::size_t below(std::size_t bound) { return random_() % bound; }

  std::string some_name() { return "pod-" + std::to_string(below(names_)); }

  PodState some_state(const std::string& name) {
    const std::int32_t capacity = below(8) == 0 ? static_cast<std::int32_t>(1 + below(3)) : 0;
    return {.id = {name}, .avoid = below(5) == 0, .capacity = capacity};
  }

  void set_pods() {
    std::vector<PodState> states;
    const std::size_t share = 1 + below(6);
    for (std::size_t i = 0; i < names_; ++i) {
      const std::string name = "pod-" + std::to_string(i);
      if (below(share) == 0) {
        states.push_back(some_state(name));
        twin_.list(name, states.back().avoid, states.back().capacity);
      } else {
        twin_.unlist(name);
      }
    }
    std::shuffle(states.begin(), states.end(), random_);
    std::vector<Admission> admitted;
    throttler_.set_pods(states, admitted);
    note(admitted);
  }

  void update_pod() {
    const PodState state = some_state(some_name());
    twin_.list(state.id.name, state.avoid, state.capacity);
    std::vector<Admission> admitted;
    throttler_.update_pod(state, admitted);
    note(admitted);
  }

  void remove_pod() {
    const std::string name = some_name();
    const bool listed = twin_.lists(name);
    twin_.unlist(name);
    std::vector<Admission> admitted;
    EXPECT_EQ(throttler_.remove_pod({name}, admitted), listed);
    note(admitted);
  }

  void renew_pod() {
    const std::string name = some_name();
    const bool listed = twin_.lists(name);
    twin_.renew(name);
    std::vector<Admission> admitted;
    EXPECT_EQ(throttler_.renew_pod({name}, admitted), listed);
    note(admitted);
  }

  void enter(std::uint64_t cookie, const std::vector<Running>& tried) {
    std::vector<PodRef> refs;
    ThrottlerTwin::Waiting arrival{.cookie = cookie, .tried = {}};
    for (const Running& one : tried) {
      refs.push_back(one.pod);
      arrival.tried.push_back(one.incarnation);
    }
    if (below(3) == 0) {
      arrival.deadline = now_ + std::chrono::milliseconds(below(50)) - 2ms;
    }
    const Entered entered = throttler_.enter(now_, cookie, refs, arrival.deadline);
    const bool admitted = entered.entry == Entry::admitted;
    const std::string went = admitted ? throttler_.pod_id(entered.pod).name : "";
    ASSERT_EQ(twin_.choose(arrival.tried, went), went);
    if (admitted) {
      run(cookie, entered.pod);
    } else if (arrival.deadline <= now_) {
      EXPECT_EQ(entered.error, Error::queue_wait);
    } else if (twin_.waiting() >= static_cast<std::size_t>(spec_.queue_depth)) {
      EXPECT_EQ(entered.error, Error::queue_full);
    } else {
      ASSERT_EQ(entered.entry, Entry::queued);
      arrival.deadline = spec_.queue_wait == Duration::zero()
                             ? arrival.deadline
                             : std::min(arrival.deadline, now_ + spec_.queue_wait);
      (tried.empty() ? twin_.newcomers : twin_.returned).push_back(arrival);
      tickets_[cookie] = entered.ticket;
    }
  }

  // Some pods fail, some are full; who came back full may go there again once its pause is over.
  void retry() {
    if (running_.empty()) {
      return;
    }
    const Running failed = running_[below(running_.size())];
    if (below(2) == 0) {
      leave_one(failed);
      enter(failed.cookie, {failed});
      return;
    }
    const TimePoint until = now_ + std::chrono::milliseconds(below(10));
    ThrottlerTwin::Pod& pod = twin_.pod(failed.incarnation.pod);
    if (pod.listed && pod.enlisted <= failed.incarnation.number) {
      pod.paused_until = std::max(until, pod.paused_until.value_or(until));
    }
    end(failed);
    std::vector<Admission> admitted;
    throttler_.leave_full(failed.pod, until, admitted);
    note(admitted);
  }

  void resume() {
    twin_.resume(now_);
    std::vector<Admission> admitted;
    throttler_.resume(now_, admitted);
    note(admitted);
  }

  void leave() {
    if (!running_.empty()) {
      leave_one(running_[below(running_.size())]);
    }
  }

  // By value: the record is erased in between.
  void leave_one(Running one) {
    EXPECT_EQ(throttler_.pod_id(one.pod).name, one.incarnation.pod);
    twin_.pod(one.incarnation.pod).paused_until.reset();
    end(one);
    std::vector<Admission> admitted;
    throttler_.leave(one.pod, admitted);
    note(admitted);
  }

  void end(const Running& one) {
    --twin_.pod(one.incarnation.pod).load;
    const std::uint64_t cookie = one.cookie;
    std::erase_if(running_, [&](const Running& other) { return other.cookie == cookie; });
  }

  void cancel() {
    std::deque<ThrottlerTwin::Waiting>& queue = below(2) == 0 ? twin_.newcomers : twin_.returned;
    if (queue.empty()) {
      return;
    }
    const auto chosen = queue.begin() + static_cast<std::ptrdiff_t>(below(queue.size()));
    EXPECT_TRUE(throttler_.cancel(tickets_[chosen->cookie]));
    EXPECT_FALSE(throttler_.cancel(tickets_[chosen->cookie]));
    queue.erase(chosen);
  }

  // In the order of their deadlines.
  void expire() {
    TimePoint last = TimePoint::min();
    while (const std::optional<Dismissal> late = throttler_.expire(now_)) {
      bool found = false;
      for (auto* queue : {&twin_.newcomers, &twin_.returned}) {
        const auto one = std::find_if(queue->begin(), queue->end(), [&](const auto& waiting) {
          return waiting.cookie == late->cookie;
        });
        if (one != queue->end()) {
          found = true;
          EXPECT_LE(one->deadline, now_);
          EXPECT_GE(one->deadline, last);
          last = one->deadline;
          queue->erase(one);
        }
      }
      ASSERT_TRUE(found);
    }
    for (const auto* queue : {&twin_.newcomers, &twin_.returned}) {
      for (const auto& one : *queue) {
        EXPECT_GT(one.deadline, now_);
      }
    }
  }

  // The twin admits the same, to the same pods, in the same order, and no others.
  void note(const std::vector<Admission>& admitted) {
    for (const Admission& one : admitted) {
      std::deque<ThrottlerTwin::Waiting>* queue = nullptr;
      const auto next = twin_.next_waiting(queue);
      ASSERT_NE(queue, nullptr);
      ASSERT_EQ(next->cookie, one.cookie);
      EXPECT_EQ(tickets_[one.cookie], one.ticket);
      const std::string went = throttler_.pod_id(one.pod).name;
      ASSERT_EQ(twin_.choose(next->tried, went), went);
      queue->erase(next);
      run(one.cookie, one.pod);
    }
    std::deque<ThrottlerTwin::Waiting>* left = nullptr;
    (void)twin_.next_waiting(left);
    EXPECT_EQ(left, nullptr) << "a request waits that could run";
  }

  void run(std::uint64_t cookie, PodRef pod) {
    const std::string name = throttler_.pod_id(pod).name;
    ++twin_.pod(name).load;
    running_.push_back({.cookie = cookie, .pod = pod, .incarnation = twin_.incarnation_of(name)});
  }

  void check() {
    ASSERT_EQ(throttler_.waiting(), static_cast<std::int32_t>(twin_.waiting()));
    ASSERT_EQ(throttler_.in_flight(), static_cast<std::int64_t>(running_.size()));
    ASSERT_EQ(throttler_.capacity(), twin_.capacity());
    ASSERT_EQ(throttler_.next_resume(), twin_.next_resume());
    ASSERT_EQ(throttler_.pods(), twin_.listed().size());
    for (const Running& one : running_) {
      ASSERT_EQ(throttler_.in_flight(one.pod), twin_.pod(one.incarnation.pod).load);
    }
  }

  ThrottlerSpec spec_;
  std::size_t names_;
  Throttler throttler_;
  ThrottlerTwin twin_;
  std::mt19937_64 random_;
  TimePoint now_{1'700'000'000s};
  std::uint64_t next_cookie_ = 1;
  std::map<std::uint64_t, Ticket> tickets_;
  std::vector<Running> running_;
};

void walk_all(std::size_t names, const std::vector<std::int32_t>& limits, int steps, int seeds) {
  for (const std::int32_t limit : limits) {
    for (const std::string_view policy :
         {"first-available", "round-robin", "random-choice-2", "least-in-flight"}) {
      for (int seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE("limit " + std::to_string(limit) + " " + std::string(policy) + " seed " +
                     std::to_string(seed));
        Walk walk({.container_concurrency = limit,
                   .queue_depth = 8,
                   .queue_wait = seed % 2 == 0 ? Duration{50ms} : Duration::zero(),
                   .policy = parse_policy(policy),
                   .seed = static_cast<std::uint64_t>(seed)},
                  names, static_cast<std::uint64_t>(seed));
        for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
          walk.step();
        }
        walk.run_dry();
        ASSERT_FALSE(testing::Test::HasFailure());
      }
    }
  }
}

// Goal: under any order of events every policy chooses as its naive twin does, no pod is above its
// limit, and no request is passed, stranded or lost.
// Method: seeded walks of every policy and limit, each event followed by a look at everything.
TEST(ThrottlerWalk, ChoosesAsItsNaiveTwinAmongFewPods) {
  walk_all(6, {0, 1, 2, 5}, 1000, 2);
}

// The same where pods stand in several blocks, and cross the length up to which least-in-flight
// compares them all.
TEST(ThrottlerWalk, ChoosesAsItsNaiveTwinAmongManyPods) {
  walk_all(180, {0, 1, 2}, 300, 1);
}

}  // namespace
}  // namespace sluice::activator
