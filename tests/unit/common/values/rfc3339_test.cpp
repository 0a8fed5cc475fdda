#include "common/values/rfc3339.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr TimePoint kAt = TimePoint{} + std::chrono::seconds{1'772'352'550};

TEST(Rfc3339, WritesAsManyDigitsAsRequested) {
  const TimePoint at = kAt + std::chrono::nanoseconds{61'234'999};
  EXPECT_EQ(rfc3339(at, Fraction::none), "2026-03-01T08:09:10Z");
  EXPECT_EQ(rfc3339(at, Fraction::milliseconds), "2026-03-01T08:09:10.061Z");
  EXPECT_EQ(rfc3339(at, Fraction::some_milliseconds), "2026-03-01T08:09:10.061Z");
  EXPECT_EQ(rfc3339(at, Fraction::microseconds), "2026-03-01T08:09:10.061234Z");
}

TEST(Rfc3339, WritesTrailingZerosByDefault) {
  EXPECT_EQ(rfc3339(kAt, Fraction::milliseconds), "2026-03-01T08:09:10.000Z");
  EXPECT_EQ(rfc3339(kAt, Fraction::microseconds), "2026-03-01T08:09:10.000000Z");
  EXPECT_EQ(rfc3339(kAt, Fraction::some_milliseconds), "2026-03-01T08:09:10Z");
  EXPECT_EQ(rfc3339(kAt + std::chrono::microseconds{999}, Fraction::some_milliseconds),
            "2026-03-01T08:09:10Z");
}

TEST(Rfc3339, TruncatesUnwrittenDigits) {
  EXPECT_EQ(rfc3339(kAt + std::chrono::milliseconds{999}, Fraction::none), "2026-03-01T08:09:10Z");
}

TEST(Rfc3339, WritesTimesBeforeTheEpoch) {
  EXPECT_EQ(rfc3339(TimePoint{} - std::chrono::milliseconds{1}, Fraction::milliseconds),
            "1969-12-31T23:59:59.999Z");
}

TEST(Rfc3339, ReadsWhatItWritesAndOffsets) {
  EXPECT_EQ(parse_rfc3339("2026-03-01T08:09:10Z"), kAt);
  EXPECT_EQ(parse_rfc3339("2026-03-01t08:09:10z"), kAt);
  EXPECT_EQ(parse_rfc3339("2026-03-01 08:09:10Z"), kAt);
  EXPECT_EQ(parse_rfc3339("2026-03-01T10:09:10.5+02:00"), kAt + std::chrono::milliseconds{500});
  EXPECT_EQ(parse_rfc3339("2026-03-01T07:39:10-00:30"), kAt);
  EXPECT_EQ(parse_rfc3339("2026-03-01T08:09:10.123456Z"), kAt + std::chrono::microseconds{123456});
  EXPECT_EQ(parse_rfc3339("2026-03-01T08:09:10.000000001Z"), kAt + Duration{1});
  EXPECT_EQ(parse_rfc3339("2026-03-01T08:09:60Z"), kAt + std::chrono::seconds{50});
}

TEST(Rfc3339, RefusesMalformedText) {
  for (const char* const text :
       {"", "2026-03-01", "2026-13-01T08:09:10Z", "2026-02-30T08:09:10Z", "2026-03-01T08:09:10",
        "2026-03-01T25:09:10Z", "2026-03-01T08:60:10Z", "2026-03-01T08:09:61Z", "2026-03-01T08:09Z",
        "2026-03-01T08:09:10.Z", "2026-03-01T08:09:10.0000000001Z", "2026-03-01T08:09:10Zx",
        "2026-03-01T08:09:10+24:00", "2026-03-01T08:09:10+1:00", "2026-03--1T08:09:10Z",
        "2026-03-+1T08:09:10Z", "1969-12-31T23:59:59Z", "2201-01-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

}  // namespace
}  // namespace sluice
