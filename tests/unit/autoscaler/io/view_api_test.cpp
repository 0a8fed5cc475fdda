// What pages draw of a fleet, in virtual time.

#include "autoscaler/io/view_api.h"

#include "autoscaler/io/time_text.h"
#include "tests/unit/autoscaler/io/fleet_stage.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sluice::autoscaler {
namespace {

using namespace std::chrono_literals;
using api::Proof;
using nlohmann::json;

// The front door of a machine, as far as a view asks it.
class FakeFront final : public FrontFacts {
 public:
  [[nodiscard]] Counted counted(const Revision& /*revision*/) const override {
    Counted now = facts;
    now.latency = &window;
    return now;
  }

  [[nodiscard]] json memory() const override {
    return {{"capacity_bytes", 1 << 30}, {"throttled", json::array()}};
  }

  void complete(const Revision& /*revision*/, json& /*status*/) const override {}

  void complete_replica(const Revision& /*revision*/, const PodId& /*pod*/,
                        json& replica) const override {
    replica["memory_bytes"] = 1000;
  }

  void complete_place(json& /*place*/) const override {}

  [[nodiscard]] std::vector<RevisionId> sharing(const RevisionId& revision) const override {
    return {revision};
  }

  [[nodiscard]] json last_cold_start(const Revision& /*revision*/) const override { return {}; }

  [[nodiscard]] json callers(const Revision& /*revision*/) const override { return {}; }

  void complete_explanation(const Revision& /*revision*/, json& /*answer*/) const override {}

  void complete_version(json& /*version*/) const override {}

  LatencyWindow window;
  Counted facts;
};

class ViewTest : public FleetTest {
 protected:
  void pods(const std::string& service, const std::vector<std::string>& states) {
    model::Revision revision;
    revision.id = {"shop", service + "-00001"};
    revision.service = service;
    revision.chosen = static_cast<std::int32_t>(states.size());
    add_pods(revision, states);
    platform_.replicas = static_cast<std::int32_t>(states.size());
    fleet_.on_revision(std::move(revision));
  }

  std::optional<api::ApiAnswer> ask(const std::string& target, Proof proof = Proof::own_user,
                                    const std::string& last_event_id = "") {
    api::ApiRequest request{.method = "GET",
                            .target = target,
                            .body = {},
                            .last_event_id = last_event_id,
                            .proof = proof};
    return views_->answer(request, *http::parse_target(target));
  }

  json get(const std::string& target, Proof proof = Proof::own_user) {
    auto answer = ask(target, proof);
    if (!answer) return {};
    std::string body = answer->body;
    while (answer->parts && answer->parts(body)) {
    }
    return json::parse(body);
  }

  // The data of the event that the states of a stream give now; null: they give none.
  static json data_of(const std::string& text) {
    const std::size_t at = text.find("\ndata: ");
    return at == std::string::npos ? json{} : json::parse(text.substr(at + 7));
  }

  void with_front() {
    views_.reset();
    view_.reset();
    view_ = std::make_unique<FleetView>(clock_, events_, &front_);
    make_views(&front_);
  }

  void make_views(const FrontFacts* front) {
    views_ = std::make_unique<ViewApi>(
        ViewFacts{.program = {.name = "one", .version = "1", .platform = "test", .started = {}},
                  .form = "cluster"},
        ViewApi::Parts{
            .clock = clock_, .api = api_, .view = *view_, .history = history_, .front = front});
  }

  void SetUp() override { make_views(nullptr); }

