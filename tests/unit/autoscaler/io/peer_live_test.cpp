// Streams of a replica that show what others govern, in virtual time.

#include "autoscaler/io/peer_live.h"

#include "tests/unit/autoscaler/io/replicas_stage.h"

#include <set>

namespace sluice::autoscaler {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// The data of the newest event of a type in a text of a stream; null: there is none.
json newest(const std::string& text, const std::string& type) {
  const std::string begin = "event: " + type + "\ndata: ";
  const std::size_t at = text.rfind(begin);
  if (at == std::string::npos) return {};
  return json::parse(
      text.substr(at + begin.size(), text.find('\n', at + begin.size()) - at - begin.size()));
}

class PeerLiveTest : public ReplicasTest {
 protected:
  // A quarter of a second of each at a time, as they run beside each other.
  void together(Duration length) {
    for (Duration ran{0}; ran < length; ran += 250ms) run(250ms);
  }

  std::shared_ptr<api::ApiStates> states(Replica& replica, const std::string& query) {
    return replica.open("/api/v1/live?" + query).stream->states;
  }
};

TEST_F(PeerLiveTest, AFleetsStreamHasTheRowsAndFiguresOfAll) {
  one_.pods("a", {"ready"});
  two_.pods("b", {"ready"});
  together(2s);
  const auto all = states(one_, "view=fleet");
  const auto some = states(one_, "view=fleet&rows=shop/c");
  together(2s);
  static_cast<void>(all->take());
  two_.pods("b", {"ready", "ready"});
  three_.pods("c", {});
  together(3s);
  const json told = newest(all->take(), "fleet");
  ASSERT_EQ(told["rows"].size(), 2U) << told;
  EXPECT_EQ(told["overview"]["services"]["all"], 3);
  EXPECT_EQ(told["overview"]["ready"], 3);
  EXPECT_FALSE(told["overview"].contains("missing"));
  const json chosen = newest(some->take(), "fleet");
  ASSERT_EQ(chosen["rows"].size(), 1U) << chosen;
  EXPECT_EQ(chosen["rows"][0]["name"], "c");
}

TEST_F(PeerLiveTest, AServiceThatGoesAtAnotherReplicaIsGone) {
  two_.pods("b", {"ready"});
  together(2s);
  const auto all = states(one_, "view=fleet");
  together(2s);
  static_cast<void>(all->take());
  two_.gone("b");
  together(2s);
  EXPECT_EQ(newest(all->take(), "fleet")["gone"], json::array({"shop/b"}));
}

TEST_F(PeerLiveTest, AServiceThatAnotherReplicaTakesOverIsNotGone) {
  one_.pods("b", {"ready"});
  together(2s);
  const auto all = states(one_, "view=fleet");
  const auto elsewhere = states(three_, "view=fleet");
  together(2s);
  static_cast<void>(all->take());
  static_cast<void>(elsewhere->take());
  two_.pods("b", {"ready"});
  together(2s);
  one_.gone("b");
  together(2s);
  for (const auto& reader : {all, elsewhere}) {
    const json told = newest(reader->take(), "fleet");
    EXPECT_TRUE(told["gone"].empty()) << told;
    ASSERT_EQ(told["rows"].size(), 1U) << told;
  }
}

TEST_F(PeerLiveTest, AReplicaThatStopsAnsweringIsMissingAndItsReturnBeginsAgain) {
  two_.pods("b", {"ready"});
  together(2s);
  const auto all = states(one_, "view=fleet");
  together(2s);
  EXPECT_EQ(all->take().find("event: reset"), std::string::npos);
  two_.silent = true;
  together(4s);
  const json told = newest(all->take(), "fleet");
  EXPECT_EQ(told["overview"]["missing"], json::array({"two"}));
  EXPECT_EQ(told["overview"]["services"]["all"], 0);
  two_.silent = false;
  together(3s);
  EXPECT_NE(all->take().find("event: reset"), std::string::npos);
  together(1s);
  EXPECT_EQ(newest(all->take(), "fleet")["overview"]["services"]["all"], 1);
}

TEST_F(PeerLiveTest, EventsOfOthersComeOnceAndSpecsByTheirOwnType) {
  const auto all = states(one_, "view=fleet");
  together(2s);
  static_cast<void>(all->take());
  two_.publish({{"type", "decision"}, {"service", "b"}, {"n", 1}});
  two_.publish({{"type", "service"}, {"name", "b"}, {"event", "changed"}});
  two_.publish({{"type", "log"}, {"service", "b"}});
  together(2s);
  const std::string text = all->take();
  EXPECT_EQ(newest(text, "decision")["n"], 1);
  EXPECT_EQ(newest(text, "spec")["name"], "b");
  EXPECT_EQ(text.find("event: log"), std::string::npos);
  together(3s);
  EXPECT_EQ(all->take().find("event: decision"), std::string::npos);
}

TEST_F(PeerLiveTest, ManyChangesOfAnotherReplicaComeWhole) {
  const auto all = states(one_, "view=fleet");
  together(2s);
  static_cast<void>(all->take());
  for (int i = 0; i < 250; ++i) {
    two_.pods("s" + std::to_string(i), {});
    two_.publish({{"type", "decision"}, {"service", "b"}});
  }
  std::set<std::string> rows;
  std::size_t events = 0;
  for (int second = 0; second < 5; ++second) {
    together(1s);
    const std::string text = all->take();
    for (std::size_t at = 0; (at = text.find("event: decision", at)) != std::string::npos; ++at) {
      ++events;
    }
    const json told = newest(text, "fleet");
    if (told.is_null()) continue;
    for (const json& row : told["rows"]) rows.insert(row["name"]);
  }
  EXPECT_EQ(rows.size(), 250U);
  EXPECT_GE(events, 250U);
}

TEST_F(PeerLiveTest, NoReplicaIsAskedWithoutAReader) {
  two_.pods("b", {"ready"});
  together(1s);
  auto fleet = states(one_, "view=fleet");
  auto service = states(one_, "view=service&ns=shop&name=b");
  together(2s);
  fleet.reset();
  service.reset();
  together(1s);
  one_.peers.asked.clear();
  together(10s);
  EXPECT_TRUE(one_.peers.asked.empty());
}

TEST_F(PeerLiveTest, AStreamOfAServiceElsewhereHasItsSamplesAndEvents) {
  two_.pods("b", {"ready"});
  together(2s);
  const auto reader = states(one_, "view=service&ns=shop&name=b");
  together(1s);
  const json first = newest(reader->take(), "sample");
  ASSERT_EQ(first["row"].size(), 15U) << first;
  EXPECT_EQ(first["row"][0], 1);
  EXPECT_EQ(first["replicas"].size(), 1U);
  two_.pods("b", {"ready", "starting"});
  two_.publish({{"type", "decision"}, {"namespace", "shop"}, {"service", "b"}, {"n", 1}});
  two_.publish({{"type", "decision"}, {"namespace", "shop"}, {"service", "c"}, {"n", 2}});
  together(1s);
  const std::string text = reader->take();
  EXPECT_EQ(newest(text, "sample")["replicas"].size(), 2U);
  EXPECT_EQ(newest(text, "decision")["n"], 1);
}

TEST_F(PeerLiveTest, AStreamOfAServiceFollowsItToAnotherReplica) {
  two_.pods("b", {"ready"});
  together(1s);
  const auto reader = states(one_, "view=service&ns=shop&name=b");
  together(1s);
  static_cast<void>(reader->take());
  two_.gone("b");
  three_.pods("b", {"ready", "ready"});
  together(3s);
  const std::string text = reader->take();
  EXPECT_NE(text.find("event: reset"), std::string::npos);
  EXPECT_EQ(newest(text, "sample")["replicas"].size(), 2U);
  three_.gone("b");
  one_.pods("b", {});
  together(3s);
  EXPECT_TRUE(newest(reader->take(), "sample")["replicas"].empty());
}

TEST_F(PeerLiveTest, AStreamThatIsResumedBeginsAgain) {
  one_.publish({{"type", "decision"}, {"service", "a"}});
  EXPECT_NE(one_.open("/api/v1/live?view=fleet", "1").body.find("event: reset"), std::string::npos);
  one_.peers.known.reset();
  EXPECT_EQ(one_.open("/api/v1/live?view=fleet", "1").body.find("event: reset"), std::string::npos);
}

TEST_F(PeerLiveTest, AReaderThatDoesNotReadHoldsNoMoreThanItsBound) {
  const auto all = states(one_, "view=fleet");
  together(2s);
  for (int second = 0; second < 4; ++second) {
    for (int i = 0; i < 90; ++i) {
      two_.publish({{"type", "warning"}, {"message", std::string(2000, 'x')}});
    }
    together(1s);
  }
  const std::string text = all->take();
  EXPECT_LT(text.size(), 300'000U);
  EXPECT_NE(text.find("event: reset"), std::string::npos);
}

}  // namespace
}  // namespace sluice::autoscaler
