// Changes and events that pass from one replica to another, in virtual time.

#include "tests/unit/autoscaler/io/replicas_stage.h"

namespace sluice::autoscaler {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class JoinedChangesTest : public ReplicasTest {
 protected:
  JoinedChangesTest() {
    one_.scaled("a");
    two_.scaled("b");
    run(2s);
  }

  void together(Duration length) {
    for (Duration ran{0}; ran < length; ran += 250ms) run(250ms);
  }

  // The events of an open stream; null: it is refused, and `problem` has why.
  std::shared_ptr<api::ApiStates> events(Replica& replica, const std::string& query,
                                         const std::string& last_id = "") {
    const api::ApiAnswer answer = replica.open("/api/v1/events?" + query, last_id);
    begun_.reset();
    answer.later([this](http::ApiAnswer first) { begun_ = std::move(first); });
    together(2s);
    return begun_ && begun_->status == 200 ? answer.stream->states : nullptr;
  }

  std::optional<http::ApiAnswer> begun_;
};

TEST_F(JoinedChangesTest, AChangeIsMadeByTheReplicaThatGovernsTheService) {
  const http::ApiAnswer answer = change(one_, "b/scale", R"({"min":2,"max":4})");
  EXPECT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["min"], 2);
  EXPECT_EQ(get(three_, "services/shop/b")["max"], 4);
  EXPECT_EQ(change(three_, "b/wake").status, 202);
}

TEST_F(JoinedChangesTest, AChangeIsPassedOnOnceWithItsBodyAndItsToken) {
  one_.peers.asked.clear();
  static_cast<void>(change(one_, "b/scale?x=1", R"({"max":3})"));
  EXPECT_EQ(one_.peers.asked.back(),
            R"(two POST /api/v1/services/shop/b/scale?here=1&x=1 {"max":3} a token)");
  EXPECT_TRUE(two_.peers.asked.empty());
}

TEST_F(JoinedChangesTest, AMarkedChangeIsNotPassedOn) {
  EXPECT_EQ(change(one_, "b/wake?here=1").status, 404);
  EXPECT_EQ(change(one_, "b/wake?%68ere=1").status, 404);
  EXPECT_TRUE(one_.peers.asked.empty());
}

TEST_F(JoinedChangesTest, AChangeOfWhatIsGovernedHereAsksNoOther) {
  EXPECT_EQ(change(one_, "a/scale", R"({"max":3})").status, 202);
  EXPECT_TRUE(one_.peers.asked.empty());
}

TEST_F(JoinedChangesTest, AChangeWithoutTheTokenReachesNoOtherReplica) {
  EXPECT_EQ(change(one_, "b/wake", "", {}).status, 403);
  EXPECT_EQ(change(one_, "b/wake", "", {.token = "another"}).status, 403);
  EXPECT_EQ(change(one_, "b/wake", "", {.token = "a token", .fetch_site = "cross-site"}).status,
            403);
  EXPECT_TRUE(one_.peers.asked.empty());
}

TEST_F(JoinedChangesTest, OfTwoCredentialsOnlyTheTokenOfTheApiIsPassedOn) {
  const auto sent = [this](const api::ChangeFields& fields) {
    EXPECT_EQ(change(one_, "b/wake", "", fields).status, 202);
    return one_.peers.asked.back();
  };
  const std::string passed = "two POST /api/v1/services/shop/b/wake?here=1  a token";
  EXPECT_EQ(sent({.token = "a token", .authorization = "Bearer of a user"}), passed);
  EXPECT_EQ(sent({.token = "another", .authorization = "Bearer a token"}), passed);
}

TEST_F(JoinedChangesTest, TheHolderJudgesAChangeTooAndItsRefusalIsPassedBack) {
  two_.secret = "a newer token";
  const http::ApiAnswer answer = change(one_, "b/wake");
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(json::parse(answer.body)["type"], "token-required");
  two_.secret = "a token";
  EXPECT_EQ(change(one_, "b/scale", "{}x").status, 422);
}

TEST_F(JoinedChangesTest, AChangeThatASilentReplicaWouldMakeIsRefusedByItsName) {
  two_.silent = true;
  const http::ApiAnswer answer = change(one_, "b/wake");
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("did not answer: two"), std::string::npos) << answer.body;
  EXPECT_EQ(change(one_, "a/wake").status, 202);
}

