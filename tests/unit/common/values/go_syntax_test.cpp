#include "common/values/go_syntax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace sluice {
namespace {

TEST(GoSyntax, ReadsFloatsAsGoDoes) {
  EXPECT_EQ(read_go_float("1e3"), 1000);
  EXPECT_EQ(read_go_float("0x1p4"), 16);
  EXPECT_EQ(read_go_float("0X1P-2"), 0.25);
  EXPECT_EQ(read_go_float("0x1.8p1"), 3);
  EXPECT_EQ(read_go_float("1_000.5"), 1000.5);
  EXPECT_EQ(read_go_float("0x_1p4"), 16);
  EXPECT_EQ(read_go_float("+3"), 3);
  EXPECT_EQ(read_go_float("-.5"), -0.5);
  EXPECT_EQ(read_go_float("5."), 5);
  EXPECT_EQ(read_go_float("1e-400"), 0);
  EXPECT_TRUE(std::isnan(*read_go_float("nan")));
  EXPECT_TRUE(std::isnan(*read_go_float("NaN")));
  EXPECT_EQ(read_go_float("Inf"), HUGE_VAL);
  EXPECT_EQ(read_go_float("-infinity"), -HUGE_VAL);
}

TEST(GoSyntax, RefusesFloatsThatGoRefuses) {
  for (const std::string text :
       {"",     " 2",     "2 ",      "1,5",   "1__0", "_1",   "1_",  "1_.5", "1._5",
        "0x10", "0x",     "1e",      "1e400", "e5",   ".",    "+",   "--1",  "+-1",
        "+nan", "nan(1)", "infinit", "1f",    "0b1",  "1e5_", "0x1p"}) {
    EXPECT_FALSE(read_go_float(text)) << "'" << text << "'";
  }
}

TEST(GoSyntax, ReadsWholeNumbersOfTheGivenWidth) {
  EXPECT_EQ(read_go_int("+3", 32), 3);
  EXPECT_EQ(read_go_int("007", 32), 7);
  EXPECT_EQ(read_go_int("-2147483648", 32), -2147483648LL);
  EXPECT_FALSE(read_go_int("2147483648", 32));
  EXPECT_EQ(read_go_int("4294967296", 64), 4294967296LL);
  EXPECT_FALSE(read_go_int("9223372036854775808", 64));
  for (const std::string text : {"", "+", "+-3", "1.5", "1_0", "0x1", " 1", "1 "}) {
    EXPECT_FALSE(read_go_int(text, 32)) << "'" << text << "'";
  }
}

TEST(GoSyntax, ReadsBooleans) {
  for (const char* text : {"1", "t", "T", "TRUE", "true", "True"})
    EXPECT_EQ(read_go_bool(text), true);
  for (const char* text : {"0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_EQ(read_go_bool(text), false);
  }
  EXPECT_FALSE(read_go_bool("yes"));
  EXPECT_FALSE(read_go_bool("tRUE"));
}

TEST(GoSyntax, TrimsTheSpacesOfGo) {
  EXPECT_EQ(trim_go_space(" \t\n\v\f\r a b \xC2\x85\xC2\xA0\xE2\x80\x8A\xE3\x80\x80"), "a b");
  EXPECT_EQ(trim_go_space("\xE2\x80\x8B.\x1C"), "\xE2\x80\x8B.\x1C") << "no space to Go";
  EXPECT_EQ(trim_go_space(" \xE1\x9A\x80 "), "");
}

}  // namespace
}  // namespace sluice
