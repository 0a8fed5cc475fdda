#include "common/kube/reflector.h"

#include "common/kube/informer.h"
#include "common/kube/objects.h"
#include "tests/unit/common/kube/fake_api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace sluice::kube {
namespace {

using testing::chunk;
using testing::FakeApi;
using testing::json_reply;
using testing::Reply;
using testing::run_until;
using testing::Seen;
using testing::watch_reply;

std::string object(const std::string& name, int version) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"shop","resourceVersion":")" +
         std::to_string(version) + "\"}}";
}

std::string event(const std::string& type, const std::string& about) {
  return R"({"type":")" + type + R"(","object":)" + about + "}\n";
}

std::string added(const std::string& name, int version) {
  return event("ADDED", object(name, version));
}

std::string bookmark(int version, bool initial_end = false) {
  const std::string note =
      initial_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "";
  return event("BOOKMARK", R"({"metadata":{"resourceVersion":")" + std::to_string(version) + "\"" +
                               note + "}}");
}

std::string error_event(int code, const std::string& message) {
  return event("ERROR", R"({"kind":"Status","code":)" + std::to_string(code) + R"(,"message":")" +
                            message + "\"}");
}

std::string list_of(const std::vector<std::string>& items, int version,
                    const std::string& next = "") {
  std::string text = R"({"kind":"PodList","metadata":{"resourceVersion":")" +
                     std::to_string(version) + R"(","continue":")" + next + R"("},"items":[)";
  for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
  return text + "]}";
}

bool is_watch(const Seen& seen) {
  return seen.target.find("watch=1") != std::string::npos;
}

bool is_streaming_list(const Seen& seen) {
  return seen.target.find("sendInitialEvents=true") != std::string::npos;
}

class KubeReflector : public ::testing::Test, public ObjectSink {
 protected:
  void follow(FakeApi::Script script, Collection collection = {.path = "/api/v1/pods"}) {
    api_ = std::make_unique<FakeApi>(io_, std::move(script));
    client_ = *Client::make(io_, clock_, log_, api_->access());
    reflector_ = std::make_unique<Reflector>(io_, clock_, random_, log_, *client_,
                                             std::move(collection), *this);
    reflector_->start();
  }

  // All calls, in order.
  [[nodiscard]] bool told(const std::string& text) {
    const bool came = run_until(io_, [&] { return told_.size() >= text.size(); });
    EXPECT_EQ(told_, text);
    return came;
  }

  void put(const ObjectName& name, std::string_view /*json*/) override {
    told_ += "+" + name.name + " ";
  }

  void gone(const ObjectName& name) override { told_ += "-" + name.name + " "; }

  void synced() override { told_ += "synced "; }

  boost::asio::io_context io_;
  Clock clock_;
  log::Logger log_{"test", static_cast<log::Severity>(4)};
  std::mt19937_64 random_{1};
  std::unique_ptr<FakeApi> api_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Reflector> reflector_;
  std::string told_;
};

TEST_F(KubeReflector, TellsAStreamingListAndWhatFollowsOnTheSameConnection) {
  follow(
      [](const Seen&) {
        return watch_reply(added("a", 3) + added("b", 2) + bookmark(5, true) +
                           event("MODIFIED", object("a", 6)) + event("DELETED", object("b", 7)));
      },
      {.path = "/api/v1/pods", .labels = "sluice.dev/sidecar in (a,b)"});

  ASSERT_TRUE(told("+a +b synced +a -b "));
  EXPECT_EQ(api_->seen().size(), 1U);
  EXPECT_NE(api_->seen()[0].target.find("labelSelector=sluice.dev%2Fsidecar%20in%20%28a%2Cb%29"),
            std::string::npos);
  EXPECT_TRUE(reflector_->state().synced);
  EXPECT_TRUE(reflector_->state().connected);
  EXPECT_EQ(reflector_->state().lists, 1U);
}

