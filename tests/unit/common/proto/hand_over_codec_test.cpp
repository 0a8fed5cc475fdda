#include "common/proto/hand_over_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice::proto {
namespace {

using std::chrono::seconds;

constexpr TimePoint at(std::int64_t second) {
  return TimePoint{seconds{1'700'000'000 + second}};
}

HandedWindow window() {
  return {.window = seconds{6}, .first = 10, .last = 14, .total = 6.5, .values = {1, 2.5, 0, 3}};
}

HandedRevision full() {
  HandedScaler scaler;
  scaler.collector = {window(), window(), window(), window(), at(1)};
  scaler.decider = {at(2), at(3), 7, HandedDelay{.slots = 15, .entries = {{5, 9}, {6, 4}}}};
  scaler.desired = 4;
  scaler.excess_burst_capacity = -3;
  scaler.activity = HandedActivity::active;
  scaler.activity_since = at(4);
  scaler.serves = scaler.initialized = scaler.told_to_sleep = scaler.woken_by_hand = true;
  scaler.attention = {at(5), seconds{2}, seconds{3}, at(6), at(7), seconds{60}, true, true};
  return {{"shop", "app-00001"}, scaler};
}

Result<TakeRequest> sent(const HandedRevision& revision) {
  const auto messages = encode_take_requests("pod-1", at(0), {&revision, 1});
  return decode_take_request(messages.at(0));
}

TEST(HandOverCodec, ARequestComesBackWhole) {
  const auto request = sent(full());

  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(*request, (TakeRequest{kHandOverProtocol, "pod-1", at(0), {full()}}));
}

TEST(HandOverCodec, AReplyComesBackWhole) {
  const TakeReply reply{.taken = 3, .left = 1};

  EXPECT_EQ(*decode_take_reply(encode(reply)), reply);
}

TEST(HandOverCodec, ManyRevisionsGoInMessagesThatFit) {
  HandedRevision large = full();
  for (HandedWindow* each :
       {&large.scaler.collector.concurrency_stable, &large.scaler.collector.rps_stable}) {
    each->window = std::chrono::hours{1};
    each->values.assign(3'600, 1.25);
  }
  const std::vector<HandedRevision> revisions(500, large);
  const auto messages = encode_take_requests("pod-1", at(0), revisions);

  std::size_t count = 0;
  for (const std::string& message : messages) {
    EXPECT_LE(message.size(), kHandOverBytesMax);
    const auto request = decode_take_request(message);
    ASSERT_TRUE(request.has_value());
    EXPECT_LE(request->revisions.size(), kHandedMax);
    count += request->revisions.size();
  }
  EXPECT_EQ(count, 500U);
  EXPECT_GT(messages.size(), 3U);
}

TEST(HandOverCodec, NothingToHandOverIsNoMessage) {
  EXPECT_TRUE(encode_take_requests("pod-1", at(0), {}).empty());
}

TEST(HandOverCodec, OfAnotherProtocolOnlyTheNumberIsRead) {
  const std::string bytes{"\x08\x02\x12\x05pod-9", 9};

  const auto request = decode_take_request(bytes);

  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->protocol, 2U);
  EXPECT_TRUE(request->autoscaler.empty());
}

TEST(HandOverCodec, WhatIsNoMessageIsRefused) {
  EXPECT_EQ(decode_take_request("\xff\xff\xff").error(), Error::bad_request);
  EXPECT_EQ(decode_take_request(std::string(kHandOverBytesMax + 1, 'a')).error(), Error::too_large);
}

/// `spoil` makes something of a good revision that must be refused.
template <class Spoil>
void expect_refused(Spoil spoil) {
  HandedRevision revision = full();
  spoil(revision.scaler);
  EXPECT_EQ(sent(revision).error(), Error::bad_request);
}

TEST(HandOverCodec, FiguresThatAreNoNumbersAreRefused) {
  expect_refused([](HandedScaler& s) { s.collector.rps_panic.values[0] = std::nan(""); });
  expect_refused([](HandedScaler& s) {
    s.collector.rps_stable.total = std::numeric_limits<double>::infinity();
  });
}

TEST(HandOverCodec, AWindowWhosePartsDoNotFitIsRefused) {
  expect_refused([](HandedScaler& s) { s.collector.rps_stable.values.resize(7); });
  expect_refused([](HandedScaler& s) { s.collector.rps_stable.window = Duration{0}; });
  expect_refused([](HandedScaler& s) { s.collector.rps_stable.window = std::chrono::hours{2}; });
  expect_refused([](HandedScaler& s) { s.collector.rps_stable.first = 15; });
  expect_refused([](HandedScaler& s) {
    s.collector.rps_stable.first.reset();
    s.collector.rps_stable.last.reset();
  });
  expect_refused([](HandedScaler& s) { s.collector.rps_stable.last = 1LL << 60; });
}

TEST(HandOverCodec, ADelayThatDoesNotFallIsRefused) {
  expect_refused([](HandedScaler& s) { s.decider.delay->entries[1].value = 9; });
  expect_refused([](HandedScaler& s) { s.decider.delay->entries[1].slot = 5; });
  expect_refused([](HandedScaler& s) { s.decider.delay->slots = 1; });
  expect_refused([](HandedScaler& s) { s.decider.delay->slots = 1 << 20; });
}

TEST(HandOverCodec, TimesBeyondWhatCanBeSubtractedAreRefused) {
  expect_refused([](HandedScaler& s) { s.activity_since = TimePoint::max(); });
  expect_refused([](HandedScaler& s) { s.attention.evaluated = TimePoint::min(); });
  expect_refused([](HandedScaler& s) { s.attention.known = Duration::max(); });
}

TEST(HandOverCodec, ARevisionWithoutANameIsRefused) {
  HandedRevision revision = full();
  revision.revision.name.clear();

  EXPECT_EQ(sent(revision).error(), Error::bad_request);
}

}  // namespace
}  // namespace sluice::proto
