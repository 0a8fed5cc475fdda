#include "platform/process/ports.h"

#include "tests/unit/platform/process/eventually.h"

#include <gtest/gtest.h>

#include "platform/process/child.h"
#include "platform/process/listeners.h"
#include <csignal>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace sluice::local {
namespace {

/// A listener of this very process on a port the system chose.
struct OpenPort {
  explicit OpenPort(bool v6 = false)
      : socket(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_storage address{};
    address.ss_family = v6 ? AF_INET6 : AF_INET;
    socklen_t size = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket.get(), plain, size) != 0 || ::listen(socket.get(), 1) != 0) return;
    ::getsockname(socket.get(), plain, &size);
    port = ntohs(v6 ? reinterpret_cast<sockaddr_in6*>(plain)->sin6_port
                    : reinterpret_cast<sockaddr_in*>(plain)->sin_port);
  }

  UniqueFd socket;
  std::uint16_t port = 0;
};

class Ports : public testing::Test {
 protected:
  Clock clock_;
};

TEST_F(Ports, LowestFirstAndNeverTwice) {
  PortAllocator ports(clock_, 27000, 27100);

  const auto one = ports.allocate("app");
  const auto two = ports.allocate("app");

  ASSERT_TRUE(one.has_value() && two.has_value());
  EXPECT_GE(one->port(), 27000);
  EXPECT_LT(one->port(), two->port());
}

TEST_F(Ports, AFreedPortIsNotReusedAtOnce) {
  PortAllocator ports(clock_, 27000, 27100);
  std::uint16_t before = 0;
  {
    const auto lease = ports.allocate("app");
    ASSERT_TRUE(lease.has_value());
    before = lease->port();
  }

  EXPECT_GT(ports.allocate("app")->port(), before);
}

TEST_F(Ports, TwoEnginesShareNoPort) {
  PortAllocator mine(clock_, 27000, 27100);
  PortAllocator theirs(clock_, 27000, 27100);

  const auto one = mine.allocate("app");
  const auto two = theirs.allocate("app");

  ASSERT_TRUE(one.has_value() && two.has_value());
  EXPECT_NE(one->port(), two->port());
  const std::string reserved = "port " + std::to_string(one->port()) + " is reserved by ";
  EXPECT_EQ(theirs.reserve(one->port(), "app").error().what,
            reserved + "a replica of another engine");
  EXPECT_EQ(mine.reserve(one->port(), "web").error().what, reserved + "service app");
}

TEST_F(Ports, APortInUseIsPassedOver) {
  for (const bool v6 : {false, true}) {
    const OpenPort taken(v6);
    if (taken.port == 0) continue;  // a machine without IPv6
    PortAllocator ports(clock_, taken.port, taken.port);

    const auto lease = ports.allocate("app");

    ASSERT_FALSE(lease.has_value());
    EXPECT_EQ(lease.error().fix, "stop some replicas or free ports there");
  }
}

TEST_F(Ports, ATakenFixedPortNamesItsHolder) {
  const OpenPort taken;
  PortAllocator ports(clock_);

  const auto lease = ports.reserve(taken.port, "app");

  ASSERT_FALSE(lease.has_value());
  EXPECT_NE(lease.error().what.find("pid " + std::to_string(::getpid())), std::string::npos)
      << lease.error().what;
}

TEST(Listeners, FindListeningProcesses) {
  const OpenPort open;

  const auto listener = who_listens(open.port);

  ASSERT_TRUE(listener.has_value());
  EXPECT_EQ(listener->pid, ::getpid());
  EXPECT_EQ(listener->group, ::getpgrp());
}

// Goal: a listener in a forked worker counts as its group's.
TEST(Listeners, BelongToTheGroupOfTheirProcess) {
  const Clock clock;
  PortAllocator ports(clock, 27200, 27300);
  const auto lease = ports.allocate("app");
  ASSERT_TRUE(lease.has_value());
  SpawnSpec spec;
  spec.program = SLUICE_TEST_ACTOR;
  spec.argv = {"actor", "forking", std::to_string(lease->port())};
  const auto child = spawn(spec);
  ASSERT_TRUE(child.has_value());

  EXPECT_TRUE(eventually([&] { return group_listens(child->pid, lease->port()); }));
  const Listening there = listening_of(child->pid, lease->port());
  EXPECT_EQ(there.ports, (std::vector<std::uint16_t>{lease->port()}));
  EXPECT_TRUE(there.reachable);
  EXPECT_FALSE(listening_of(child->pid, 1).reachable);
  EXPECT_FALSE(group_listens(::getpgrp(), lease->port()));
  EXPECT_GT(resident_bytes_of_group(child->pid), 0);

  kill_group(child->pid, SIGKILL);
  ::waitpid(child->pid, nullptr, 0);
}

}  // namespace
}  // namespace sluice::local
