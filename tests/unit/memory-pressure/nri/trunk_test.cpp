#include "memory-pressure/nri/trunk.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::nri {
namespace {

// What is read of `bytes` that arrive `step` at a time.
std::vector<Message> read(const std::string& bytes, std::size_t step = 1) {
  TrunkReader reader;
  std::vector<Message> all;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const auto some = reader.feed(std::string_view{bytes}.substr(at, step));
    EXPECT_TRUE(some.has_value());
    if (some) all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

std::string number(std::size_t value) {
  constexpr std::array kShifts{24U, 16U, 8U, 0U};
  std::string bytes;
  for (const unsigned shift : kShifts) bytes += static_cast<char>((value >> shift) & 0xffU);
  return bytes;
}

std::string frame(std::size_t connection, const std::string& bytes) {
  return number(connection) + number(bytes.size()) + bytes;
}

std::string message(std::size_t stream, char kind, const std::string& bytes) {
  return number(bytes.size()) + number(stream) + kind + '\0' + bytes;
}

const Message kCall{
    .connection = kPluginService, .stream = 3, .kind = MessageKind::request, .bytes = "a call"};
const Message kAnswer{
    .connection = kRuntimeService, .stream = 1, .kind = MessageKind::response, .bytes = ""};

TEST(Trunk, AMessageHasBothHeadersWithNumbersFromTheHighestByteOn) {
  const Message sent{.connection = kRuntimeService,
                     .stream = 0x01020304,
                     .kind = MessageKind::request,
                     .bytes = "ab"};

  EXPECT_EQ(to_trunk(sent), (std::string{"\0\0\0\2\0\0\0\x0c"
                                         "\0\0\0\2\1\2\3\4\1\0"
                                         "ab",
                                         20}));
}

TEST(Trunk, MessagesAreFoundHoweverTheirBytesAreCut) {
  const std::string bytes = to_trunk(kCall) + to_trunk(kAnswer) + to_trunk(kCall);
  const std::vector<Message> sent{kCall, kAnswer, kCall};

  for (std::size_t step = 1; step <= bytes.size(); ++step) EXPECT_EQ(read(bytes, step), sent);
}

TEST(Trunk, AMessageMayComeInFramesBetweenThoseOfTheOtherConnection) {
  const std::string call = message(3, '\1', "a call");
  const std::string bytes = frame(kPluginService, call.substr(0, 4)) + to_trunk(kAnswer) +
                            frame(kPluginService, call.substr(4, 8)) +
                            frame(kPluginService, call.substr(12));

  EXPECT_EQ(read(bytes), (std::vector<Message>{kAnswer, kCall}));
}

TEST(Trunk, SeveralMessagesMayComeInOneFrame) {
  const std::string call = message(3, '\1', "a call");

  EXPECT_EQ(read(frame(kPluginService, call + call)), (std::vector<Message>{kCall, kCall}));
}

TEST(Trunk, EmptyFramesOtherConnectionsAndOtherKindsAreSkipped) {
  const std::string bytes = frame(kPluginService, "") + frame(0, "x") + frame(3, "no message") +
                            frame(0xffffffff, message(1, '\1', "x")) +
                            frame(kPluginService, message(1, '\3', "data of a stream")) +
                            to_trunk(kCall);

  EXPECT_EQ(read(bytes), std::vector<Message>{kCall});
  EXPECT_EQ(read(bytes, bytes.size()), std::vector<Message>{kCall});
}

TEST(Trunk, TheLargestMessageIsRead) {
  const std::string bytes(kMessageBytesMax, 'x');

  const auto all = read(frame(kPluginService, message(1, '\1', bytes)), 16 * 1024);

  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().bytes.size(), kMessageBytesMax);
}

TEST(Trunk, AFrameAboveTheBoundIsRefusedByItsHeader) {
  TrunkReader reader;

  EXPECT_TRUE(reader.feed(number(kPluginService) + number(kMessageBytesMax + 10)).has_value());
  const auto refused = TrunkReader{}.feed(number(7) + number(kMessageBytesMax + 11));

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), Error::too_large);
}

TEST(Trunk, AMessageAboveTheBoundIsRefusedByItsHeader) {
  const std::string header = number(kMessageBytesMax + 1) + number(1) + '\1' + '\0';

  const auto refused = TrunkReader{}.feed(frame(kRuntimeService, header));

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), Error::too_large);
}

}  // namespace
}  // namespace sluice::nri