TEST_F(KubeReflector, ListsInChunksWhereTheServerRefusesToStream) {
  follow([](const Seen& seen) {
    if (is_streaming_list(seen)) return json_reply(R"({"kind":"Status","code":422})", 422);
    if (is_watch(seen)) return watch_reply(added("d", 9));
    const bool first = seen.target.find("continue=") == std::string::npos;
    return first ? json_reply(list_of({object("a", 1), object("b", 2)}, 8, "t0ken"))
                 : json_reply(list_of({object("c", 3)}, 8));
  });

  ASSERT_TRUE(told("+a +b +c synced +d "));
  EXPECT_EQ(api_->count("GET", "/api/v1/pods?limit=500"), 2U);
  EXPECT_NE(api_->seen().back().target.find("resourceVersion=8&"), std::string::npos);
}

TEST_F(KubeReflector, ListsWhereStreamingFailsWithAnErrorEvent) {
  follow([](const Seen& seen) {
    if (is_streaming_list(seen)) {
      return watch_reply(error_event(500, "RequestWatchProgress is disabled"));
    }
    if (is_watch(seen)) return watch_reply();
    return json_reply(list_of({object("a", 1)}, 2));
  });

  ASSERT_TRUE(told("+a synced "));
}

TEST_F(KubeReflector, GoesOnAfterACutInTheMiddleOfAnEventAndAppliesNothingOfIt) {
  int watches = 0;
  follow([&](const Seen&) -> Reply {
    if (++watches == 1) {
      const std::string torn = added("c", 6);
      Reply reply = watch_reply(added("a", 3) + bookmark(4, true) + added("b", 5) +
                                torn.substr(0, torn.size() / 2));
      reply.close = true;
      return reply;
    }
    return watch_reply(added("c", 6));
  });

  ASSERT_TRUE(told("+a synced +b +c "));
  EXPECT_NE(api_->seen()[1].target.find("resourceVersion=5&"), std::string::npos);
  EXPECT_EQ(reflector_->state().lists, 1U);
}

TEST_F(KubeReflector, ListsOnceAfterA410AndTellsWhatHasGoneMeanwhile) {
  int streams = 0;
  follow([&](const Seen& seen) {
    if (!is_streaming_list(seen)) return watch_reply(error_event(410, "too old resource version"));
    if (++streams == 1) {
      Reply reply = watch_reply(added("a", 1) + added("b", 2) + bookmark(3, true));
      reply.bytes += chunk("");
      return reply;
    }
    return watch_reply(added("b", 2) + added("c", 9) + bookmark(10, true));
  });

  // `b` is as it was, and not told again.
  ASSERT_TRUE(told("+a +b synced +c -a synced "));
  EXPECT_EQ(streams, 2);
  EXPECT_EQ(reflector_->state().lists, 2U);
}

TEST_F(KubeReflector, ListsAnewAfterAnHttp410) {
  int streams = 0;
  follow([&](const Seen& seen) {
    if (!is_streaming_list(seen)) return json_reply(R"({"kind":"Status","code":410})", 410);
    Reply reply = watch_reply(added("a", 1) + bookmark(3, true));
    if (++streams == 1) reply.bytes += chunk("");
    return reply;
  });

  ASSERT_TRUE(told("+a synced synced "));
}

TEST_F(KubeReflector, WaitsForAsLongAsARefusalOfTheWatchSays) {
  std::vector<TimePoint> asked;
  follow([&](const Seen&) {
    asked.push_back(clock_.now());
    if (asked.size() == 1) return json_reply("slow down", 429, "Retry-After: 2\r\n");
    return watch_reply(bookmark(1, true));
  });

  ASSERT_TRUE(told("synced "));
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_GE(asked[1] - asked[0], std::chrono::seconds{2});
}

TEST_F(KubeReflector, PassesOverEventsItDoesNotKnow) {
  follow([](const Seen&) {
    return watch_reply(event("SPLENDID", object("x", 1)) + bookmark(1, true) + added("a", 2));
  });

  ASSERT_TRUE(told("synced +a "));
}

