// An agent gets its certificate from an autoscaler that is played: a server with TLS that answers
// whoever calls.

#include "autoscaler/node-agent/io/enrolment.h"

#include "common/files/file_io.h"
#include "common/messages/node_stream.h"
#include "common/proto/node_stream_codec.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::node_agent {
namespace {

using certificates::LeafSpec;
using certificates::Set;
using rpc::testing::run_until;
using rpc::testing::TestFolder;

const LeafSpec kServer{.common_name = "autoscaler", .dns = {"localhost"}};

class EnrolmentTest : public ::testing::Test {
 protected:
  EnrolmentTest() {
    server_folder.write("ca.crt", set.bundle());
    server_folder.write("tls.key", set.leaf_key);
    server_folder.write("tls.crt", set.leaf);
    mounted.write("token", "first\n");
    mounted.write("ca.crt", set.bundle());
    const auto bound = server.open({.address = "127.0.0.1:0",
                                    .methods = {proto::kNodeEnrollMethod},
                                    .tls_dir = server_folder.path(),
                                    .callers = {{proto::kNodeEnrollMethod, rpc::Caller::anyone}}});
    port = bound ? bound->port : 0;
  }

  // What the autoscaler does, but for asking whose token it is.
  void called(std::unique_ptr<rpc::Call> call) {
    rpc::Call& kept = *call;
    calls.push_back(std::move(call));
    kept.start(
        {.on_message =
             [this, &kept](const std::string& bytes) {
               const auto request = proto::decode_enroll_request(bytes);
               tokens.push_back(request->token);
               if (refuses) {
                 refuses = false;
                 return kept.close({rpc::Code::permission_denied, "not you"});
               }
               const auto made = certificates::sign(
                   set, request->public_key,
                   {.common_name = "agent", .uris = {"sluice://node-agent/n1"}}, life, clock.now());
               kept.write(proto::encode(proto::EnrollReply{.certificate = made->certificate}));
             },
         .on_writable = {},
         .on_closed = {}});
  }

  [[nodiscard]] std::string file(const std::string& name) const {
    return (*files::read_file(own.path() + "/" + name)).value_or("");
  }

  Enrolment::Options options() const {
    return {.addresses = {"localhost:" + std::to_string(port)},
            .tls_dir = own.path(),
            .token_file = mounted.path() + "/token",
            .ca_file = mounted.path() + "/ca.crt",
            .look = std::chrono::milliseconds{20}};
  }

  boost::asio::io_context io{1};
  Clock clock;
  log::Logger log{"test", log::Severity::error};
  Set set = *certificates::take_step({}, certificates::Step::make_all, kServer, clock.now());
  TestFolder server_folder;
  TestFolder mounted;
  TestFolder own;
  Duration life = std::chrono::hours{24};
  bool refuses = false;
  std::vector<std::string> tokens;
  std::vector<std::unique_ptr<rpc::Call>> calls;
  rpc::Server server{io, [this](std::unique_ptr<rpc::Call> call) { called(std::move(call)); }};
  std::uint16_t port = 0;
  int readies = 0;
};

// The port is known once the server is bound.
class Enrolled : public EnrolmentTest {
 protected:
  Enrolment agent{io, clock, log, options(), [this] { ++readies; }};
};

TEST_F(Enrolled, TheDirectoryHoldsACompletePairForTheNode) {
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return readies == 1; }));
  const LeafSpec mine{.common_name = "agent", .uris = {"sluice://node-agent/n1"}};
  Set held = set;
  held.leaf = file("tls.crt");
  held.leaf_key = file("tls.key");
  EXPECT_TRUE(certificates::state_of(held, mine).leaf);
  EXPECT_EQ(file("ca.crt"), set.bundle());
  EXPECT_EQ(tokens, std::vector<std::string>{"first"});
  const auto modes = std::filesystem::status(own.path() + "/tls.key").permissions();
  EXPECT_EQ(modes & std::filesystem::perms{0077}, std::filesystem::perms::none);
  agent.stop();
}

TEST_F(Enrolled, ATokenThatIsRefusedIsReadAgainForTheNextAttempt) {
  refuses = true;
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return tokens.size() == 1; }));
  mounted.write("token", "second");
  ASSERT_TRUE(run_until(io, [this] { return readies == 1; }));
  EXPECT_EQ(tokens, (std::vector<std::string>{"first", "second"}));
  agent.stop();
}

TEST_F(Enrolled, FilesThatAreNotThereYetAreWaitedFor) {
  std::filesystem::remove(mounted.path() + "/ca.crt");
  agent.start();
  EXPECT_EQ(readies, 0);
  mounted.write("ca.crt", set.bundle());
  EXPECT_TRUE(run_until(io, [this] { return readies == 1; }));
  agent.stop();
}

TEST_F(Enrolled, ACertificateOfWhichTwoThirdsAreOverIsReplacedByOneForTheSameKey) {
  // Two thirds of what begins five minutes ago and ends in one are over.
  life = std::chrono::minutes{1};
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return tokens.size() >= 2; }));
  EXPECT_EQ(readies, 1);
  agent.stop();
}

TEST_F(Enrolled, ANewBundleOfCasIsFollowed) {
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return readies == 1; }));
  const Set next =
      *certificates::take_step(set, certificates::Step::renew_ca, kServer, clock.now());
  mounted.write("ca.crt", next.bundle());
  EXPECT_TRUE(run_until(io, [&] { return file("ca.crt") == next.bundle(); }));
  agent.stop();
}

TEST(Renewal, IsDueWhenTwoThirdsOfALifeAreOver) {
  const TimePoint from{std::chrono::hours{1}};
  EXPECT_EQ(renewal_of({.from = from, .until = from + std::chrono::hours{24}}),
            from + std::chrono::hours{16});
}

}  // namespace
}  // namespace sluice::node_agent
