#include "platform/process/quantity.h"

#include <gtest/gtest.h>

namespace sluice::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Quantity, ReadsDurations) {
  EXPECT_EQ(*parse_duration("10s"), Duration{seconds{10}});
  EXPECT_EQ(*parse_duration("500ms"), Duration{milliseconds{500}});
  EXPECT_EQ(*parse_duration("1h30m"), Duration{seconds{5400}});
  EXPECT_EQ(*parse_duration("1.5s"), Duration{milliseconds{1500}});
  EXPECT_EQ(*parse_duration("0"), Duration{0});
}

TEST(Quantity, RefusesMalformedDurations) {
  for (const char* text : {"", "10", "s", "-1s", "10 s", "1d", "1s2", "1..5s", "99999999h"})
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
}

TEST(Quantity, ReadsSizes) {
  EXPECT_EQ(*parse_size("64Mi"), 64 << 20);
  EXPECT_EQ(*parse_size("1024"), 1024);
  EXPECT_EQ(*parse_size("512M"), 512'000'000);
  EXPECT_EQ(*parse_size("1.5Gi"), 1'610'612'736);
  EXPECT_EQ(*parse_size("9223372036854775807"), 9'223'372'036'854'775'807);
}

TEST(Quantity, RefusesMalformedSizes) {
  for (const char* text : {"", "Mi", "-1", "64 Mi", "64MiB", "8Ei", "9223372036854775808", "1e9"})
    EXPECT_FALSE(parse_size(text).has_value()) << text;
}

TEST(Quantity, MemoryWithoutAUnitIsRefusedWithTheSizeThatWasProbablyMeant) {
  EXPECT_EQ(*parse_memory("256Mi"), 256 << 20);
  EXPECT_EQ(*parse_memory("134217728"), 128 << 20);
  EXPECT_EQ(parse_memory("12").error().text(),
            "`12` is only 12 bytes of memory; did you mean 12Mi?");
  EXPECT_EQ(parse_memory("1").error().text(), "`1` is only 1 byte of memory; did you mean 1Mi?");
  EXPECT_EQ(parse_memory("0").error().text(), "`memory` must be more than 0; write it like 64Mi");
}

TEST(Quantity, ReadsCpus) {
  EXPECT_DOUBLE_EQ(*parse_cpu("0.5"), 0.5);
  EXPECT_DOUBLE_EQ(*parse_cpu("250m"), 0.25);
  for (const char* text : {"", "0", "-1", "1x", "m", "5000"})
    EXPECT_FALSE(parse_cpu(text).has_value()) << text;
  EXPECT_EQ(parse_cpu("0").error().text(),
            "`0` is out of range for a number of CPUs; use more than 0 and at most 4096");
}

TEST(Quantity, FormatsReadBackTheSame) {
  for (const Duration d : {Duration{seconds{60}}, Duration{milliseconds{1500}}, Duration{7}})
    EXPECT_EQ(*parse_duration(format_duration(d)), d);
  for (const std::int64_t bytes : {0L, 1000L, 64L << 20, 3L << 40})
    EXPECT_EQ(*parse_size(format_size(bytes)), bytes);
  for (const double cores : {0.5, 2.0, 0.0625, 1.0 / 3})
    EXPECT_DOUBLE_EQ(*parse_cpu(format_cpu(cores)), cores);
}

}  // namespace
}  // namespace sluice::local
