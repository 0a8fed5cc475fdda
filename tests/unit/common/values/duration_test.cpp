#include "common/values/duration.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Duration, ReadsGosNotation) {
  EXPECT_EQ(read_go_duration("1m30s"), seconds{90});
  EXPECT_EQ(read_go_duration("1.5h"), seconds{5400});
  EXPECT_EQ(read_go_duration(".5s"), milliseconds{500});
  EXPECT_EQ(read_go_duration("0"), Duration{0});
  EXPECT_EQ(read_go_duration("-0"), Duration{0});
  EXPECT_EQ(read_go_duration("+3ms"), milliseconds{3});
  EXPECT_EQ(read_go_duration("-3ms"), milliseconds{-3});
  EXPECT_EQ(read_go_duration("2\xC2\xB5s"), Duration{2000});
  EXPECT_EQ(read_go_duration("9223372036854775807ns"), Duration::max());
  for (const std::string text :
       {"", "3", "1d", "s", ".s", "1s ", "- 1s", "9223372036854775808ns", "3000000h", "1.2.3s"}) {
    EXPECT_FALSE(read_go_duration(text)) << "'" << text << "'";
  }
}

TEST(Duration, FractionsAreExactAndTheirSpareDigitsDropped) {
  EXPECT_EQ(read_go_duration("0.333333333333333333333h"), seconds{1200});
  EXPECT_EQ(read_go_duration("0.9999999999999999999999999h"), seconds{3600});
  EXPECT_EQ(read_go_duration("1.9ns"), Duration{1});
  EXPECT_EQ(read_go_duration("8s0.5s0.5s"), seconds{9});
  EXPECT_EQ(read_go_duration("2\xCE\xBCs"), Duration{2000}) << "the Greek letter too";
}

TEST(Duration, IsShownAsItIsRead) {
  EXPECT_EQ(show_duration(Duration{0}), "0s");
  EXPECT_EQ(show_duration(seconds{90}), "1m30s");
  EXPECT_EQ(show_duration(milliseconds{1500}), "1.5s");
  EXPECT_EQ(show_duration(milliseconds{-250}), "-0.25s");
  EXPECT_EQ(show_duration(seconds{3600}), "1h");
}

// What a duration reads as between 0 and a day.
std::string judged(std::string_view text, Days days = Days::refused) {
  const auto read = read_duration(text, {Duration{0}, hours{24}}, days);
  if (read) return show_duration(*read);
  switch (read.error()) {
    case Misread::malformed:
      return "malformed";
    case Misread::too_small:
      return "too small";
    case Misread::too_large:
      return "too large";
  }
  return "";
}

TEST(Duration, ReportsWhichEndOfTheRangeIsPassed) {
  EXPECT_EQ(judged("24h"), "24h");
  EXPECT_EQ(judged("24h1ns"), "too large");
  EXPECT_EQ(judged("-1ns"), "too small");
  EXPECT_EQ(judged("99999999h"), "too large") << "no Duration holds it";
  EXPECT_EQ(judged("-99999999h"), "too small");
  EXPECT_EQ(judged("99999999999999999999s"), "too large");
  EXPECT_EQ(judged("10"), "malformed");
}

TEST(Duration, HasDaysOnlyWhereTheyAreAccepted) {
  EXPECT_EQ(judged("0.5d1h", Days::accepted), "13h");
  EXPECT_EQ(judged("2d", Days::accepted), "too large");
  EXPECT_EQ(judged("0.5d"), "malformed");
}

}  // namespace
}  // namespace sluice
