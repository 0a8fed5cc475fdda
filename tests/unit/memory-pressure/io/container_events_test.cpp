#include "memory-pressure/io/container_events.h"

#include "tests/support/unary_server.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <cri/cri.pb.h>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::node_agent {
namespace {

using rpc::testing::run_until;
using rpc::testing::TestFolder;
using sluice::testing::UnaryAnswer;
using sluice::testing::UnaryServer;

constexpr const char* kCri = "/runtime.v1.RuntimeService/GetContainerEvents";
constexpr const char* kContainerd = "/containerd.services.events.v1.Events/Subscribe";
constexpr int kUnimplemented = 12;

class Events : public ::testing::Test {
 protected:
  // A runtime that has these streams.
  void serve(std::set<std::string> methods) {
    has = std::move(methods);
    server.emplace("unix:" + socket, [this](const std::string& method, const std::string& request) {
      const std::lock_guard lock{mutex};
      ++asked[method];
      requests[method] = request;
      boost::asio::post(io, [] {});  // who waits for it looks again
      return has.contains(method) ? UnaryAnswer{0, {}, {}, true}
                                  : UnaryAnswer{kUnimplemented, "no such method", {}};
    });
  }

  [[nodiscard]] int times_asked(const std::string& method) {
    const std::lock_guard lock{mutex};
    return asked[method];
  }

  bool until_asked(const std::string& method, int times = 1) {
    return run_until(io, [&] { return times_asked(method) == times; });
  }

  void send_start(const std::string& id, std::uint32_t pid) {
    runtime::v1::TaskStart start;
    start.set_container_id(id);
    start.set_pid(pid);
    runtime::v1::Envelope envelope;
    envelope.set_namespace_("k8s.io");
    envelope.set_topic("/tasks/start");
    envelope.mutable_event()->set_value(start.SerializeAsString());
    server->send(kContainerd, envelope.SerializeAsString());
  }

  boost::asio::io_context io{1};
  TestFolder folder;
  std::string socket = folder.path() + "/cri.sock";
  log::Logger log{"node-agent", log::Severity::error};
  std::mutex mutex;
  std::set<std::string> has;
  std::map<std::string, int> asked;
  std::map<std::string, std::string> requests;
  std::optional<UnaryServer> server;
  int news = 0;
  std::vector<std::string> started;
  ContainerEvents events{
      io,
      log,
      {.news = [this] { ++news; },
       .started = [this](const std::string& id,
                         pid_t pid) { started.push_back(id + " in " + std::to_string(pid)); }}};
};

TEST_F(Events, OneEmptyMessageSubscribesToThoseOfCriWhichAreNews) {
  serve({kCri});
  events.start(socket);

  ASSERT_TRUE(until_asked(kCri));
  EXPECT_EQ(requests.at(kCri), "");
  EXPECT_EQ(news, 0);
  server->send(kCri, "an event");

  EXPECT_TRUE(run_until(io, [this] { return news == 1; }));
  EXPECT_FALSE(events.unsupported());
  EXPECT_TRUE(started.empty());
}

TEST_F(Events, AStartInContainerdsStreamIsPassedOnWithItsProcess) {
  serve({kContainerd});
  events.start(socket);

  ASSERT_TRUE(until_asked(kContainerd));
  send_start("c1", 41);

  ASSERT_TRUE(run_until(io, [this] { return started.size() == 1; }));
  EXPECT_EQ(started.front(), "c1 in 41");
  EXPECT_FALSE(events.unsupported());
}

// CRI's list may show later what containerd has reported.
TEST_F(Events, AfterAnEventOfContainerdTheListIsReadAtOnceAndOnceMore) {
  serve({kContainerd});
  events.start(socket);
  ASSERT_TRUE(until_asked(kContainerd));

  send_start("c1", 41);

  EXPECT_TRUE(run_until(io, [this] { return news == 2; }));
}

TEST_F(Events, WhatIsNoEventOfCrisContainersIsIgnored) {
  serve({kContainerd});
  events.start(socket);
  ASSERT_TRUE(until_asked(kContainerd));

  server->send(kContainerd, "no envelope");
  server->send(kContainerd, runtime::v1::Envelope{}.SerializeAsString());
  send_start("c1", 41);

  ASSERT_TRUE(run_until(io, [this] { return news > 0; }));
  EXPECT_EQ(started.size(), 1U) << "so the others were read before";
}

TEST_F(Events, BothStreamsAreReadWhereTheRuntimeHasBoth) {
  serve({kCri, kContainerd});
  events.start(socket);
  ASSERT_TRUE(until_asked(kCri));
  ASSERT_TRUE(until_asked(kContainerd));

  server->send(kCri, "an event");
  ASSERT_TRUE(run_until(io, [this] { return news == 1; }));
  send_start("c1", 41);

  EXPECT_TRUE(run_until(io, [this] { return news == 2 && started.size() == 1; }));
}

TEST_F(Events, ManyEventsAtOnceAreReportedTogether) {
  serve({kCri});
  events.start(socket);
  ASSERT_TRUE(until_asked(kCri));

  for (int i = 0; i < 50; ++i) server->send(kCri, "an event");

  EXPECT_TRUE(run_until(io, [this] { return news >= 2; }));
  EXPECT_LT(news, 50);
}

TEST_F(Events, ARestartedRuntimeIsSubscribedToAgain) {
  serve({kContainerd});
  events.start(socket);
  ASSERT_TRUE(until_asked(kContainerd));

  server.reset();
  serve({kContainerd});

  ASSERT_TRUE(until_asked(kContainerd, 2));
  send_start("c1", 41);
  EXPECT_TRUE(run_until(io, [this] { return started.size() == 1; }));
}

TEST_F(Events, ARuntimeWithoutEventsIsLeftAlone) {
  serve({});
  events.start(socket);

  EXPECT_TRUE(run_until(io, [this] { return events.unsupported(); }));
  EXPECT_EQ(times_asked(kCri), 1);
  EXPECT_EQ(times_asked(kContainerd), 1);
  EXPECT_EQ(news, 0);
}

}  // namespace
}  // namespace sluice::node_agent
