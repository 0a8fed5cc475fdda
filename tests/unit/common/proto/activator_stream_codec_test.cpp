#include "common/proto/activator_stream_codec.h"

#include "common/proto/stat_messages_codec.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::proto {
namespace {

using std::chrono::milliseconds;

const RevisionId kApp{"default", "app-00001"};

Stat some_stat() {
  return {.pod_name = "activator-1",
          .average_concurrent_requests = 1.5,
          .request_count = 7,
          .timestamp = 1'700'000'000};
}

RevisionState some_state() {
  return {.revision = kApp,
          .version = 7'301'444'405'329'920'001,
          .desired = 4,
          .granted = 3,
          .ready = -1,
          .route_mode = RouteMode::proxy,
          .activators = 2,
          .cannot_scale = CannotScale{CannotScaleReason::no_capacity, "full", milliseconds{1500}},
          .avoid = {"10.0.0.1:8012", "[::1]:8012"}};
}

std::string again(const ActivatorMessage& message) {
  const auto read = decode_activator_message(encode(message));
  if (!read) return std::string{describe(read.error())};
  if (!*read) return "nothing";
  return **read == message ? "the same" : "another";
}

std::string again(const AutoscalerMessage& message) {
  const auto read = decode_autoscaler_message(encode(message));
  if (!read) return std::string{describe(read.error())};
  if (!*read) return "nothing";
  return **read == message ? "the same" : "another";
}

// A field of the wire format: a length-delimited value under `number`, up to 127 bytes.
std::string field(int number, const std::string& value) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}

TEST(ActivatorStreamCodec, MessagesOfTheActivatorSurviveARoundTrip) {
  const std::vector<Waiting> waiting{{kApp, 3, milliseconds{250}}, {{"b", "c"}, 1, {}}};

  EXPECT_EQ(again(Hello{1, "activator-1", "10.0.0.9:8012", "1.0.0", waiting}), "the same");
  EXPECT_EQ(again(Hello{}), "the same");
  EXPECT_EQ(again(StatBatch{9, {{kApp, some_stat()}}, waiting}), "the same");
  EXPECT_EQ(again(StatBatch{9, {{kApp, some_stat(), milliseconds{0}}}, waiting}), "the same");
  EXPECT_EQ(again(StatBatch{9, {{kApp, some_stat(), milliseconds{1200}}}, waiting}), "the same");
  EXPECT_EQ(again(StatBatch{}), "the same");
  EXPECT_EQ(again(Applied{kApp, 1ULL << 63U}), "the same");
  EXPECT_EQ(again(ColdStart{.revision = kApp,
                            .pod = "pod-1",
                            .queue = std::chrono::microseconds{1},
                            .decide = milliseconds{2},
                            .create = milliseconds{3},
                            .start = milliseconds{4},
                            .ready = milliseconds{5},
                            .first_byte = milliseconds{6}}),
            "the same");
}

TEST(ActivatorStreamCodec, MessagesOfTheAutoscalerSurviveARoundTrip) {
  const Buckets buckets{{"b-0", "b-1"}, {"b-1"}, 12};

  EXPECT_EQ(again(Welcome{1, "autoscaler-1", "1.0.0", buckets}), "the same");
  EXPECT_EQ(again(some_state()), "the same");
  EXPECT_EQ(again(RevisionState{.revision = kApp}), "the same");
  EXPECT_EQ(again(RevisionGone{kApp, 5}), "the same");
  EXPECT_EQ(again(SnapshotEnd{200'000}), "the same");
  EXPECT_EQ(again(buckets), "the same");
}

TEST(ActivatorStreamCodec, NumbersOnTheWireAreThoseOfTheContract) {
  // Applied { revision { namespace "a" name "b" } version 1 } under number 3.
  EXPECT_EQ(encode(ActivatorMessage{Applied{{"a", "b"}, 1}}),
            field(3, field(1, field(1, "a") + field(2, "b")) + "\x10\x01"));
  // ColdStart { revision, pod 2, phases 3 to 8 in microseconds } under number 4.
  const std::chrono::microseconds one{1};
  const ColdStart start{{"a", "b"}, "p", one, 2 * one, 3 * one, 4 * one, 5 * one, 6 * one};
  EXPECT_EQ(encode(ActivatorMessage{start}),
            field(4, field(1, field(1, "a") + field(2, "b")) + field(2, "p") +
                         "\x18\x01\x20\x02\x28\x03\x30\x04\x38\x05\x40\x06"));
  // SnapshotEnd { revisions 2 } under number 4.
  EXPECT_EQ(encode(AutoscalerMessage{SnapshotEnd{2}}), field(4, "\x08\x02"));
  // RevisionState: desired 3, granted 4, ready 5, route_mode 6 = SERVE, activators 7, avoid 9.
  const RevisionState state{.revision = {"a", "b"},
                            .version = 1,
                            .desired = 2,
                            .granted = 3,
                            .ready = 4,
                            .route_mode = RouteMode::serve,
                            .activators = 5,
                            .avoid = {"x"}};
  EXPECT_EQ(encode(AutoscalerMessage{state}),
            field(2, field(1, field(1, "a") + field(2, "b")) +
                         "\x10\x01\x18\x02\x20\x03\x28\x04\x30\x02\x38\x05" + field(9, "x")));
}

TEST(ActivatorStreamCodec, UnknownKindsAndFieldsAreIgnored) {
  EXPECT_FALSE(decode_activator_message("")->has_value());
  EXPECT_FALSE(decode_autoscaler_message("")->has_value());
  EXPECT_FALSE(decode_activator_message(field(15, "later"))->has_value());
  EXPECT_FALSE(decode_autoscaler_message(field(15, "later"))->has_value());

  const auto known = decode_autoscaler_message(field(15, "later") + field(4, "\x08\x02"));

  ASSERT_TRUE(known.has_value() && known->has_value());
  EXPECT_EQ(**known, AutoscalerMessage{SnapshotEnd{2}});
}

TEST(ActivatorStreamCodec, UnknownValuesOfEnumerationsAreUnspecified) {
  const std::string key = field(1, field(1, "a") + field(2, "b"));

  const auto read = decode_autoscaler_message(field(2, key + "\x30\x09" + field(8, "\x08\x63")));

  ASSERT_TRUE(read.has_value() && read->has_value());
  const auto& state = std::get<RevisionState>(**read);
  EXPECT_EQ(state.route_mode, RouteMode::unspecified);
  ASSERT_TRUE(state.cannot_scale.has_value());
  EXPECT_EQ(state.cannot_scale->reason, CannotScaleReason::unspecified);
}

TEST(ActivatorStreamCodec, AnotherProtocolIsReadByItsNumberOnly) {
  Hello hello{2, std::string(5000, 'x'), {}, {}, {}};

  const auto read = decode_activator_message(encode(ActivatorMessage{hello}));

  ASSERT_TRUE(read.has_value() && read->has_value());
  EXPECT_EQ(std::get<Hello>(**read).protocol, 2U);
}

TEST(ActivatorStreamCodec, RevisionsHaveNames) {
  const std::string longest(kNameBytesMax, 'n');

  EXPECT_EQ(again(Applied{{longest, longest}, 1}), "the same");
  EXPECT_EQ(again(Applied{{"", "b"}, 1}), describe(Error::bad_request));
  EXPECT_EQ(again(Applied{{"a", ""}, 1}), describe(Error::bad_request));
  EXPECT_EQ(again(RevisionGone{{"a", longest + "n"}, 1}), describe(Error::bad_request));
  EXPECT_EQ(again(StatBatch{1, {}, {{{"a", ""}, 1, {}}}}), describe(Error::bad_request));
  EXPECT_EQ(again(Hello{1, longest + "n", {}, {}, {}}), describe(Error::bad_request));
}

TEST(ActivatorStreamCodec, EveryListHasALimit) {
  RevisionState state{.revision = kApp};
  state.avoid.assign(kAvoidMax, "x");
  EXPECT_EQ(again(state), "the same");
  state.avoid.emplace_back("x");
  EXPECT_EQ(again(state), describe(Error::too_large));

  EXPECT_EQ(again(Buckets{std::vector<std::string>(kBucketNamesMax + 1), {}, 0}),
            describe(Error::too_large));
  EXPECT_EQ(again(Welcome{1, "a", "", {{}, std::vector<std::string>(kBucketNamesMax + 1), 0}}),
            describe(Error::too_large));
  const std::vector<Waiting> crowd(kWaitingMax + 1, Waiting{{"a", "b"}, 1, {}});
  EXPECT_EQ(again(StatBatch{1, {}, crowd}), describe(Error::too_large));
  EXPECT_EQ(again(Hello{1, "a", "", "", crowd}), describe(Error::too_large));
}

TEST(ActivatorStreamCodec, NothingIsReadOfTooManyBytes) {
  const std::string large = field(15, "x") + std::string(kStreamBytesMax, '\0');

  EXPECT_EQ(decode_activator_message(large).error(), Error::too_large);
  EXPECT_EQ(decode_autoscaler_message(large).error(), Error::too_large);
}

TEST(ActivatorStreamCodec, MalformedBytesAreABadRequest) {
  EXPECT_EQ(decode_activator_message("\x0a\x7f").error(), Error::bad_request);
  EXPECT_EQ(decode_autoscaler_message("\xff").error(), Error::bad_request);
}

TEST(ActivatorStreamCodec, DurationsAreNeitherNegativeNorEndless) {
  const auto read = decode_activator_message(
      encode(ActivatorMessage{StatBatch{1, {}, {{kApp, 1, milliseconds{-5}}}}}));

  ASSERT_TRUE(read.has_value() && read->has_value());
  EXPECT_EQ(std::get<StatBatch>(**read).waiting.front().oldest, Duration{0});
}

// An activator of the release before sends WireStatMessages, and an autoscaler of it reads them.
TEST(ActivatorStreamCodec, AStatIsAWireStatMessageAndAFieldMore) {
  const std::string old = encode_stat_messages(std::vector{StatMessage{kApp, some_stat()}});
  const std::string batch = field(2, field(2, old.substr(2)));
  const auto read = decode_activator_message(batch);
  ASSERT_TRUE(read.has_value() && read->has_value());
  const std::vector<StatMessage> messages{{kApp, some_stat()}};
  EXPECT_EQ(std::get<StatBatch>(**read).messages, messages);

  const ActivatorMessage newer = StatBatch{0, {{kApp, some_stat(), milliseconds{5}}}, {}};
  const auto as_before = decode_stat_messages(field(1, encode(newer).substr(4)));
  ASSERT_TRUE(as_before.has_value());
  EXPECT_EQ(*as_before, messages);
}

TEST(ActivatorStreamCodec, LongExplanationsAreCut) {
  RevisionState state = some_state();
  state.cannot_scale->detail.assign(5000, 'y');

  const auto read = decode_autoscaler_message(encode(AutoscalerMessage{state}));

  ASSERT_TRUE(read.has_value() && read->has_value());
  EXPECT_EQ(std::get<RevisionState>(**read).cannot_scale->detail.size(), kDetailBytesMax);
}

TEST(StatMessagesCodec, ABatchSurvivesARoundTrip) {
  const std::vector<StatMessage> batch{{kApp, some_stat()}, {{"b", "c"}, {}}};

  const auto read = decode_stat_messages(encode_stat_messages(batch));

  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, batch);
  EXPECT_TRUE(decode_stat_messages("")->empty());
}

TEST(StatMessagesCodec, NumbersOnTheWireAreKnatives) {
  const std::vector<StatMessage> batch{{{"a", "b"}, {.pod_name = "p", .timestamp = 5}}};

  EXPECT_EQ(encode_stat_messages(batch),
            field(1, field(1, "a") + field(2, "b") + field(3, field(1, "p") + "\x38\x05")));
}

TEST(StatMessagesCodec, EntriesWithoutAStatAreSkipped) {
  const std::string stat = field(3, field(1, "p"));
  const std::string frame = field(1, field(1, "a") + field(2, "b")) +
                            field(1, field(1, "a") + field(2, "c") + stat) + field(1, stat);

  const auto read = decode_stat_messages(frame);

  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().revision, (RevisionId{"a", "c"}));
}

TEST(StatMessagesCodec, AFrameHasALimit) {
  EXPECT_EQ(decode_stat_messages(std::string(kStatFrameBytesMax + 1, '\0')).error(),
            Error::too_large);
  EXPECT_EQ(decode_stat_messages("\x0a\x7f").error(), Error::bad_request);
  std::string many;
  for (std::size_t i = 0; i <= kFrameStatsMax; ++i) many += field(1, "");
  EXPECT_EQ(decode_stat_messages(many).error(), Error::too_large);
}

}  // namespace
}  // namespace sluice::proto
