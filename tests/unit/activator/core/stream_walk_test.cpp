#include "activator/core/autoscaler_link.h"
#include "autoscaler/core/activators/activator_hub.h"
#include "common/base/check.h"
#include "common/proto/activator_stream_codec.h"
#include "common/ring/hash_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <set>

// Goal: whatever happens to streams and programs, both ends agree in the end, no held request is
// forgotten, versions never go back, and a removal that counts as applied is applied.
// Method: two autoscalers that share the revisions, three activators, and a stream between each two
// that delays what it carries, is full at times, and breaks at any moment with all that is on its
// way. Autoscalers are killed and restarted. Then the faults end, and both ends are compared.
namespace sluice {
namespace {

using activator::AutoscalerLink;
using autoscaler::ActivatorHub;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kAutoscalers = 2;
constexpr std::size_t kActivators = 3;
constexpr std::size_t kRevisions = 6;
constexpr std::size_t kRoom = 3;  // messages on their way, each way

const std::vector<std::string> kBuckets{"b-0", "b-1"};

RevisionId revision_of(std::size_t index) {
  return {"default", "app-" + std::to_string(index)};
}

struct Wire {
  bool open = false;
  AutoscalerLink::Stream stream = 0;
  ActivatorHub::Session session = 0;
  std::deque<std::string> up;
  std::deque<std::string> down;
  TimePoint heard{};  // when the autoscaler last read something
};

struct Activator {
  std::optional<AutoscalerLink> link;
  std::map<RevisionId, proto::RevisionState> heard;     // states that do not govern yet
  std::map<RevisionId, proto::RevisionState> in_force;  // those that do
  std::set<RevisionId> held;
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < kActivators; ++i) {
      Activator& each = activators_[i];
      each.link.emplace(AutoscalerLink::Self{"activator-" + std::to_string(i), "", ""});
      for (std::size_t j = 0; j < kAutoscalers; ++j) wires_[i][j].stream = *each.link->add();
    }
    for (std::size_t j = 0; j < kAutoscalers; ++j) start(j);
  }

  void walk(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
  }

