#include "activator/io/revision_book.h"

#include "common/loop/asio_loop.h"
#include "tests/unit/activator/idle_front.h"
#include "tests/unit/activator/noted_exchange.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using testing::IdleOwner;
using testing::Noted;

/// Notes which revisions lack pods and which pods have finished.
class NotingOwner final : public IdleOwner {
 public:
  void on_held(RevisionHandle /*revision*/) override { ++held; }

  void on_pod_drained(RevisionHandle /*revision*/, const PodId& pod) override {
    drained.push_back(pod.name);
  }

  int held = 0;
  std::vector<std::string> drained;
};

class RevisionBookTest : public ::testing::Test {
 protected:
  static model::Revision revision(const std::string& name, std::vector<model::HostRule> hosts) {
    model::Revision made;
    made.id = {"default", name};
    made.service = name;
    made.hosts = std::move(hosts);
    return made;
  }

  std::unique_ptr<Noted> ask(std::string_view host, std::string_view path = "/") {
    auto exchange = std::make_unique<Noted>(front_, clock_.now());
    exchange->ask(host, path);
    exchange->begin();
    return exchange;
  }

  /// The revision that such a request waits for, which has no pod; else the status it is answered.
  std::string waits_for(std::string_view host, std::string_view path = "/") {
    const auto request = ask(host, path);
    if (request->where != "held") return request->where;
    std::string name;
    front_.each_busy([&name](const FrontGateway::Busy& busy) { name = busy.id.name; });
    request->respond(http::response_for(Error::draining));
    return name;
  }

  /// A pod that the platform has asked itself, at an address that names it.
  static model::Pod pod(const std::string& name) {
    model::Pod made;
    made.id = {name};
    made.address = net::Address{.host = {}, .port = 0, .path = "/run/" + name};
    made.ready = true;
    made.proven = true;
    return made;
  }

  static std::string dest(const std::string& name) { return pod(name).address->text(); }

  void report(const std::vector<model::Pod>& pods, std::int32_t limit = 1) {
    model::Revision app = revision("app", {{"app.localhost"}});
    app.container_concurrency = limit;
    app.pods = pods;
    book_.on_revision(std::move(app));
  }

  [[nodiscard]] RevisionHandle app() const { return *book_.find({"default", "app"}); }

  std::unique_ptr<Noted> ask() { return ask("app.localhost"); }

  std::int32_t waiting_for(const std::string& name) {
    return front_.waiting(*book_.find({"default", name}));
  }

  boost::asio::io_context io_{1};
  Clock clock_;
  AsioLoop time_{io_, clock_};
  PoolAsker asker_{io_};
  log::Logger log_{"test", log::Severity::error};
  NotingOwner owner_;
  FrontGateway front_{io_, time_, book_, owner_, {}};
  PodProber prober_{io_, time_, front_, asker_, {}, {}};
  RevisionBook book_{front_, prober_, log_, {.cluster_domain = "cluster.local"}};
};

TEST_F(RevisionBookTest, ARequestIsForTheRevisionOfItsHostAndLongestPrefix) {
  book_.on_revision(revision("shop", {{"shop.localhost"}, {"localhost", "/shop"}}));
  book_.on_revision(revision("cart", {{"localhost", "/shop/cart"}}));

  EXPECT_EQ(waits_for("shop.localhost:8080", "/any"), "shop");
  EXPECT_EQ(waits_for("localhost", "/shop/a?b=/cart"), "shop");
  EXPECT_EQ(waits_for("localhost", "/shop/cart?x"), "cart");
  EXPECT_EQ(waits_for("localhost", "/"), "404");
  EXPECT_EQ(waits_for("other", "/shop"), "404");
}

TEST_F(RevisionBookTest, PodsOfAReplacedRevisionTakeRequestsOfItsSuccessorWhileTheyAreShared) {
  model::Revision next = revision("app", {{"app.localhost"}});
  next.container_concurrency = 1;
  next.pods = {pod("new")};
  next.shared = {pod("old")};
  book_.on_revision(next);
  const auto first = ask();
  const auto second = ask();
  EXPECT_EQ(front_.in_flight(app(), {dest("new")}), 1U);
  EXPECT_EQ(front_.in_flight(app(), {dest("old")}), 1U);

  next.shared.clear();
  book_.on_revision(next);
  EXPECT_EQ(front_.in_flight(app(), {dest("old")}), 1U) << "it finishes what it has";
  const auto third = ask();
  EXPECT_EQ(third->where, "held");
  third->respond(http::response_for(Error::draining));
  second->respond(http::response_for(Error::draining));
  first->respond(http::response_for(Error::draining));
}

