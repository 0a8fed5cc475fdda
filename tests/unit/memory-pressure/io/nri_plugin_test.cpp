#include "memory-pressure/io/nri_plugin.h"

#include "common/loop/manual_loop.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <nri/nri.pb.h>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace sluice::node_agent {
namespace {

namespace wire = ::nri::pkg::api::v1alpha1;

using boost::asio::local::stream_protocol;
using nri::Message;
using nri::MessageKind;
using rpc::testing::run_until;
using rpc::testing::TestFolder;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int32_t kNotImplemented = 12;

// A runtime with NRI: what it gets, and what it sends.
class Host {
 public:
  Host(boost::asio::io_context& io, const std::string& path)
      : acceptor_{io, stream_protocol::endpoint{path}}, socket_{io} {
    accept();
  }

  void send(const std::string& bytes) { boost::asio::write(socket_, boost::asio::buffer(bytes)); }

  void call(std::uint32_t stream, const std::string& method, const std::string& payload = {},
            const std::string& service = std::string{nri::kPlugin}) {
    wire::Request request;
    request.set_service(service);
    request.set_method(method);
    request.set_payload(payload);
    send(nri::to_trunk({.connection = nri::kPluginService,
                        .stream = stream,
                        .kind = MessageKind::request,
                        .bytes = request.SerializeAsString()}));
  }

  void answer_registration(std::int32_t code = 0) {
    wire::Response response;
    if (code != 0) response.mutable_status()->set_code(code);
    send(nri::to_trunk({.connection = nri::kRuntimeService,
                        .stream = 1,
                        .kind = MessageKind::response,
                        .bytes = response.SerializeAsString()}));
  }

  // From the registration on.
  void set_up() {
    answer_registration();
    call(1, "Configure");
    call(3, "Synchronize");
  }

  // The connection ends, as it does when the runtime drops the plugin.
  void drop() { socket_.close(); }

  // Something has come that was not read.
  [[nodiscard]] bool has_unread() const { return socket_.available() > 0; }

  [[nodiscard]] std::optional<wire::Response> answer(std::uint32_t stream) const {
    for (const Message& each : messages) {
      if (each.connection != nri::kPluginService || each.stream != stream) continue;
      wire::Response response;
      EXPECT_EQ(each.kind, MessageKind::response);
      EXPECT_TRUE(response.ParseFromString(each.bytes));
      return response;
    }
    return std::nullopt;
  }

  int accepted = 0;
  bool ended = false;             // by the plugin
  std::vector<Message> messages;  // of this connection

 private:
  void accept() {
    acceptor_.async_accept([this](const auto& failed, stream_protocol::socket socket) {
      if (failed) return;
      ++accepted;
      socket_ = std::move(socket);
      reader_ = {};
      messages.clear();
      ended = false;
      read();
      accept();
    });
  }

  void read() {
    socket_.async_read_some(boost::asio::buffer(block_),
                            [this](const auto& failed, std::size_t size) {
                              if (failed == boost::asio::error::operation_aborted) return;
                              ended = failed.failed();
                              if (failed) return;
                              const auto some = reader_.feed({block_.data(), size});
                              ASSERT_TRUE(some.has_value());
                              messages.insert(messages.end(), some->begin(), some->end());
                              read();
                            });
  }

  stream_protocol::acceptor acceptor_;
  stream_protocol::socket socket_;
  nri::TrunkReader reader_;
  std::array<char, 4096> block_{};
};

class Nri : public ::testing::Test {
 protected:
  void serve() { host.emplace(io, socket); }

  // It has come and registered; what comes next is the host's.
  bool until_registered(int times = 1) {
    return run_until(io, [&] { return host->accepted == times && !host->messages.empty(); });
  }

  bool until_connected() {
    host->set_up();
    return run_until(io, [&] { return plugin.is_connected() && host->answer(3).has_value(); });
  }

  void begin() {
    serve();
    plugin.start();
    ASSERT_TRUE(until_registered());
    ASSERT_TRUE(until_connected());
  }

  // Everything that can happen now.
  void settle() {
    io.restart();
    while (io.poll() > 0) {
    }
  }

  void pass(Duration time_passed) {
    time.run_for(time_passed);
    settle();
  }

