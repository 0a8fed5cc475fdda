// Replicas of the autoscaler that answer for all, in virtual time.

#include "autoscaler/io/joined_api.h"

#include "tests/unit/autoscaler/io/replicas_stage.h"

#include <set>

namespace sluice::autoscaler {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

std::vector<std::string> names(const json& page) {
  std::vector<std::string> all;
  for (const json& row : page.at("items")) all.push_back(row.at("name"));
  return all;
}

using Names = std::vector<std::string>;

TEST_F(ReplicasTest, AListHasTheServicesOfAllInOrderAndInPages) {
  one_.pods("a", {"ready"});
  one_.pods("d", {});
  two_.pods("b", {"ready"});
  two_.pods("e", {});
  three_.pods("c", {});
  run(2s);
  for (const std::string list : {"services?", "services?brief=1&"}) {
    const json first = get(one_, list + "limit=2");
    EXPECT_EQ(names(first), (Names{"a", "b"}));
    EXPECT_FALSE(first.contains("missing"));
    // Another replica continues where the first has ended.
    const json second = get(two_, list + "limit=2&next=" + first.at("next").get<std::string>());
    EXPECT_EQ(names(second), (Names{"c", "d"}));
    const json last = get(three_, list + "limit=2&next=" + second.at("next").get<std::string>());
    EXPECT_EQ(names(last), (Names{"e"}));
    EXPECT_FALSE(last.contains("next"));
  }
}

TEST_F(ReplicasTest, AListIsSortedAndFilteredOverAll) {
  one_.pods("a", {"ready"});
  one_.pods("b", {});
  two_.pods("c", {"ready", "ready", "ready"});
  three_.pods("d", {"ready", "ready"});
  run(2s);
  EXPECT_EQ(names(get(two_, "services?brief=1&sort=ready")), (Names{"c", "d", "a", "b"}));
  EXPECT_EQ(names(get(two_, "services?brief=1&sort=ready&limit=2")), (Names{"c", "d"}));
  EXPECT_EQ(names(get(two_, "services?brief=1&state=asleep")), (Names{"b"}));
  EXPECT_EQ(names(get(two_, "services?brief=1&q=D")), (Names{"d"}));
  EXPECT_EQ(get(two_, "services?brief=1&q=d")["items"][0]["points"].size(), 60U);
}

TEST_F(ReplicasTest, TheOverviewIsTheSumOfAll) {
  one_.pods("a", {"ready"});
  two_.pods("b", {"ready", "starting"});
  three_.pods("c", {});
  run(2s);
  const json overview = get(three_, "overview");
  EXPECT_EQ(overview["name"], "three");
  EXPECT_EQ(overview["services"]["all"], 3);
  EXPECT_EQ(overview["services"]["awake"], 2);
  EXPECT_EQ(overview["services"]["asleep"], 1);
  EXPECT_EQ(overview["ready"], 2);
  EXPECT_EQ(overview["want"], 3);
  EXPECT_TRUE(overview["ready"].is_number_integer());
  EXPECT_EQ(overview["rps_points"].size(), 60U);
  EXPECT_FALSE(overview.contains("missing"));
}

TEST_F(ReplicasTest, AReplicaThatDoesNotAnswerIsNamedAndTheRestIsShown) {
  one_.pods("a", {"ready"});
  two_.pods("b", {"ready"});
  run(2s);
  two_.silent = true;
  one_.peers.known->unheld = {"autoscaler-bucket-02-of-03"};
  const json missing = json::array({"two", "autoscaler-bucket-02-of-03"});
  const json overview = get(one_, "overview");
  EXPECT_EQ(overview["missing"], missing);
  EXPECT_EQ(overview["services"]["all"], 1);
  const json list = get(one_, "services");
  EXPECT_EQ(list["missing"], json::array({"autoscaler-bucket-02-of-03", "two"}));
  EXPECT_EQ(names(list), (Names{"a"}));
}

TEST_F(ReplicasTest, AQuestionAboutAServiceGoesToTheReplicaThatGovernsIt) {
  two_.pods("b", {"ready", "ready"});
  run(2s);
  EXPECT_EQ(get(one_, "services/shop/b")["ready"], 2);
  EXPECT_EQ(get(one_, "services/shop/b/explain")["service"], "b");
  EXPECT_TRUE(get(one_, "services/shop/b/history?since=1m").contains("items"));
  EXPECT_EQ(get(one_, "services/shop/b/series?since=5s")["rows"].size(), 5U);
  EXPECT_TRUE(get(one_, "services/shop/b/cold-starts").contains("items"));
  EXPECT_EQ(ask(one_, "services/shop/b/series?step=0s").status, 400);
  for (const std::string& asked : one_.peers.asked) {
    EXPECT_NE(asked.find("?here=1"), std::string::npos) << asked;
  }
  EXPECT_TRUE(two_.peers.asked.empty());
}

TEST_F(ReplicasTest, AMarkedQuestionIsNotAskedOnHoweverItIsWritten) {
  two_.pods("b", {"ready"});
  run(2s);
  EXPECT_EQ(get(one_, "services?here=1")["items"].size(), 0U);
  EXPECT_EQ(ask(one_, "services/shop/b?here=1").status, 404);
  EXPECT_EQ(get(one_, "overview?here=1")["services"]["all"], 0);
  EXPECT_TRUE(one_.peers.asked.empty());
  static_cast<void>(get(one_, "services/shop/b?%68ere=0"));
  EXPECT_FALSE(one_.peers.asked.empty());
  EXPECT_TRUE(two_.peers.asked.empty());
  EXPECT_TRUE(three_.peers.asked.empty());
}

TEST_F(ReplicasTest, AReplicaThatGovernsAServiceAsksNoOtherForIt) {
  one_.pods("a", {"ready"});
  run(2s);
  two_.silent = true;
  EXPECT_EQ(get(one_, "services/shop/a")["ready"], 1);
  EXPECT_TRUE(one_.peers.asked.empty());
}

TEST_F(ReplicasTest, OfRevisionsInSeveralReplicasEachShowsTheOneThatIsWantedMost) {
  one_.pods("app", {"ready"}, "app-00001");
  two_.pods("app", {"ready", "ready", "ready"}, "app-00002");
  run(2s);
  for (Replica* const each : {&one_, &two_, &three_}) {
    EXPECT_EQ(get(*each, "services/shop/app")["revision"], "app-00002");
    EXPECT_EQ(get(*each, "services/shop/app-00001")["revision"], "app-00001");
  }
}

TEST_F(ReplicasTest, AServiceThatASilentReplicaMayHaveIsNotSaidToBeNone) {
  EXPECT_EQ(ask(one_, "services/shop/b").status, 404);
  two_.silent = true;
  const http::ApiAnswer answer = ask(one_, "services/shop/b/explain");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(json::parse(answer.body)["type"], "replica-missing");
  EXPECT_NE(answer.body.find("did not answer: two"), std::string::npos) << answer.body;
}

TEST_F(ReplicasTest, NodesAreThoseOfTheReplicaToWhichTheyReport) {
  two_.hears("n1", proto::NodePressure::ok);
  one_.peers.known->leader = Peer{.name = "two"};
  EXPECT_EQ(get(one_, "nodes")["items"][0]["name"], "n1");
  EXPECT_EQ(get(two_, "nodes")["items"][0]["name"], "n1");
  two_.silent = true;
  const json known = get(one_, "nodes");
  EXPECT_TRUE(known["items"].empty());
  EXPECT_EQ(known["missing"], json::array({"two"}));
}

TEST_F(ReplicasTest, WhatIsWrongWithAListIsSaid) {
  for (const char* const wrong :
       {"services?next=5", "services?next=one~x", "services?next=one~1_one~2", "services?limit=0",
        "services?limit=1001", "services?brief=1&sort=size", "services?brief=1&state=up",
        "changes?view=all", "changes?view=fleet&after=1-2", "changes?view=fleet&after=x"}) {
    EXPECT_EQ(ask(one_, wrong).status, 400) << wrong;
  }
  EXPECT_EQ(ask(one_, "services?q=" + std::string(4000, 'x')).status, 414);
  EXPECT_EQ(ask(one_, "changes?view=service&ns=shop&name=none").status, 404);
}

TEST_F(ReplicasTest, QuestionsBeyondTheLimitAreRefused) {
  two_.silent = true;
  std::multiset<int> answers;
  for (int i = 0; i < JoinedApi::kAskingMax + 1; ++i) {
    one_.ask("/api/v1/overview",
             [&answers](const http::ApiAnswer& answer) { answers.insert(answer.status); });
  }
  EXPECT_EQ(answers, (std::multiset<int>{503}));
  one_.run(2s);
  EXPECT_EQ(answers.count(200), static_cast<std::size_t>(JoinedApi::kAskingMax));
  EXPECT_EQ(ask(one_, "overview").status, 200);
}

TEST_F(ReplicasTest, WhereOneGovernsAllItAnswersAtOnceAndAnyReplicaReadsItsListOn) {
  one_.pods("a", {});
  one_.pods("b", {});
  run(2s);
  one_.peers.known = PeerList{};
  EXPECT_FALSE(one_.open("/api/v1/overview").later);
  EXPECT_FALSE(one_.open("/api/v1/services/shop/a").later);
  EXPECT_FALSE(one_.open("/api/v1/services").later);
  EXPECT_EQ(one_.open("/api/v1/live?view=service&ns=shop&name=none").status, 404);
  const json first = get(one_, "services?limit=1");
  EXPECT_EQ(first["next"], "one~1");
  EXPECT_EQ(names(get(two_, "services?limit=1&next=one~1")), (Names{"b"}));
  EXPECT_EQ(names(get(one_, "services?limit=1&next=one~1")), (Names{"b"}));
  EXPECT_EQ(ask(one_, "services?next=1").status, 400);
  EXPECT_EQ(ask(one_, "services?brief=1&sort=size").status, 400);
}

TEST_F(ReplicasTest, WithoutOthersToShareWithOneAnswersAlone) {
  one_.pods("a", {});
  run(1s);
  one_.peers.known.reset();
  EXPECT_EQ(get(one_, "services?next=0")["items"].size(), 1U);
  EXPECT_EQ(ask(one_, "services/shop/none").status, 404);
  EXPECT_TRUE(one_.peers.asked.empty());
}

TEST(ListPlaces, AreReadAsTheyAreWritten) {
  const ListPlaces places{{"autoscaler-1", 20}, {"autoscaler-2", 0}};
  EXPECT_EQ(text_of(places), "autoscaler-1~20_autoscaler-2~0");
  EXPECT_EQ(parse_places(text_of(places)), places);
  EXPECT_EQ(parse_places(""), ListPlaces{});
  EXPECT_FALSE(parse_places("~1"));
  EXPECT_FALSE(parse_places(std::string(300, 'a') + "~1"));
  std::string many;
  for (int i = 0; i < 20; ++i) many += "a" + std::to_string(i) + "~1_";
  EXPECT_FALSE(parse_places(many));
}

TEST(JoinedList, TextsWithBracketsAndQuotesStayWhole) {
  JoinedList list{{}, 10, {}};
  const std::string row =
      R"({"namespace":"a","revision":"b","name":"b","state":"asleep","why":"] } \" \\"})";
  list.add("one", R"({"items":[)" + row + R"(],"next":"1"})");
  list.add("two", R"({"items":[7,{"state":"awake"}]})");
  list.add("three", "no list");
  while (list.step()) {
  }
  const json page = json::parse(list.text({}));
  ASSERT_EQ(page["items"].size(), 1U);
  EXPECT_EQ(page["items"][0]["why"], "] } \" \\");
  EXPECT_EQ(page["next"], "one~1_three~0_two~2");
}

TEST(JoinedList, NoRowIsTakenPastThoseThatAReplicaHasBehindItsPage) {
  JoinedList list{{}, 10, {}};
  list.add(
      "one",
      R"({"items":[{"namespace":"s","revision":"a","name":"a","state":"asleep"}],"next":"1"})");
  list.add("two", R"({"items":[{"namespace":"s","revision":"c","name":"c","state":"asleep"}]})");
  while (list.step()) {
  }
  const json page = json::parse(list.text({}));
  EXPECT_EQ(names(page), (Names{"a"}));
  EXPECT_EQ(page["next"], "one~1_two~0");
}

}  // namespace
}  // namespace sluice::autoscaler