  FakeFront front_;
  std::unique_ptr<FleetView> view_ = std::make_unique<FleetView>(clock_, events_, nullptr);
  Api api_ = api_of("one");
  std::unique_ptr<ViewApi> views_;
};

TEST_F(ViewTest, CountsServicesByStateAndListsThemInShort) {
  pods("pay", {"ready", "ready"});
  pods("asleep", {});
  time_.run_for(2s);
  const json overview = get("/api/v1/overview");
  EXPECT_EQ(overview["services"]["all"], 2);
  EXPECT_EQ(overview["services"]["awake"], 1);
  EXPECT_EQ(overview["services"]["asleep"], 1);
  EXPECT_EQ(overview["ready"], 2);
  EXPECT_EQ(overview["name"], "one");
  EXPECT_EQ(overview["edit"], false);
  EXPECT_TRUE(overview["p99_ms"].is_null());
  EXPECT_EQ(overview["rps_points"].size(), 60U);

  const json page = get("/api/v1/services?brief=1&limit=1");
  ASSERT_EQ(page["items"].size(), 1U);
  EXPECT_EQ(page["items"][0]["name"], "asleep");
  EXPECT_EQ(page["items"][0]["points"].size(), 60U);
  EXPECT_TRUE(page["items"][0]["trouble"].is_null());
  const json rest = get("/api/v1/services?brief=1&next=" + page["next"].get<std::string>());
  ASSERT_EQ(rest["items"].size(), 1U);
  EXPECT_EQ(rest["items"][0]["name"], "pay");
  EXPECT_EQ(rest["items"][0]["ready"], 2);
  EXPECT_TRUE(rest["items"][0]["queued"].is_null());
  EXPECT_FALSE(rest.contains("next"));
  EXPECT_EQ(get("/api/v1/services?brief=1&state=awake&q=PA")["items"].size(), 1U);
  EXPECT_TRUE(get("/api/v1/services?brief=1&q=nothing")["items"].empty());
}

TEST_F(ViewTest, RefusesOtherParametersAndNames) {
  pods("pay", {"ready"});
  time_.run_for(1s);
  for (const char* wrong :
       {"services?brief=1&state=up", "services?brief=1&sort=size", "services?brief=1&limit=0",
        "services/shop/pay/series?since=x", "services/shop/pay/series?step=0s",
        "services/shop/pay/series?step=2h", "services/shop/pay/cold-starts?since=x",
        "live?view=all", "live", "live?view=service", "live?view=service&ns=shop"}) {
    EXPECT_EQ(ask(std::string{"/api/v1/"} + wrong)->status, 400) << wrong;
  }
  const auto says = [this](const char* target, const char* words) {
    EXPECT_NE(ask(std::string{"/api/v1/"} + target)->body.find(words), std::string::npos) << target;
  };
  says("services?brief=1&state=up", "\"state is not accepted: up\"");
  says("services?brief=1&sort=size", "\"sort is not accepted: size\"");
  says("live?view=service&ns=shop", "\"name is missing\"");
  for (const char* missing : {"services/shop/none/series", "services/shop/none/cold-starts",
                              "memory", "live?view=service&ns=shop&name=none"}) {
    EXPECT_EQ(ask(std::string{"/api/v1/"} + missing)->status, 404) << missing;
  }
  for (const char* other : {"/api/v1/services", "/api/v1/services/shop/pay", "/api/v1/version",
                            "/api/v1/overview/more", "/"}) {
    EXPECT_FALSE(ask(other)) << other;
  }
}

TEST_F(ViewTest, RecordsEachSecondOfAServiceThatIsAwake) {
  with_front();
  pods("pay", {"ready"});
  time_.run_for(1s);
  for (int second = 0; second < 5; ++second) {
    for (int i = 0; i < 10 * second; ++i) front_.window.record(3ms, clock_.now());
    front_.facts.errors += 1;
    time_.run_for(1s);
  }
  const json series = get("/api/v1/services/shop/pay/series?since=5s");
  EXPECT_EQ(series["step_ms"], 1000);
  ASSERT_EQ(series["columns"].size(), 15U);
  EXPECT_EQ(series["columns"][7], "rps");
  EXPECT_EQ(series["columns"][14], "latency");
  ASSERT_EQ(series["rows"].size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const json& row = series["rows"][i];
    ASSERT_EQ(row.size(), 15U);
    EXPECT_EQ(row[0], 1);
    EXPECT_EQ(row[7], 10 * i) << series;
    EXPECT_EQ(row[8], 1) << series;
    EXPECT_EQ(row[14].size(), 24U);
  }
  EXPECT_EQ(series["start"].get<std::int64_t>() + 5,
            std::chrono::floor<std::chrono::seconds>(clock_.now()).time_since_epoch().count());
}

TEST_F(ViewTest, AServiceThatSleepsForLongIsNotLookedAt) {
  with_front();
  pods("pay", {"ready"});
  time_.run_for(2s);
  pods("pay", {});
  time_.run_for(90s);
  const json row = get("/api/v1/services?brief=1")["items"][0];
  EXPECT_EQ(row["ready"], 0);
  EXPECT_EQ(row["points"].size(), 60U);
  const json later = get("/api/v1/services/shop/pay/series?since=10s");
  for (const json& each : later["rows"]) EXPECT_TRUE(each.is_null()) << later;
}

TEST_F(ViewTest, AReaderOfTheFleetGetsChangedRowsOnceASecond) {
  pods("pay", {"ready"});
  pods("web", {});
  time_.run_for(1s);
  const auto all = ask("/api/v1/live?view=fleet")->stream->states;
  const auto one = ask("/api/v1/live?view=fleet&rows=shop/web")->stream->states;
  int news = 0;
  all->on_news([&news] { ++news; });
  EXPECT_EQ(all->take(), "");

  time_.run_for(1s);
  EXPECT_EQ(news, 1);
  const json quiet = data_of(all->take());
  EXPECT_TRUE(quiet["rows"].empty()) << quiet;
  EXPECT_EQ(quiet["overview"]["services"]["all"], 2);
  EXPECT_EQ(all->take(), "");

  pods("pay", {"ready", "ready"});
  time_.run_for(1s);
  const json told = data_of(all->take());
  ASSERT_EQ(told["rows"].size(), 1U) << told;
  EXPECT_EQ(told["rows"][0]["name"], "pay");
  EXPECT_EQ(told["rows"][0]["ready"], 2);
  EXPECT_FALSE(told["rows"][0].contains("points"));
  EXPECT_TRUE(data_of(one->take())["rows"].empty());

  pods("web", {"ready"});
  fleet_.on_revision_gone({"shop", "pay-00001"});
  time_.run_for(1s);
  // Who did not read meanwhile has missed nothing that still holds.
  const json last = data_of(one->take());
  ASSERT_EQ(last["rows"].size(), 1U) << last;
  EXPECT_EQ(last["rows"][0]["name"], "web");
  EXPECT_EQ(last["gone"], json::array({"shop/pay"}));
}

TEST_F(ViewTest, ManyChangesComeInSeveralEventsThatHaveAllOfThem) {
  constexpr int kServices = 250;
  const auto name = [](int i) { return "s" + std::to_string(1'000 + i); };
  for (int i = 0; i < kServices; ++i) pods(name(i), {});
  time_.run_for(1s);
  const auto reader = ask("/api/v1/live?view=fleet")->stream->states;
  for (int i = 0; i < kServices; ++i) pods(name(i), {"ready"});
  time_.run_for(1s);
  std::set<std::string> told;
  int events = 0;
  for (std::string text = reader->take(); !text.empty(); text = reader->take()) {
    ++events;
    const json rows = data_of(text)["rows"];
    EXPECT_LE(rows.size(), 100U);
    for (const json& row : rows) told.insert(row["name"].get<std::string>());
  }
  EXPECT_EQ(told.size(), static_cast<std::size_t>(kServices));
  EXPECT_EQ(events, 3);

  for (int i = 0; i < kServices; ++i) fleet_.on_revision_gone({"shop", name(i) + "-00001"});
  time_.run_for(1s);
  std::size_t gone = 0;
  for (std::string text = reader->take(); !text.empty(); text = reader->take()) {
    EXPECT_LE(data_of(text)["gone"].size(), 100U);
    gone += data_of(text)["gone"].size();
  }
  EXPECT_EQ(gone, static_cast<std::size_t>(kServices));
}

TEST_F(ViewTest, ASeriesIsMadeALittleAtATimeAndIsThatOfOneReading) {
  with_front();
  pods("pay", {"ready"});
  time_.run_for(200s);
  const auto answer = ask("/api/v1/services/shop/pay/series?since=150s");
  std::string body = answer->body;
  std::size_t longest = 0;
  for (bool more = true; more;) {
    std::string part;
    more = answer->parts(part);
    longest = std::max(longest, part.size());
    body += part;
  }
  const json series = json::parse(body);
  ASSERT_EQ(series["rows"].size(), 150U);
  EXPECT_LT(longest, body.size() / 5);
  const std::int64_t start = series["start"];
  const auto book = view_->series().read(view_->series_of(*fleet_.revisions().begin()->second),
                                         start, start + 150, 1);
  for (std::size_t i = 0; i < 150; ++i) {
    ASSERT_EQ(series["rows"][i].is_null(), !book.rows[i]) << i;
    if (book.rows[i]) {
      EXPECT_EQ(series["rows"][i][0], (*book.rows[i])[Figure::ready]);
    }
  }
  const json tens = get("/api/v1/services/shop/pay/series?since=6h");
  EXPECT_EQ(tens["step_ms"], 10'000);
  EXPECT_EQ(tens["rows"].size(), 2160U);
  EXPECT_EQ(get("/api/v1/services/shop/pay/series?since=6h&step=1h")["rows"].size(), 6U);
}

TEST_F(ViewTest, ListsColdStartsTheNewestFirst) {
  pods("pay", {"ready"});
  const model::Revision& of = fleet_.revisions().begin()->second->facts();
  for (int i = 0; i < 3; ++i) history_.record_cold_start(of, clock_.now(), {{"n", i}});
  const json answer = get("/api/v1/services/shop/pay/cold-starts");
  ASSERT_EQ(answer["items"].size(), 3U);
  EXPECT_EQ(answer["items"][0]["n"], 2);
}

TEST_F(ViewTest, WithoutReadersAFleetAsleepCausesNoLook) {
  pods("web", {});
  auto reader = ask("/api/v1/live?view=fleet")->stream->states;
  int news = 0;
  reader->on_news([&news] { ++news; });
  time_.run_for(3s);
  EXPECT_EQ(news, 3);
  reader.reset();
  time_.run_for(10s);
  const auto second = [this] {
    return std::chrono::floor<std::chrono::seconds>(clock_.now()).time_since_epoch().count();
  };
  const SeriesSlice looks =
      view_->series().read(FleetView::series_of_all(), second() - 10, second(), 1);
  int count = 0;
  for (const auto& look : looks.rows) count += look ? 1 : 0;
  EXPECT_LE(count, 1);
}

TEST_F(ViewTest, SamplesOfAServiceComeWhenItChangesAndElseEachSecond) {
  pods("pay", {"ready"});
  time_.run_for(1s);
  const auto states = ask("/api/v1/live?view=service&ns=shop&name=pay")->stream->states;
  const json first = data_of(states->take());
  ASSERT_EQ(first["row"].size(), 15U);
  EXPECT_EQ(first["row"][0], 1);
  ASSERT_EQ(first["replicas"].size(), 1U);
  EXPECT_EQ(first["replicas"][0][0], "pod-1");
  EXPECT_EQ(first["replicas"][0][1], "ready");
  EXPECT_EQ(first["replicas"][0][4], false);

  int news = 0;
  states->on_news([&news] { ++news; });
  time_.run_for(3s);
  EXPECT_GE(news, 3);
  EXPECT_LE(news, 6);
  static_cast<void>(states->take());
  news = 0;
  pods("pay", {"ready", "starting"});
  time_.run_for(250ms);
  EXPECT_EQ(news, 1);
  EXPECT_EQ(data_of(states->take())["replicas"].size(), 2U);
  EXPECT_EQ(states->take(), "");
}

TEST_F(ViewTest, AReaderMayOutliveTheView) {
  pods("pay", {"ready"});
  time_.run_for(1s);
  const auto fleet = ask("/api/v1/live?view=fleet")->stream->states;
  const auto service = ask("/api/v1/live?view=service&ns=shop&name=pay")->stream->states;
  views_.reset();
  time_.run_for(2s);
  EXPECT_EQ(fleet->take(), "");
}

TEST_F(ViewTest, TheThirtyThirdStreamIsRefusedUntilAnotherEnds) {
  std::vector<std::optional<api::ApiAnswer>> streams;
  for (int i = 0; i < ViewApi::kStreamsMax; ++i) {
    streams.push_back(ask("/api/v1/live?view=fleet", Proof::none));
    ASSERT_TRUE(streams.back()->stream) << i;
  }
  const auto refused = ask("/api/v1/live?view=fleet", Proof::none);
  EXPECT_FALSE(refused->stream);
  EXPECT_EQ(refused->status, 503);
  EXPECT_NE(refused->body.find("32 live streams"), std::string::npos) << refused->body;
  // Others of the machine keep the engine's user out of nothing.
  EXPECT_TRUE(ask("/api/v1/live?view=fleet", Proof::own_user)->stream);
  streams.pop_back();
  EXPECT_TRUE(ask("/api/v1/live?view=fleet", Proof::none)->stream);
}

TEST_F(ViewTest, AStreamBeginsAfterTheLastEventAndResetsWhenThatIsGone) {
  for (int i = 0; i < 3; ++i) ring_.publish({{"type", "decision"}, {"service", "pay"}});
  const auto begun = ask("/api/v1/live?view=fleet");
  EXPECT_TRUE(begun->body.starts_with("id: 3\nevent: hello\ndata: {")) << begun->body;
  EXPECT_EQ(begun->stream->after, 3U);
  EXPECT_EQ(begun->stream->missed_text, "event: reset\ndata: {}\n\n");
  const auto resumed = ask("/api/v1/live?view=fleet", Proof::own_user, "1");
  EXPECT_EQ(resumed->stream->after, 1U);
  EXPECT_EQ(resumed->body.find("reset"), std::string::npos);
  const auto of_another_start = ask("/api/v1/live?view=fleet", Proof::own_user, "99");
  EXPECT_EQ(of_another_start->stream->after, 3U);
  EXPECT_NE(of_another_start->body.find("event: reset\n"), std::string::npos);
  EXPECT_EQ(ask("/api/v1/live?view=fleet", Proof::own_user, "x")->status, 400);
}

TEST_F(ViewTest, AStreamOfAServiceHasItsEventsAndNoOthers) {
  pods("pay", {"ready"});
  const auto stream = ask("/api/v1/live?view=service&ns=shop&name=pay")->stream;
  const auto text = [&](const json& event) {
    ring_.publish(event);
    return stream->text_of(*ring_.after(ring_.last_id() - 1, {}).events.at(0));
  };
  EXPECT_TRUE(stream->filter.matches({.type = "decision", .space = "shop", .service = "pay"}));
  EXPECT_FALSE(stream->filter.matches({.type = "log", .space = "shop", .service = "pay"}));
  EXPECT_FALSE(stream->filter.matches({.type = "decision", .space = "b", .service = "pay"}));
  EXPECT_NE(text({{"type", "decision"}, {"service", "pay"}}), "");
  EXPECT_EQ(text({{"type", "decision"}, {"service", "web"}}), "");
  EXPECT_NE(text({{"type", "memory"}, {"pressure", "high"}}), "");
  EXPECT_TRUE(stream->filter.matches({.type = "move", .space = "shop", .service = "pay"}));
  EXPECT_NE(text({{"type", "move"}, {"service", "pay"}}), "");
  EXPECT_EQ(text({{"type", "move"}, {"service", "web"}}), "");
  EXPECT_TRUE(stream->filter.matches({.type = "place"}));
  EXPECT_NE(text({{"type", "place"}, {"name", "fast"}}), "");
  EXPECT_NE(text({{"type", "service"}, {"name", "pay"}, {"event", "changed"}}).find("event: spec"),
            std::string::npos);
  EXPECT_NE(text({{"type", "service"}, {"name", "pay"}}).find("event: service"), std::string::npos);
}

TEST_F(ViewTest, WhyStartsFailIsForTheEnginesUserAlone) {
  events_.begin();
  pods("pay", {"secret in /srv"});
  time_.run_for(1s);
  ASSERT_EQ(get("/api/v1/services?brief=1")["items"][0]["state"], "failing");
  EXPECT_EQ(get("/api/v1/services?brief=1")["items"][0]["why"], "secret in /srv");
  EXPECT_EQ(get("/api/v1/services?brief=1")["items"][0]["trouble"], "failing");
  EXPECT_EQ(get("/api/v1/services?brief=1", Proof::none).dump().find("secret"), std::string::npos);
  const auto own = ask("/api/v1/live?view=fleet")->stream->states;
  const auto others = ask("/api/v1/live?view=fleet", Proof::none)->stream->states;
  pods("pay", {"secret in /srv", "starting"});
  pods("pay", {"secret in /srv", "secret in /srv"});
  time_.run_for(1s);
  EXPECT_NE(own->take().find("secret"), std::string::npos);
  const std::string told = others->take();
  EXPECT_EQ(told.find("secret"), std::string::npos) << told;
  EXPECT_NE(told.find("replicas fail to start"), std::string::npos) << told;
}

}  // namespace
}  // namespace sluice::autoscaler
