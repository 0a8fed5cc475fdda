#include "common/proto/node_stream_codec.h"

#include <gtest/gtest.h>

namespace sluice::proto {
namespace {

NodeReport full() {
  return {.node = "n1",
          .boot_id = "b5",
          .sequence = 7,
          .pressure = NodePressure::critical,
          .capacity_bytes = 512,
          .used_bytes = 500,
          .reserve_bytes = 20,
          .growth_bytes_per_second = -3,
          .some_avg10 = 12.5,
          .full_avg10 = 4.25,
          .admit_bytes = 9,
          .throttled = {{.pod_uid = "u",
                         .space = "shop",
                         .pod = "web",
                         .container = "app",
                         .quota_us = 2503,
                         .period_us = 100'000,
                         .since_ms = 17,
                         .ladder_step = 3}},
          .degraded = true,
          .dry_run = true,
          .version = "1.0.0"};
}

TEST(NodeStreamCodec, AReportSurvivesARoundTrip) {
  EXPECT_EQ(*decode_node_report(encode(full())), full());
}

TEST(NodeStreamCodec, AnAckSurvivesARoundTrip) {
  const NodeReportAck ack{.sequence = 9, .report_interval = std::chrono::seconds{2}};

  EXPECT_EQ(*decode_node_report_ack(encode(ack)), ack);
}

TEST(NodeStreamCodec, AnIntervalOfZeroIsTheUsualAndOthersAreBounded) {
  EXPECT_EQ(decode_node_report_ack("")->report_interval, kReportInterval);
  EXPECT_EQ(decode_node_report_ack(encode({1, std::chrono::milliseconds{1}}))->report_interval,
            kReportIntervalMin);
  EXPECT_EQ(decode_node_report_ack(encode({1, std::chrono::hours{1}}))->report_interval,
            kReportIntervalMax);
}

TEST(NodeStreamCodec, OfAnotherProtocolOnlyTheNumberIsRead) {
  NodeReport other = full();
  other.protocol = 2;

  const auto read = decode_node_report(encode(other));

  EXPECT_EQ(read->protocol, 2U);
  EXPECT_TRUE(read->node.empty());
}

TEST(NodeStreamCodec, MalformedMessagesAreRefused) {
  EXPECT_FALSE(decode_node_report("\xff\xff").has_value());
  EXPECT_FALSE(decode_node_report_ack("\xff\xff").has_value());
  NodeReport nameless = full();
  nameless.node.clear();
  EXPECT_FALSE(decode_node_report(encode(nameless)).has_value());
  NodeReport wordy = full();
  wordy.throttled[0].pod.assign(kNodeNameBytesMax + 1, 'x');
  EXPECT_FALSE(decode_node_report(encode(wordy)).has_value());
}

TEST(NodeStreamCodec, TooManyEntriesAreTooLarge) {
  NodeReport report = full();
  report.throttled.assign(kThrottledMax + 1, {});

  EXPECT_EQ(decode_node_report(encode(report)).error(), Error::too_large);
}

TEST(NodeStreamCodec, ImpossibleNumbersReadAsTheNearestPossible) {
  NodeReport report = full();
  report.capacity_bytes = -1;
  report.admit_bytes = -1;
  report.some_avg10 = 101;
  report.full_avg10 = -1;

  const auto read = decode_node_report(encode(report));

  EXPECT_EQ(read->capacity_bytes, 0);
  EXPECT_EQ(read->admit_bytes, 0);
  EXPECT_DOUBLE_EQ(read->some_avg10, 100);
  EXPECT_DOUBLE_EQ(read->full_avg10, 0);
}

}  // namespace
}  // namespace sluice::proto
