#include "common/values/quantity.h"

#include "common/values/whole_number.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

TEST(Quantity, ReadsEverySizeOfKubernetes) {
  EXPECT_EQ(*read_size("200Mi"), std::int64_t{200} << 20);
  EXPECT_EQ(*read_size("1.5Gi"), std::int64_t{1536} << 20);
  EXPECT_EQ(*read_size("2G"), 2'000'000'000);
  EXPECT_EQ(*read_size("3k"), 3000);
  EXPECT_EQ(*read_size("7Ei"), std::int64_t{7} << 60);
  EXPECT_EQ(*read_size("17"), 17);
  EXPECT_EQ(*read_size("0"), 0);
}

TEST(Quantity, CountsAPartOfAByteAsOne) {
  EXPECT_EQ(*read_size("0.1"), 1);
  EXPECT_EQ(*read_size("1.0001k"), 1001);
}

TEST(Quantity, WholeSizesAreExact) {
  EXPECT_EQ(*read_size("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(*read_size("9007199254740993"), 9007199254740993) << "no double counts so far";
}

TEST(Quantity, DistinguishesAMalformedSizeFromOneTooLarge) {
  for (const std::string text : {"", ".", "Mi", "-1", "+1", "1Qi", "1e9", "1..5", "1.2.3", "64 Mi",
                                 " 1", "64MiB", "1m", "0x10"}) {
    const auto size = read_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error(), Misread::malformed) << text;
  }
  for (const std::string text : {"8Ei", "9223372036854775808", "10E", "9.3E", "99999999999Gi"}) {
    const auto size = read_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error(), Misread::too_large) << text;
  }
}

TEST(Quantity, ReadsCores) {
  EXPECT_DOUBLE_EQ(*read_cores("25m"), 0.025);
  EXPECT_DOUBLE_EQ(*read_cores("0.05"), 0.05);
  EXPECT_DOUBLE_EQ(*read_cores("2"), 2);
  EXPECT_DOUBLE_EQ(*read_cores("0"), 0);
  for (const std::string text : {"", "m", "-1", "25x", "25mm", "1k", "1e3"}) {
    EXPECT_FALSE(read_cores(text)) << text;
  }
}

TEST(WholeNumber, IsAllOfTheTextAndWithinItsBounds) {
  EXPECT_EQ(whole_number<std::uint16_t>("8080", 1), 8080);
  EXPECT_EQ(whole_number<std::uint16_t>("0"), 0);
  EXPECT_EQ(whole_number("-5", -5L, 5L), -5);
  EXPECT_EQ(whole_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  for (const std::string text :
       {"", "-", "0", "65536", "-1", "+1", " 1", "1 ", "1.0", "0x1", "8o"}) {
    EXPECT_FALSE(whole_number<std::uint16_t>(text, 1)) << text;
  }
  EXPECT_FALSE(whole_number("6", -5L, 5L));
}

TEST(WholeNumber, ReadsHexadecimalDigitsToo) {
  EXPECT_EQ(hex_number<std::uint16_t>("1F90"), 8080);
  EXPECT_EQ(hex_number<std::uint8_t>("ff"), 255);
  EXPECT_FALSE(hex_number<std::uint8_t>("100"));
  EXPECT_FALSE(hex_number<std::uint8_t>("0x1"));
}

}  // namespace
}  // namespace sluice