TEST_F(RevisionBookTest, WaitingRequestsFollowTheHostsToTheReplacingRevision) {
  const std::vector<model::HostRule> hosts{{"app.localhost"}, {"localhost", "/app"}};
  book_.on_revision(revision("app-1", hosts));
  const auto waiting = ask("app.localhost");
  model::Revision next = revision("app-2", {});
  next.replaces = "app-1";
  book_.on_revision(next);
  EXPECT_EQ(waiting_for("app-1"), 1) << "one without hosts replaces nothing yet";

  next.hosts = hosts;
  book_.on_revision(next);
  book_.on_revision(revision("app-1", {}));

  EXPECT_EQ(waiting->where, "held");
  EXPECT_EQ(waiting_for("app-1"), 0);
  EXPECT_EQ(waiting_for("app-2"), 1);
  waiting->respond(http::response_for(Error::draining));
  EXPECT_EQ(waits_for("app.localhost"), "app-2");
  EXPECT_EQ(waits_for("localhost", "/app"), "app-2");
}

TEST_F(RevisionBookTest, ARevisionReplacesAnotherOnlyOnce) {
  book_.on_revision(revision("app-1", {{"app.localhost"}}));
  model::Revision next = revision("app-2", {{"app.localhost"}});
  next.replaces = "app-1";
  book_.on_revision(next);

  model::Revision back = revision("app-1", {{"app.localhost"}});
  back.replaces = "app-2";
  book_.on_revision(back);
  EXPECT_EQ(waits_for("app.localhost"), "app-1");
  book_.on_revision(next);
  EXPECT_EQ(waits_for("app.localhost"), "app-1");
}

TEST_F(RevisionBookTest, ARevisionThatReplacesItselfOrAnUnknownOneTakesNoRequests) {
  for (const char* name : {"app-1", "nothing"}) {
    model::Revision odd = revision("app-1", {{"app.localhost"}});
    odd.replaces = name;
    book_.on_revision(odd);
    EXPECT_EQ(waits_for("app.localhost"), "app-1") << name;
  }
}

TEST_F(RevisionBookTest, ARequestHeldForAProvenPodIsSentInTheCallThatReportsIt) {
  report({});
  const auto first = ask();
  const auto second = ask();
  EXPECT_EQ(first->where + second->where, "heldheld");
  EXPECT_EQ(owner_.held, 2);

  report({pod("a")});

  EXPECT_EQ(first->where, "a");
  EXPECT_EQ(second->where, "held");
  EXPECT_EQ(owner_.held, 2);
  first->answer(200, {});
  EXPECT_EQ(second->where, "a");
  second->answer(200, {});
}

TEST_F(RevisionBookTest, ATerminatingPodFinishesItsRequestsAndIsThenReportedDrained) {
  report({pod("a")}, 0);
  const auto first = ask();
  const auto second = ask();
  ASSERT_EQ(first->where + second->where, "aa");

  model::Pod going = pod("a");
  going.terminating = true;
  report({going, pod("b")}, 0);
  const auto third = ask();
  EXPECT_EQ(third->where, "b");
  report({pod("b")}, 0);

  EXPECT_EQ(front_.in_flight(app(), {dest("a")}), 2U);
  first->answer(200, {});
  EXPECT_TRUE(owner_.drained.empty());
  second->answer(200, {});
  EXPECT_EQ(owner_.drained, std::vector<std::string>{dest("a")});
  EXPECT_EQ(front_.in_flight(app(), {dest("a")}), 0U);
  third->answer(200, {});
  EXPECT_EQ(owner_.drained.size(), 1U);
}

TEST_F(RevisionBookTest, WaitingRequestsStayHeldWhenTheLastPodTerminates) {
  report({pod("a")});
  const auto running = ask();
  const auto waiting = ask();
  model::Pod going = pod("a");
  going.terminating = true;
  report({going});

  running->answer(200, {});
  EXPECT_EQ(waiting->where, "held");
  EXPECT_EQ(owner_.drained, std::vector<std::string>{dest("a")});
  const auto newcomer = ask();
  EXPECT_EQ(newcomer->where, "held");
  EXPECT_GT(owner_.held, 0);

  report({pod("b")}, 0);
  EXPECT_EQ(waiting->where, "b");
  waiting->answer(200, {});
  newcomer->answer(200, {});
}