TEST_F(JoinedChangesTest, AHolderThatTakesAChangeAndDoesNotAnswerIsNamed) {
  one_.peers.deaf = true;
  const http::ApiAnswer answer = change(one_, "b/wake");
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("two governs service shop/b and did not answer"), std::string::npos)
      << answer.body;
}

TEST_F(JoinedChangesTest, AChangeOfAServiceThatIsNowhereIsNotFound) {
  EXPECT_EQ(change(one_, "none/wake").status, 404);
}

TEST_F(JoinedChangesTest, EventsOfOthersComeToReadersOfEventsByTheirOwnTypes) {
  const auto all = events(one_, "");
  const auto some = events(one_, "types=decision&service=b&namespace=shop");
  ASSERT_TRUE(all != nullptr && some != nullptr);
  two_.publish({{"type", "decision"}, {"namespace", "shop"}, {"service", "b"}, {"n", 1}});
  three_.publish({{"type", "decision"}, {"namespace", "shop"}, {"service", "c"}, {"n", 2}});
  two_.publish({{"type", "service"}, {"namespace", "shop"}, {"name", "b"}, {"event", "changed"}});
  together(2s);
  const std::string text = all->take();
  for (const char* const part : {"\"n\":1", "\"n\":2", "event: service\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  }
  EXPECT_EQ(text.find("event: spec"), std::string::npos);
  const std::string chosen = some->take();
  EXPECT_NE(chosen.find("\"n\":1"), std::string::npos) << chosen;
  EXPECT_EQ(chosen.find("\"n\":2"), std::string::npos) << chosen;
  EXPECT_EQ(chosen.find("event: service"), std::string::npos) << chosen;
}

TEST_F(JoinedChangesTest, EventsOfAMarkedQuestionAreOfThisReplicaAlone) {
  const api::ApiAnswer answer = one_.open("/api/v1/events?here=1");
  ASSERT_TRUE(answer.stream);
  EXPECT_FALSE(answer.later);
  EXPECT_EQ(answer.stream->states, nullptr);
  together(2s);
  EXPECT_TRUE(one_.peers.asked.empty());
}

TEST_F(JoinedChangesTest, EventsOfAServiceThatASilentReplicaMayHaveAreRefusedByItsName) {
  two_.silent = true;
  EXPECT_EQ(events(one_, "service=b&namespace=shop"), nullptr);
  ASSERT_TRUE(begun_);
  EXPECT_EQ(begun_->status, 503);
  EXPECT_NE(begun_->body.find("did not answer: two"), std::string::npos) << begun_->body;
  EXPECT_NE(events(one_, "service=a&namespace=shop"), nullptr);
  EXPECT_NE(events(one_, "types=decision"), nullptr);
}

TEST_F(JoinedChangesTest, ReadersOfEventsLearnWhichReplicaIsSilentAndThatSomeWereMissed) {
  const auto before = events(one_, "");
  ASSERT_TRUE(before);
  two_.silent = true;
  together(3s);
  const std::string note = ": two does not answer: its events are missing\n\n";
  EXPECT_EQ(before->take(), note);
  const auto since = events(one_, "");
  ASSERT_TRUE(since);
  EXPECT_EQ(since->take(), note);
  two_.silent = false;
  together(3s);
  EXPECT_NE(since->take().find(": missed events of two\n\n"), std::string::npos);
}

TEST_F(JoinedChangesTest, AStreamOfEventsThatIsResumedBeginsWithANoteOfThoseOfOthers) {
  one_.publish({{"type", "decision"}, {"service", "a"}});
  ASSERT_TRUE(events(one_, "", "1"));
  ASSERT_TRUE(events(one_, "", "0"));
  EXPECT_EQ(begun_->body, ": sluice events\n\n: missed events of other replicas\n\n");
}

TEST_F(JoinedChangesTest, NoReplicaIsAskedForEventsWithoutAReader) {
  auto reader = events(one_, "");
  ASSERT_TRUE(reader);
  reader.reset();
  one_.peers.asked.clear();
  together(3s);
  EXPECT_TRUE(one_.peers.asked.empty());
}

}  // namespace
}  // namespace sluice::autoscaler
