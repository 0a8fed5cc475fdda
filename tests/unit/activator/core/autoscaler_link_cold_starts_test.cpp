#include "activator/core/autoscaler_link.h"
#include "common/ring/hash_ring.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::activator {
namespace {

const RevisionId kApp{"default", "app-00001"};

class ColdStartsTest : public ::testing::Test {
 protected:
  AutoscalerLink::Stream welcomed(proto::Buckets buckets) {
    const AutoscalerLink::Stream stream = *link.add();
    link.connected(stream, {});
    (void)link.next_message(stream);
    (void)link.received(stream, proto::Welcome{1, "autoscaler", "1", std::move(buckets)});
    return stream;
  }

  // The pods of the cold starts that are to be sent.
  std::vector<std::string> drain(AutoscalerLink::Stream stream) {
    std::vector<std::string> pods;
    while (const auto message = link.next_message(stream)) {
      pods.push_back(std::get<proto::ColdStart>(*message).pod);
    }
    return pods;
  }

  AutoscalerLink link{{"activator-1", "10.0.0.9:8012", "1.0.0"}};
};

TEST_F(ColdStartsTest, AColdStartIsSentOnceToTheOwnerOfItsRevision) {
  const std::vector<std::string> both{"b-0", "b-1"};
  const std::string bucket = ring::bucket_owner(both, "default/app-00001");
  const auto owner = welcomed({both, {bucket}, 1});
  const auto other = welcomed({both, {bucket == "b-0" ? "b-1" : "b-0"}, 1});

  link.cold_start({.revision = kApp, .pod = "pod-1"});

  EXPECT_TRUE(drain(other).empty());
  EXPECT_EQ(drain(owner), std::vector<std::string>{"pod-1"});
  EXPECT_TRUE(drain(owner).empty());
}

TEST_F(ColdStartsTest, OfUnsentColdStartsTheNewestAreKept) {
  const auto stream = welcomed({});
  for (std::size_t i = 0; i <= AutoscalerLink::kColdStartsMax; ++i) {
    link.cold_start({.revision = kApp, .pod = std::to_string(i)});
  }

  const auto pods = drain(stream);

  ASSERT_EQ(pods.size(), AutoscalerLink::kColdStartsMax);
  EXPECT_EQ(pods.front(), "1");
}

}  // namespace
}  // namespace sluice::activator