  static std::string start_of(const std::string& id) {
    wire::StartContainerRequest request;
    request.mutable_pod()->set_id("p1");
    request.mutable_container()->set_id(id);
    request.mutable_container()->set_pid(41);
    return request.SerializeAsString();
  }

  boost::asio::io_context io{1};
  ManualTime time;
  ManualLoop loop{time};
  log::Logger log{"node-agent", log::Severity::error};
  TestFolder folder;
  std::string socket = folder.path() + "/nri.sock";
  std::optional<Host> host;
  std::vector<std::string> starts;
  bool answered_first = true;
  NriPlugin plugin{io, loop, log, {.socket = socket}, [this](const nri::Start& start) {
                     answered_first = answered_first && host->has_unread();
                     starts.push_back((start.begun ? "begun " : "begins ") + start.id);
                   }};
};

TEST_F(Nri, ItsFirstWordIsTheRegistration) {
  serve();

  plugin.start();

  ASSERT_TRUE(until_registered());
  wire::Request request;
  ASSERT_TRUE(request.ParseFromString(host->messages.front().bytes));
  EXPECT_EQ(request.method(), "RegisterPlugin");
  EXPECT_EQ(host->messages.front().connection, nri::kRuntimeService);
  EXPECT_EQ(host->messages.front().stream % 2, 1U) << "who calls numbers its streams oddly";
  EXPECT_FALSE(plugin.is_connected());
}

TEST_F(Nri, ItReceivesStartsOnceEverythingIsListed) {
  serve();
  plugin.start();
  ASSERT_TRUE(until_registered());
  wire::SynchronizeRequest more;
  more.set_more(true);

  host->answer_registration();
  host->call(1, "Configure");
  host->call(3, "Synchronize", more.SerializeAsString());
  ASSERT_TRUE(run_until(io, [&] { return host->answer(3).has_value(); }));
  EXPECT_FALSE(plugin.is_connected());
  host->call(5, "Synchronize");
  ASSERT_TRUE(run_until(io, [&] { return host->answer(5).has_value(); }));

  EXPECT_TRUE(plugin.is_connected());
  wire::ConfigureResponse events;
  ASSERT_TRUE(events.ParseFromString(host->answer(1)->payload()));
  EXPECT_NE(events.events(), 0) << "which would be all";
}

// Configure may overtake the answer to the registration: they come in different connections.
TEST_F(Nri, TheOrderInWhichARuntimeSetsItUpIsItsOwn) {
  serve();
  plugin.start();
  ASSERT_TRUE(until_registered());

  host->call(1, "Configure");
  host->call(3, "Synchronize");
  host->answer_registration();

  EXPECT_TRUE(run_until(io, [&] { return plugin.is_connected(); }));
}

TEST_F(Nri, AStartIsAnsweredBeforeItIsPassedOn) {
  begin();

  host->call(5, "StartContainer", start_of("c1"));
  ASSERT_TRUE(run_until(io, [&] { return starts.size() == 1; }));
  host->call(7, "PostStartContainer", start_of("c1"));
  ASSERT_TRUE(run_until(io, [&] { return starts.size() == 2; }));

  EXPECT_TRUE(answered_first);
  EXPECT_EQ(starts, (std::vector<std::string>{"begins c1", "begun c1"}));
  EXPECT_TRUE(run_until(io, [&] { return host->answer(7).has_value(); }));
}

TEST_F(Nri, StartsThatComeTogetherAreAllAnsweredAndPassedOn) {
  begin();

  for (std::uint32_t i = 0; i < 20; ++i) {
    host->call(5 + 2 * i, "StartContainer", start_of("c" + std::to_string(i)));
  }

  ASSERT_TRUE(run_until(io, [&] { return starts.size() == 20 && host->answer(43).has_value(); }));
  EXPECT_EQ(starts.back(), "begins c19");
}

// With any other answer the runtime would end the start.
TEST_F(Nri, AStartIsNeverRefused) {
  begin();

  host->call(5, "StartContainer", "\xff garbage");
  host->call(7, "StateChange", "");
  host->call(9, "StartContainerOfALaterVersion", start_of("c1"));
  ASSERT_TRUE(run_until(io, [&] { return host->answer(9).has_value(); }));

  for (const std::uint32_t stream : {5U, 7U, 9U}) {
    EXPECT_EQ(host->answer(stream)->status().code(), 0);
    EXPECT_EQ(host->answer(stream)->payload(), "");
  }
  EXPECT_TRUE(starts.empty());
  EXPECT_TRUE(plugin.is_connected());
}

TEST_F(Nri, AnotherServiceIsNotItsOwn) {
  begin();

  host->call(5, "StartContainer", start_of("c1"), "another.Service");

  ASSERT_TRUE(run_until(io, [&] { return host->answer(5).has_value(); }));
  EXPECT_EQ(host->answer(5)->status().code(), kNotImplemented);
  EXPECT_TRUE(starts.empty());
}

TEST_F(Nri, GarbageEndsTheConnection) {
  begin();

  host->send(nri::to_trunk({.connection = nri::kPluginService,
                            .stream = 5,
                            .kind = MessageKind::request,
                            .bytes = "\xff garbage"}));

  EXPECT_TRUE(run_until(io, [&] { return host->ended; }));
  EXPECT_FALSE(plugin.is_connected());
}

TEST_F(Nri, AFrameAboveTheBoundEndsTheConnection) {
  begin();

  host->send(std::string{"\0\0\0\1\x7f\0\0\0", 8});

  EXPECT_TRUE(run_until(io, [&] { return host->ended; }));
}

TEST_F(Nri, ARuntimeThatIsLostIsLookedForAtOnce) {
  begin();

  host->drop();
  ASSERT_TRUE(run_until(io, [&] { return !plugin.is_connected(); }));
  host.reset();
  ::unlink(socket.c_str());
  pass(seconds{2});
  serve();
  pass(seconds{1});

  ASSERT_TRUE(until_registered());
  EXPECT_TRUE(until_connected());
}

TEST_F(Nri, AMissingSocketIsLookedForOnceAMinute) {
  plugin.start();
  settle();
  serve();

  pass(NriPlugin::kPause - seconds{1});
  EXPECT_EQ(host->accepted, 0);
  pass(seconds{1});

  EXPECT_TRUE(until_registered());
}

// Its starts may have waited for us each time.
TEST_F(Nri, ARuntimeThatDropsItAgainAndAgainIsLeftAloneForAMinute) {
  begin();
  int times = 1;
  for (; times < 4; ++times) {
    host->drop();
    ASSERT_TRUE(run_until(io, [&] { return !plugin.is_connected(); }));
    pass(seconds{1});
    ASSERT_TRUE(until_registered(times + 1));
    ASSERT_TRUE(until_connected());
  }

  host->drop();
  ASSERT_TRUE(run_until(io, [&] { return !plugin.is_connected(); }));
  pass(NriPlugin::kPause - seconds{1});
  EXPECT_EQ(host->accepted, times);
  pass(seconds{1});

  EXPECT_TRUE(until_registered(times + 1));
}

TEST_F(Nri, ARuntimeThatRefusesItIsAskedAgainInAMinute) {
  serve();
  plugin.start();
  ASSERT_TRUE(until_registered());

  host->answer_registration(3);
  ASSERT_TRUE(run_until(io, [&] { return host->ended; }));
  pass(NriPlugin::kPause);

  EXPECT_TRUE(until_registered(2));
}

TEST_F(Nri, ARuntimeThatDoesNotConfigureItInTimeIsLeft) {
  serve();
  plugin.start();
  ASSERT_TRUE(until_registered());

  pass(NriPlugin::kRegistrationLimit - milliseconds{1});
  EXPECT_FALSE(host->ended);
  time.run_for(milliseconds{1});

  EXPECT_TRUE(run_until(io, [&] { return host->ended; }));
}

TEST_F(Nri, OnceItIsConfiguredListingMayTakeItsTime) {
  serve();
  plugin.start();
  ASSERT_TRUE(until_registered());
  host->answer_registration();
  host->call(1, "Configure");
  ASSERT_TRUE(run_until(io, [&] { return host->answer(1).has_value(); }));

  pass(NriPlugin::kRegistrationLimit * 3);
  host->call(3, "Synchronize");

  EXPECT_TRUE(run_until(io, [&] { return plugin.is_connected(); }));
}

TEST_F(Nri, WithoutASocketNothingIsDialled) {
  serve();
  NriPlugin idle{io, loop, log, {}, {}};

  idle.start();
  settle();

  EXPECT_EQ(host->accepted, 0);
  EXPECT_FALSE(idle.is_connected());
}

}  // namespace
}  // namespace sluice::node_agent