TEST_F(RevisionBookTest, WaitingRequestsGoToAnAvoidedPodOnlyWhereThereIsNoOther) {
  report({pod("a"), pod("b")});
  const std::string avoided = dest("a");
  prober_.set_avoid(app(), {&avoided, 1});
  const auto running = ask();
  const auto waiting = ask();
  ASSERT_EQ(running->where, "b");
  EXPECT_EQ(waiting->where, "held");
  EXPECT_EQ(owner_.held, 0);

  report({pod("a")});

  EXPECT_EQ(waiting->where, "a");
  waiting->answer(200, {});
  const auto next = ask();
  EXPECT_EQ(next->where, "a");
  next->answer(200, {});
  running->answer(200, {});
  EXPECT_EQ(owner_.drained, std::vector<std::string>{dest("b")});
}

TEST_F(RevisionBookTest, AnAvoidedPodServesWhileItIsTheOnlyOne) {
  report({pod("a")}, 0);
  const std::string avoided = dest("a");
  prober_.set_avoid(app(), {&avoided, 1});
  const auto first = ask();
  EXPECT_EQ(first->where, "a");

  report({pod("a"), pod("b")}, 0);
  const auto second = ask();
  const auto third = ask();
  EXPECT_EQ(second->where + third->where, "bb");
  for (Noted* one : {first.get(), second.get(), third.get()}) one->answer(200, {});
}

TEST_F(RevisionBookTest, HostsChangeWithTheirRevisionAndAreRemovedWithIt) {
  book_.on_revision(revision("a", {{"localhost", "/x"}, {"a.localhost"}}));
  book_.on_revision(revision("b", {{"localhost", "/x"}}));
  EXPECT_EQ(waits_for("localhost", "/x"), "a");

  book_.on_revision(revision("a", {{"a.localhost"}}));
  EXPECT_EQ(waits_for("localhost", "/x"), "b");
  EXPECT_TRUE(book_.hosts().knows("a.localhost"));

  book_.on_revision_gone({"default", "a"});
  EXPECT_EQ(waits_for("a.localhost"), "404");
  EXPECT_EQ(book_.hosts().hosts(20), std::vector<std::string_view>{"localhost"});
}

TEST_F(RevisionBookTest, RevisionsWithPercentagesShareAHostAndEachHasItsOwnHostsAlone) {
  model::Revision one = revision("app-1", {{"app.localhost"}});
  one.percent = 75;
  one.own_hosts = {{"stable-app.localhost"}};
  model::Revision two = revision("app-2", {{"app.localhost"}});
  two.percent = 25;
  book_.on_revision(one);
  book_.on_revision(two);
  std::string order;
  for (int i = 0; i < 8; ++i) order += waits_for("app.localhost").back();
  EXPECT_EQ(order, "11211121");
  EXPECT_EQ(waits_for("stable-app.localhost"), "app-1");

  two.percent = 100;
  one.hosts.clear();
  book_.on_revision(one);
  book_.on_revision(two);
  EXPECT_EQ(waits_for("app.localhost"), "app-2");
  EXPECT_EQ(waits_for("stable-app.localhost"), "app-1");
}

TEST_F(RevisionBookTest, WaitingRequestsFollowToAndFroBetweenTwoRevisions) {
  model::Revision one = revision("app-1", {{"app.localhost"}});
  model::Revision two = revision("app-2", {});
  book_.on_revision(one);
  book_.on_revision(two);
  const auto waiting = ask("app.localhost");
  for (int turn = 0; turn < 3; ++turn) {
    two.hosts = {{"app.localhost"}};
    two.replaces = "app-1";
    book_.on_revision(two);
    one.hosts.clear();
    book_.on_revision(one);
    two.replaces.clear();
    book_.on_revision(two);
    EXPECT_EQ(waiting_for("app-2"), 1) << turn;

    one.hosts = {{"app.localhost"}};
    one.replaces = "app-2";
    book_.on_revision(one);
    two.hosts.clear();
    book_.on_revision(two);
    one.replaces.clear();
    book_.on_revision(one);
    EXPECT_EQ(waiting_for("app-1"), 1) << turn;
  }
  waiting->respond(http::response_for(Error::draining));
}

}  // namespace
}  // namespace sluice::activator
