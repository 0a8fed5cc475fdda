// gRPC's health checking messages in their frames.

#include "common/proto/health_codec.h"

#include <gtest/gtest.h>

namespace sluice::proto {
namespace {

using namespace std::string_literals;

TEST(HealthCodec, FramesARequest) {
  EXPECT_EQ(encode_health_check(""), "\0\0\0\0\0"s);
  EXPECT_EQ(encode_health_check("ab"), "\0\0\0\0\4\x0a\2ab"s);
}

TEST(HealthCodec, ReadsEveryStatus) {
  EXPECT_EQ(*decode_health("\0\0\0\0\2\x08\1"s), Health::serving);
  EXPECT_EQ(*decode_health("\0\0\0\0\2\x08\2"s), Health::not_serving);
  EXPECT_EQ(*decode_health("\0\0\0\0\2\x08\3"s), Health::service_unknown);
  EXPECT_EQ(*decode_health("\0\0\0\0\2\x08\x7f"s), Health::unknown);
  EXPECT_EQ(*decode_health("\0\0\0\0\0"s), Health::unknown);
}

TEST(HealthCodec, RefusesAnythingButOneMessage) {
  for (const std::string& body :
       {""s, "\0\0\0\0"s, "\0\0\0\0\2\x08"s, "\0\0\0\0\0\0"s, "\1\0\0\0\2\x08\1"s,
        "\0\xff\xff\xff\xff\x08\1"s, "\0\0\0\0\2\x08\x80"s, "\0\0\0\0\2\x08\1\0\0\0\0\0"s}) {
    EXPECT_FALSE(decode_health(body));
  }
}

}  // namespace
}  // namespace sluice::proto
