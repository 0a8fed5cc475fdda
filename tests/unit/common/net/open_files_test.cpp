#include "common/net/server/open_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sys/resource.h>

namespace sluice::net {
namespace {

TEST(OpenFiles, AreRaisedAsFarAsAllowedAndTheFormerLimitIsKept) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 200;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);

  const OpenFiles files = raise_open_files();

  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(files.before, 200U);
  EXPECT_EQ(files.now, after.rlim_cur);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(before.rlim_max, 1U << 20U));
}

TEST(OpenFiles, AQuarterIsKeptFromConnections) {
  EXPECT_EQ(connections_within(1024, 16'384), 768U);
  EXPECT_EQ(connections_within(1U << 20U, 16'384), 16'384U);
  EXPECT_EQ(connections_within(20, 16'384), 64U);
}

}  // namespace
}  // namespace sluice::net
