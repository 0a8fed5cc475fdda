#include "common/base/clean_text.h"

#include "common/base/utf8.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::string_literals;

std::string utf8(std::uint32_t rune) {
  const auto tail = [rune](unsigned shift) {
    return static_cast<char>(0x80U | ((rune >> shift) & 0x3fU));
  };
  if (rune < 0x80) return {static_cast<char>(rune)};
  if (rune < 0x800) return {static_cast<char>(0xc0U | rune >> 6U), tail(0)};
  if (rune < 0x10000) return {static_cast<char>(0xe0U | rune >> 12U), tail(6), tail(0)};
  return {static_cast<char>(0xf0U | rune >> 18U), tail(12), tail(6), tail(0)};
}

void expect_cleaned(std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t rune = first; rune <= last; ++rune) {
    EXPECT_EQ(clean_text("a" + utf8(rune) + "b"), "a?b") << std::hex << rune;
  }
}

TEST(CleanText, ReplacesTerminalControlCharacters) {
  expect_cleaned(0x00, 0x08);
  expect_cleaned(0x0a, 0x1f);
  expect_cleaned(0x7f, 0x9f);
}

TEST(CleanText, ReplacesInvisibleAndBidirectionalCharacters) {
  expect_cleaned(0x061c, 0x061c);
  expect_cleaned(0x200b, 0x200f);
  expect_cleaned(0x2028, 0x202e);
  expect_cleaned(0x2060, 0x2069);
  expect_cleaned(0xfeff, 0xfeff);
}

TEST(CleanText, ReplacesEachByteThatIsNotUtf8) {
  EXPECT_EQ(clean_text("a\xff\xc3(\xe2\x82"), "a\?\?(\?\?");
  EXPECT_EQ(clean_text("\xc0\xaf\xed\xa0\x80\xf5"), "??????");
  EXPECT_EQ(clean_text("\x9b[31m"), "?[31m");
}

TEST(CleanText, KeepsOrdinaryText) {
  const std::string text =
      "tab\t caf\u00e9 \u00a0 \u65e5\u672c\u8a9e \u05d0\u05d1 \u0627\u0628 \U0001F600";
  EXPECT_EQ(clean_text(text), text);
  EXPECT_EQ(clean_text(""), "");
  EXPECT_EQ(clean_text("a\nb\x1b", ' '), "a b ");
}

TEST(CleanText, AppendsToExistingText) {
  std::string out = "log: ";
  append_clean(out, "a\x1b"s);
  EXPECT_EQ(out, "log: a?");
}

}  // namespace
}  // namespace sluice
