#include "common/http/websocket_frames.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::http {
namespace {

using std::string_literals::operator""s;

const std::string kShort = "\x81\x02hi"s;
const std::string kEmpty = "\x89\x00"s;
const std::string kMasked = "\x82\x83mask123"s;
const std::string kMedium = "\x82\x7e\x01\x00"s + std::string(256, 'm');
const std::string kLong = "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x01"s + std::string(65'537, 'l');

TEST(WebSocketFrames, IsBetweenFramesAfterEachWholeFrameOnly) {
  for (const std::string& frame : {kShort, kEmpty, kMasked, kMedium}) {
    WebSocketFrames frames;
    EXPECT_TRUE(frames.between());
    for (std::size_t at = 0; at < frame.size(); ++at) {
      frames.feed(frame.substr(at, 1));
      EXPECT_EQ(frames.between(), at + 1 == frame.size()) << at;
    }
  }
}

TEST(WebSocketFrames, StopsAtTheEndOfTheFrameItIsIn) {
  WebSocketFrames frames;

  frames.feed(kLong.substr(0, 100));

  EXPECT_EQ(frames.advance(kLong.substr(100) + kShort), kLong.size() - 100);
  EXPECT_TRUE(frames.between());
  EXPECT_EQ(frames.advance(kShort + kShort), kShort.size());
}

TEST(WebSocketFrames, DetectsThatAClosingFrameHasBegun) {
  WebSocketFrames frames;
  frames.feed(kShort + kEmpty + kMasked);
  EXPECT_FALSE(frames.closed());

  frames.feed(kGoingAwayFrame);

  EXPECT_TRUE(frames.closed());
  EXPECT_TRUE(frames.between());
}

}  // namespace
}  // namespace sluice::http
