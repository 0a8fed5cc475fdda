#include "memory-pressure/io/guardian.h"

#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include "memory-pressure/io/psi_trigger.h"
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

namespace sluice::node_agent {
namespace {

using rpc::testing::run_until;
using rpc::testing::TestFolder;

class Lease : public ::testing::Test {
 protected:
  Lease() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0); }

  ~Lease() override { hang_up(); }

  void say(char word) { EXPECT_EQ(::write(ends[1], &word, 1), 1); }

  void hang_up() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }

  Vigil& keep(Duration lease) {
    vigil.emplace(io, ends[0], lease);
    vigil->keep([this](Vigil::End how) { end = how; });
    return *vigil;
  }

  std::array<int, 2> ends{};
  boost::asio::io_context io{1};
  std::optional<Vigil> vigil;
  std::optional<Vigil::End> end;
};

TEST_F(Lease, LapsesWhenTheAgentHangs) {
  keep(std::chrono::milliseconds{30});

  ASSERT_TRUE(run_until(io, [&] { return end.has_value(); }));

  EXPECT_EQ(end, Vigil::End::lapsed);
  EXPECT_FALSE(vigil->agent_is_gone());
}

TEST_F(Lease, LapsesAfterTheAgentHasExited) {
  keep(std::chrono::milliseconds{30});
  hang_up();

  ASSERT_TRUE(run_until(io, [&] { return end.has_value(); }));

  EXPECT_EQ(end, Vigil::End::lapsed);
  EXPECT_TRUE(vigil->agent_is_gone());
}

TEST_F(Lease, EndsWithoutWorkWhenTheAgentEndsIt) {
  keep(std::chrono::hours{1});
  say(kStillHere);
  say(kDismissed);

  ASSERT_TRUE(run_until(io, [&] { return end.has_value(); }));

  EXPECT_EQ(end, Vigil::End::dismissed);
}

TEST_F(Lease, OfAnAgentThatHasExitedCanBeCutShort) {
  Vigil& guard = keep(std::chrono::hours{1});
  guard.hurry();
  EXPECT_FALSE(end.has_value()) << "an agent that lives keeps it";
  hang_up();
  ASSERT_TRUE(run_until(io, [&] { return guard.agent_is_gone(); }));

  guard.hurry();

  EXPECT_EQ(end, Vigil::End::lapsed);
}

// With a program instead of the guardian that accepts any arguments and does nothing.
class Guarded : public ::testing::Test {
 protected:
  Guarded() {
    log.set_least(log::Severity::error);
    std::signal(SIGPIPE, SIG_IGN);  // as the program does: the other end may be gone
  }

  boost::asio::io_context io{1};
  log::Logger log{"node-agent"};
  TestFolder folder;
};

TEST_F(Guarded, AnAgentThatKeepsRenewingHasNotLapsed) {
  Guardian guardian{io,
                    log,
                    {.state_dir = folder.path(),
                     .socket = "/none",
                     .lease = std::chrono::hours{1},
                     .program = "/bin/true"}};
  ASSERT_FALSE(guardian.start().has_value());

  EXPECT_FALSE(guardian.lapsed());

  const pid_t pid = guardian.pid();
  guardian.end();
  EXPECT_EQ(guardian.pid(), 0);
  EXPECT_NE(::kill(pid, 0), 0) << "it has ended when end() returns";
}

TEST_F(Guarded, AnAgentSilentForTheWholeLeaseHasLapsedAndDoesNotRenewIt) {
  Guardian guardian{io,
                    log,
                    {.state_dir = folder.path(),
                     .socket = "/none",
                     .lease = std::chrono::milliseconds{20},
                     .program = "/bin/true"}};
  ASSERT_FALSE(guardian.start().has_value());

  // Nothing runs on `io`: as if frozen.
  while (!guardian.lapsed()) {
  }
  io.poll();

  EXPECT_TRUE(guardian.lapsed()) << "what comes late is no renewal";
  guardian.end();
}

TEST(PsiTrigger, TheShortWindowIsTriedFirst) {
  const TestFolder folder;
  folder.write("memory", "some avg10=0.00\n");
  boost::asio::io_context io{1};
  std::vector<std::string> tried;
  PsiTrigger trigger{io, [] {},
                     [&](int, std::string_view text) {
                       tried.emplace_back(text);
                       return EINVAL;
                     }};

  EXPECT_EQ(trigger.arm(folder.path() + "/memory"), 0);

  ASSERT_EQ(tried.size(), 2U);
  EXPECT_TRUE(tried[0].ends_with(" 1000000"));
  EXPECT_TRUE(tried[1].ends_with(" 2000000"));
}

// Row 60: without the privilege only multiples of two seconds are taken.
TEST(PsiTrigger, TwoSecondsAreTakenWhereOneIsRefused) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(ends[1]);
  boost::asio::io_context io{1};
  PsiTrigger trigger{
      io, [] {},
      [](int, std::string_view text) { return text.ends_with(" 1000000") ? EINVAL : 0; }};

  EXPECT_EQ(trigger.arm(path), 2);

  ::close(ends[0]);
  ::close(ends[1]);
}

// Row 59.
TEST(PsiTrigger, IsAbsentWithoutKernelSupport) {
  boost::asio::io_context io{1};
  PsiTrigger trigger{io, [] {}};

  EXPECT_EQ(trigger.arm(""), 0);
  EXPECT_EQ(trigger.arm("/no/such/file"), 0);
}

}  // namespace
}  // namespace sluice::node_agent