  // No more faults, for long enough that every pause is over.
  void rest() {
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      now_ += milliseconds{200};
      for (std::size_t a = 0; a < kActivators; ++a) {
        for (std::size_t s = 0; s < kAutoscalers; ++s) {
          if (!wires_[a][s].open) open(a, s);
        }
        while (put_in_force(a)) {
        }
        if (i % 5 == 0) tick(a);
      }
      while (carry_all()) {
      }
    }
  }

  void expect_agreement() {
    for (std::size_t a = 0; a < kActivators; ++a) {
      const Activator& each = activators_[a];
      EXPECT_TRUE(each.held.empty()) << "a poke was lost";
      EXPECT_EQ(each.link->states(), truth_.size());
      for (const auto& [revision, truth] : truth_) {
        const auto* const known = each.link->state(revision);
        ASSERT_NE(known, nullptr) << revision.name;
        EXPECT_EQ(known->desired, truth.desired);
        EXPECT_EQ(known->granted, truth.granted);
        EXPECT_EQ(known->avoid, truth.avoid);
        EXPECT_EQ(each.in_force.at(revision), *known);
      }
    }
    for (const auto& [revision, truth] : truth_) {
      ActivatorHub& hub = *hubs_[owner(revision)];
      EXPECT_TRUE(hub.applied(revision, hub.state(revision)->version, now_)) << revision.name;
    }
  }

 private:
  std::size_t any(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>{0, count - 1}(random_);
  }

  static std::size_t owner(const RevisionId& revision) {
    return ring::bucket_owner(kBuckets, revision.space + "/" + revision.name) == "b-0" ? 0 : 1;
  }

  void step() {
    now_ += milliseconds{any(60)};
    const std::size_t a = any(kActivators);
    const std::size_t s = any(kAutoscalers);
    Wire& wire = wires_[a][s];
    switch (any(20)) {
      case 0:
        if (wire.open) cut(a, s);
        break;
      case 1:
      case 2:
        if (!wire.open) open(a, s);
        break;
      case 3:
        if (any(8) == 0) kill(s);
        break;
      case 4:
      case 5:
        decide();
        break;
      case 6:
        if (any(6) == 0) forget();
        break;
      case 7:
        hold(a);
        break;
      case 8:
      case 9:
        (void)put_in_force(a);
        break;
      case 10:
        tick(a);
        break;
      default:
        (void)carry(a, s);
    }
    expect_removals_hold();
  }

  // --- streams ---

  void open(std::size_t a, std::size_t s) {
    Wire& wire = wires_[a][s];
    wire.open = true;
    wire.session = *hubs_[s]->open(now_);
    const std::vector<proto::Waiting> waiting = waiting_of(a);
    activators_[a].link->connected(wire.stream, waiting);
  }

  // Either end may notice first; what was on its way is lost.
  void cut(std::size_t a, std::size_t s) {
    Wire& wire = wires_[a][s];
    wire.open = false;
    wire.up.clear();
    wire.down.clear();
    activators_[a].link->lost(wire.stream);
    hubs_[s]->closed(wire.session, now_);
  }

  // One step of one stream: a message written or read, either way. False: nothing to do.
  bool carry(std::size_t a, std::size_t s) {
    Wire& wire = wires_[a][s];
    if (!wire.open) return false;
    const std::size_t first = any(4);
    for (std::size_t i = 0; i < 4; ++i) {
      switch ((first + i) % 4) {
        case 0:
          if (wire.up.size() < kRoom) {
            if (const auto message = activators_[a].link->next_message(wire.stream)) {
              wire.up.push_back(proto::encode(*message));
              return true;
            }
          }
          break;
        case 1:
          if (wire.down.size() < kRoom) {
            if (const auto message = hubs_[s]->next_message(wire.session, now_)) {
              wire.down.push_back(proto::encode(*message));
              return true;
            }
          }
          break;
        case 2:
          if (!wire.up.empty()) return arrive_up(s, wire);
          break;
        default:
          if (!wire.down.empty()) return arrive_down(a, wire);
      }
    }
    return false;
  }

  bool carry_all() {
    bool moved = false;
    for (std::size_t a = 0; a < kActivators; ++a) {
      for (std::size_t s = 0; s < kAutoscalers; ++s) moved = carry(a, s) || moved;
    }
    return moved;
  }

  bool arrive_up(std::size_t s, Wire& wire) {
    const auto message = proto::decode_activator_message(wire.up.front());
    wire.up.pop_front();
    CHECK(message.has_value() && message->has_value());
    const auto heard = hubs_[s]->received(wire.session, **message, now_);
    EXPECT_FALSE(heard.refused.has_value());
    wire.heard = now_;
    for (const auto& poke : heard.pokes) wake(poke.revision);
    for (const auto& stat : heard.stats) {
      if (stat.stat.average_concurrency > 0) wake(stat.revision);
    }
    return true;
  }

  bool arrive_down(std::size_t a, Wire& wire) {
    Activator& activator = activators_[a];
    const auto message = proto::decode_autoscaler_message(wire.down.front());
    wire.down.pop_front();
    CHECK(message.has_value() && message->has_value());
    const auto heard = activator.link->received(wire.stream, **message);
    EXPECT_FALSE(heard.refused.has_value());
    for (const proto::RevisionState& state : heard.states) {
      const auto newest = activator.heard.find(state.revision);
      if (newest != activator.heard.end()) {
        EXPECT_GT(state.version, newest->second.version);
      }
      const auto governs = activator.in_force.find(state.revision);
      if (governs != activator.in_force.end()) {
        EXPECT_GT(state.version, governs->second.version) << "versions went back";
      }
      activator.heard[state.revision] = state;
    }
    for (const RevisionId& revision : heard.gone) {
      activator.heard.erase(revision);
      activator.in_force.erase(revision);
      activator.held.erase(revision);
    }
    return true;
  }

  // --- autoscalers ---

  void start(std::size_t s) {
    now_ += milliseconds{1};
    hubs_[s].emplace(ActivatorHub::Self{"autoscaler-" + std::to_string(s), ""},
                     proto::Buckets{kBuckets, {kBuckets[s]}, 1}, now_);
    for (const auto& [revision, truth] : truth_) {
      if (owner(revision) == s) (void)hubs_[s]->set_state(truth, now_);
    }
  }

  void kill(std::size_t s) {
    for (std::size_t a = 0; a < kActivators; ++a) {
      if (wires_[a][s].open) cut(a, s);
      wires_[a][s].heard = {};
    }
    start(s);
  }

  void say(const proto::RevisionState& state) {
    truth_[state.revision] = state;
    EXPECT_GT(hubs_[owner(state.revision)]->set_state(state, now_), 0U);
  }

  void decide() {
    proto::RevisionState state{.revision = revision_of(any(kRevisions))};
    state.desired = static_cast<std::int32_t>(any(3));
    state.granted = std::min(state.desired, static_cast<std::int32_t>(any(3)));
    state.ready = static_cast<std::int32_t>(any(3));
    for (std::size_t i = any(3); i > 0; --i) state.avoid.push_back(std::to_string(any(5)));
    say(state);
  }

  void forget() {
    const RevisionId revision = revision_of(any(kRevisions));
    if (truth_.erase(revision) == 0) return;
    hubs_[owner(revision)]->remove(revision, now_);
  }

  void wake(const RevisionId& revision) {
    const auto at = truth_.find(revision);
    if (at == truth_.end() || at->second.desired != 0) return;
    proto::RevisionState state = at->second;
    state.desired = state.granted = 1;
    say(state);
  }

  // --- activators ---

  std::vector<proto::Waiting> waiting_of(std::size_t a) {
    std::vector<proto::Waiting> waiting;
    for (const RevisionId& revision : activators_[a].held) waiting.push_back({revision, 1, {}});
    return waiting;
  }

  // A request comes in; it is held until a state that grants something governs.
  void hold(std::size_t a) {
    const RevisionId revision = revision_of(any(kRevisions));
    Activator& each = activators_[a];
    const auto governs = each.in_force.find(revision);
    if (governs == each.in_force.end() || governs->second.desired != 0) return;
    if (!each.held.insert(revision).second) return;
    each.link->poke({revision, 1, 1}, {revision, 1, {}}, now_);
  }

  bool put_in_force(std::size_t a) {
    Activator& each = activators_[a];
    if (each.heard.empty()) return false;
    const auto at =
        std::next(each.heard.begin(), static_cast<std::ptrdiff_t>(any(each.heard.size())));
    const proto::RevisionState state = at->second;
    each.heard.erase(at);
    each.in_force[state.revision] = state;
    if (state.desired != 0) each.held.erase(state.revision);
    each.link->applied(state.revision, state.version);
    return true;
  }

  void tick(std::size_t a) {
    const std::vector<proto::Waiting> waiting = waiting_of(a);
    activators_[a].link->tick({}, waiting, now_);
  }

  // What the hub calls applied is in force at every activator with a recent message.
  void expect_removals_hold() {
    for (const auto& [revision, truth] : truth_) {
      const std::size_t s = owner(revision);
      const auto version = hubs_[s]->state(revision)->version;
      if (truth.avoid.empty() || !hubs_[s]->applied(revision, version, now_)) continue;
      for (std::size_t a = 0; a < kActivators; ++a) {
        if (now_ - wires_[a][s].heard >= autoscaler::kRemovalWait) continue;
        const auto governs = activators_[a].in_force.find(revision);
        ASSERT_NE(governs, activators_[a].in_force.end());
        EXPECT_EQ(governs->second.avoid, truth.avoid) << revision.name;
      }
    }
  }

  std::mt19937_64 random_;
  TimePoint now_{seconds{1'700'000'000}};
  std::array<std::optional<ActivatorHub>, kAutoscalers> hubs_;
  std::array<Activator, kActivators> activators_;
  std::array<std::array<Wire, kAutoscalers>, kActivators> wires_;
  std::map<RevisionId, proto::RevisionState> truth_;
};

TEST(StreamWalk, BothEndsAgreeAfterAnySequenceOfEvents) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world{seed};
    world.walk(1500);
    world.rest();
    world.expect_agreement();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice
