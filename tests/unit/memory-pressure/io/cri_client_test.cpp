#include "memory-pressure/io/cri_client.h"

#include "tests/unit/common/rpc/rpc_stage.h"
#include "tests/unit/memory-pressure/io/fake_runtime.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::node_agent {
namespace {

using rpc::testing::run_until;
using testing::FakeRuntime;
using testing::FixtureTree;
using testing::Hierarchy;

using Connected = Result<cri::Version, RuntimeProblem>;

constexpr int kUnimplemented = 12;
constexpr int kUnknown = 2;
constexpr uid_t kNobody = 65534;

class Cri : public ::testing::Test {
 protected:
  CriClient client(std::vector<std::string> sockets, Duration deadline = std::chrono::seconds{10}) {
    return CriClient{io, {.sockets = std::move(sockets), .deadline = deadline}};
  }

  Connected connect(CriClient& runtime) {
    std::optional<Connected> result;
    runtime.connect([&](Connected got) { result.emplace(std::move(got)); });
    EXPECT_TRUE(run_until(io, [&] { return result.has_value(); }));
    return *result;
  }

  Unreachable failure(std::vector<std::string> sockets,
                      Duration deadline = std::chrono::seconds{10}) {
    CriClient runtime = client(std::move(sockets), deadline);
    const Connected result = connect(runtime);
    EXPECT_FALSE(result.has_value());
    EXPECT_EQ(runtime.socket(), "");
    text = result.error().problem.text();
    return result.error().why;
  }

  // A socket file on which no program listens any more.
  std::string dead_socket() const {
    const std::string path = tree.root() + "/dead.sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(descriptor);
    return path;
  }

  FixtureTree tree{Hierarchy::v1};
  boost::asio::io_context io{1};
  std::string text;
};

TEST_F(Cri, TheFirstSocketThatWorksIsUsed) {
  const FakeRuntime runtime{tree};
  CriClient found = client({tree.root() + "/missing.sock", dead_socket(), runtime.socket()});

  const Connected version = connect(found);

  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(version->runtime, "fake");
  EXPECT_EQ(found.socket(), runtime.socket());
}

TEST_F(Cri, TheUsualSocketsAreTriedInTheReferencesOrder) {
  EXPECT_EQ(usual_sockets(),
            (std::vector<std::string>{"/run/containerd/containerd.sock", "/run/crio/crio.sock",
                                      "/var/run/crio/crio.sock", "/run/cri-dockerd.sock",
                                      "/var/run/cri-dockerd.sock"}));
}

// Row 25.
TEST_F(Cri, AMissingSocketMayAppearLater) {
  EXPECT_EQ(failure({tree.root() + "/missing.sock"}), Unreachable::missing);
  EXPECT_FALSE((RuntimeProblem{Unreachable::missing, {}}.is_final()));
  EXPECT_NE(text.find("missing.sock"), std::string::npos);
}

// Row 25.
TEST_F(Cri, AForbiddenSocketIsFinal) {
  const FakeRuntime runtime{tree};
  ASSERT_EQ(::chmod(runtime.socket().c_str(), 0), 0);
  // Root may use every socket, so the test is another user for a moment.
  const uid_t self = ::geteuid();
  const bool changed = self == 0 && ::seteuid(kNobody) == 0;
  ASSERT_EQ(changed, self == 0);

  const Unreachable why = failure({runtime.socket()});

  ASSERT_EQ(::seteuid(self), 0);
  EXPECT_EQ(why, Unreachable::denied);
  EXPECT_TRUE((RuntimeProblem{Unreachable::denied, {}}.is_final()));
}

// Row 21.
TEST_F(Cri, AStaleSocketIsRefused) {
  EXPECT_EQ(failure({dead_socket()}), Unreachable::refused);
}

// Row 24.
TEST_F(Cri, ARuntimeWithoutV1IsFinal) {
  FakeRuntime runtime{tree};
  runtime.refuse("Version", kUnimplemented);

  EXPECT_EQ(failure({runtime.socket()}), Unreachable::unsupported);
  EXPECT_TRUE((RuntimeProblem{Unreachable::unsupported, {}}.is_final()));
  EXPECT_NE(text.find("containerd 1.6"), std::string::npos);
}

// Row 23.
TEST_F(Cri, ARuntimeThatHangsEndsAtTheDeadline) {
  FakeRuntime runtime{tree};
  runtime.hang("Version", true);

  EXPECT_EQ(failure({runtime.socket()}, std::chrono::milliseconds{50}), Unreachable::silent);
}

TEST_F(Cri, EveryErrorOfAnUpdateIsReported) {
  FakeRuntime runtime{tree};
  runtime.run("c1", {}, {});
  CriClient connected = client({runtime.socket()}, std::chrono::milliseconds{200});
  ASSERT_TRUE(connect(connected).has_value());
  const auto update = [&](const std::string& id, CpuQuota quota) {
    std::optional<Outcome> outcome;
    connected.update(id, quota, [&](Outcome got, const std::string&) { outcome = got; });
    EXPECT_TRUE(run_until(io, [&] { return outcome.has_value(); }));
    return *outcome;
  };

  EXPECT_EQ(update("c1", {2503, 100'000}), Outcome::ok);
  EXPECT_EQ(update("missing", {2503, 100'000}), Outcome::not_found);
  runtime.refuse("UpdateContainerResources", kUnknown);
  EXPECT_EQ(update("c1", {2503, 100'000}), Outcome::refused);
  runtime.refuse("UpdateContainerResources", 0);
  runtime.hang("UpdateContainerResources", true);
  EXPECT_EQ(update("c1", {2503, 100'000}), Outcome::timed_out);
  runtime.stop();
  EXPECT_EQ(update("c1", {2503, 100'000}), Outcome::unavailable);
}

// Row 17.
TEST_F(Cri, AQuotaOfZeroIsNeverSent) {
  FakeRuntime runtime{tree};
  runtime.run("c1", {}, {});
  CriClient connected = client({runtime.socket()});
  ASSERT_TRUE(connect(connected).has_value());
  std::optional<Outcome> outcome;

  connected.update("c1", {0, 100'000}, [&](Outcome got, const std::string&) { outcome = got; });

  ASSERT_TRUE(run_until(io, [&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome, Outcome::refused);
  EXPECT_EQ(runtime.calls("UpdateContainerResources"), 0);
}

TEST_F(Cri, CallsBeforeTheRuntimeIsFoundAreUnavailable) {
  CriClient unconnected = client({});
  std::optional<Outcome> outcome;

  unconnected.stop("c1", {}, [&](Outcome got, const std::string&) { outcome = got; });

  ASSERT_TRUE(run_until(io, [&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome, Outcome::unavailable);
}

TEST(SocketPath, IsTakenInEveryForm) {
  EXPECT_EQ(*socket_path("unix:///run/x.sock"), "/run/x.sock");
  EXPECT_EQ(*socket_path("unix:/run/x.sock"), "/run/x.sock");
  EXPECT_EQ(*socket_path("/run/x.sock"), "/run/x.sock");
  EXPECT_FALSE(socket_path("tcp://1.2.3.4:5").has_value());
  EXPECT_FALSE(socket_path("unix:").has_value());
  EXPECT_FALSE(socket_path("").has_value());
}

}  // namespace
}  // namespace sluice::node_agent
