#include "platform/kubernetes/io/object_writer.h"

#include "tests/unit/common/kube/fake_api.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using kube::testing::FakeApi;
using kube::testing::json_reply;
using kube::testing::run_until;
using kube::testing::Seen;

// One write is sent at once, the next after a moment: what is written meanwhile waits.
class ObjectWriterTest : public ::testing::Test {
 protected:
  ObjectWriterTest() {
    client_ = *kube::Client::make(io_, clock_, log_, api_.access(), {.per_second = 20, .burst = 1});
    writer_ = std::make_unique<ObjectWriter>(*client_, clock_);
  }

  bool write(const std::string& object, const std::string& body) {
    kube::Request request{.verb = kube::Verb::merge_patch, .path = object, .body = body};
    return writer_->write(object, std::move(request), [this, body](const kube::Answer& answer) {
      told_.push_back(body + (answer ? "" : " failed"));
    });
  }

  [[nodiscard]] bool told(std::size_t count) {
    return run_until(io_, [&] { return told_.size() >= count; });
  }

  [[nodiscard]] std::vector<std::string> bodies() const {
    std::vector<std::string> all;
    for (const Seen& seen : api_.seen()) all.push_back(seen.body);
    return all;
  }

  boost::asio::io_context io_;
  Clock clock_;
  log::Logger log_{"test", log::Severity::error};
  FakeApi api_{io_, [](const Seen&) { return json_reply("{}"); }};
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<ObjectWriter> writer_;
  std::vector<std::string> told_;
};

TEST_F(ObjectWriterTest, AWaitingWriteIsReplacedByTheNewestInItsPlace) {
  EXPECT_TRUE(write("/first", "{\"a\":1}"));
  EXPECT_TRUE(write("/second", "{\"b\":1}"));
  EXPECT_TRUE(write("/third", "{\"c\":1}"));
  EXPECT_FALSE(write("/second", "{\"b\":1}")) << "it says so already";
  EXPECT_TRUE(write("/second", "{\"b\":2}"));
  ASSERT_TRUE(told(3));

  EXPECT_EQ(bodies(), (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", "{\"c\":1}"}));
  EXPECT_EQ(told_, bodies()) << "the end of the older one is not reported";
}

TEST_F(ObjectWriterTest, AWriteInFlightIsAwaited) {
  EXPECT_TRUE(write("/first", "{\"a\":1}"));
  EXPECT_FALSE(write("/first", "{\"a\":2}"));
  ASSERT_TRUE(told(1));

  EXPECT_TRUE(write("/first", "{\"a\":2}"));
  ASSERT_TRUE(told(2));

  EXPECT_EQ(bodies(), (std::vector<std::string>{"{\"a\":1}", "{\"a\":2}"}));
}

TEST_F(ObjectWriterTest, AWithdrawnWriteIsNeverSentAndMayBeRequestedAgain) {
  EXPECT_TRUE(write("/first", "{\"a\":1}"));
  EXPECT_TRUE(write("/second", "{\"b\":1}"));
  writer_->withdraw("/second");
  writer_->withdraw("/never-written");
  EXPECT_TRUE(write("/third", "{\"c\":1}"));
  ASSERT_TRUE(told(2));
  EXPECT_EQ(bodies(), (std::vector<std::string>{"{\"a\":1}", "{\"c\":1}"}));

  EXPECT_TRUE(write("/second", "{\"b\":1}"));
  ASSERT_TRUE(told(3));
}

TEST_F(ObjectWriterTest, TheQueueHoldsOnlySomeSecondsOfWrites) {
  std::size_t taken = 0;
  while (write("/" + std::to_string(taken), "{}")) ++taken;
  EXPECT_GE(taken, ObjectWriter::kAhead);
  EXPECT_LE(taken, ObjectWriter::kAhead + 2) << "one or two are on their way";

  kube::Request grows{
      .verb = kube::Verb::merge_patch, .path = "/grows", .body = "{}", .first = true};
  EXPECT_TRUE(writer_->write("/grows", std::move(grows), [](const kube::Answer&) {}));
  kube::Request wakes{
      .verb = kube::Verb::merge_patch, .path = "/wakes", .body = "{}", .lane = kube::Lane::urgent};
  EXPECT_TRUE(writer_->write("/wakes", std::move(wakes), [](const kube::Answer&) {}));
}

TEST_F(ObjectWriterTest, AnAbandonedWriteIsNeverSent) {
  EXPECT_TRUE(write("/first", "{\"a\":1}"));
  EXPECT_TRUE(write("/second", "{\"b\":1}"));
  ASSERT_TRUE(told(1));

  writer_->abandon();
  EXPECT_TRUE(write("/third", "{\"c\":1}"));
  ASSERT_TRUE(told(2));

  EXPECT_EQ(bodies(), (std::vector<std::string>{"{\"a\":1}", "{\"c\":1}"}));
}

}  // namespace
}  // namespace sluice::autoscaler