TEST_F(KubeReflector, KeepsWhatWasToldThroughGarbageAndComesBack) {
  int watches = 0;
  follow([&](const Seen&) -> Reply {
    switch (++watches) {
      case 1: {
        Reply reply = watch_reply(added("a", 1) + bookmark(2, true));
        reply.bytes += chunk("");
        return reply;
      }
      case 2:
        return watch_reply("\xff\xfe{not an event\n");
      case 3:
        return {"GARBAGE\r\n\r\n", true};
      case 4:
        return json_reply("oops", 500);
      default:
        return watch_reply(added("b", 3));
    }
  });

  ASSERT_TRUE(told("+a synced +b "));
  EXPECT_EQ(reflector_->state().problem, "");
}

TEST_F(KubeReflector, NamesTheVerbsAndTheResourceThatItMayNotUse) {
  follow(
      [](const Seen&) {
        return json_reply(R"({"kind":"Status","reason":"Forbidden","message":"no","code":403})",
                          403);
      },
      {.path = "/apis/apps/v1/namespaces/shop/deployments"});

  ASSERT_TRUE(run_until(io_, [&] { return reflector_->state().forbidden; }));
  EXPECT_EQ(reflector_->state().problem,
            "needs list and watch on deployments.apps in namespace shop: the API server answered "
            "403 Forbidden: no");
  EXPECT_FALSE(reflector_->state().synced);
}

TEST_F(KubeReflector, SaysWhenTheKindIsNotInstalled) {
  follow([](const Seen&) { return json_reply("404 page not found", 404); },
         {.path = "/apis/autoscaling.sluice.dev/v1alpha1/requestscalers"});

  ASSERT_TRUE(run_until(io_, [&] { return reflector_->state().absent; }));
  EXPECT_TRUE(reflector_->state().problem.starts_with(
      "there is no requestscalers.autoscaling.sluice.dev here: "));
}

TEST_F(KubeReflector, TriesAgainWhenTheServerIsAwayAtFirst) {
  int watches = 0;
  follow([&](const Seen&) -> Reply {
    if (++watches < 3) return {.close = true};
    return watch_reply(bookmark(1, true));
  });

  ASSERT_TRUE(told("synced "));
  EXPECT_EQ(watches, 3);
}

TEST_F(KubeReflector, IsSilentOnceItIsDestroyed) {
  follow([](const Seen&) { return watch_reply(bookmark(1, true)); });
  ASSERT_TRUE(told("synced "));

  reflector_.reset();
  api_->push(0, chunk(added("a", 2)));
  io_.poll();

  EXPECT_EQ(told_, "synced ");
}

TEST(KubeInformer, TellsValuesThatChangedAndKeepsTheLastGoodOne) {
  boost::asio::io_context io;
  const Clock clock;
  const log::Logger log{"test", static_cast<log::Severity>(4)};
  std::mt19937_64 random{1};
  const auto config = [](int version, const std::string& value) {
    return R"({"metadata":{"name":"c","namespace":"s","resourceVersion":")" +
           std::to_string(version) + R"("},"data":)" + value + "}";
  };
  FakeApi api{io, [&](const Seen&) {
                return watch_reply(event("ADDED", config(1, R"({"k":"1"})")) + bookmark(2, true) +
                                   event("MODIFIED", config(3, R"({"k":"1"})")) +
                                   event("MODIFIED", config(4, R"({"k":nonsense})")) +
                                   event("MODIFIED", config(5, R"({"k":"2"})")));
              }};
  const auto client = *Client::make(io, clock, log, api.access());
  std::string told;
  Informer<StringMap> informer{
      {io, clock, random, log, *client},
      {.path = "/api/v1/configmaps"},
      decode_config_map,
      {.changed = [&](const ObjectName& name,
                      const StringMap& now) { told += name.text() + "=" + now.at("k") + " "; },
       .gone = {},
       .synced = {}}};

  informer.start();

  ASSERT_TRUE(run_until(io, [&] { return informer.state().events == 5; }));
  EXPECT_EQ(told, "s/c=1 s/c=2 ");
  EXPECT_EQ(informer.all().size(), 1U);
}

}  // namespace
}  // namespace sluice::kube
