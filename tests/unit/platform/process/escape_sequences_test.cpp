#include "platform/process/escape_sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sluice::local {
namespace {

std::string without(std::string_view text, std::size_t piece) {
  EscapeSequences escapes;
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    escapes.append_without(out, text.substr(at, piece));
  }
  escapes.end(out);
  return out;
}

struct Case {
  std::string text;
  std::string left;
};

const std::vector<Case> kCases = {
    {"plain\ttext\n", "plain\ttext\n"},
    {"a\x1b[31mred\x1b[0m b", "ared b"},
    {"\x1b[38;2;1;2;3mx\x1b[?25l\x1b[2K\x1b[1;1Hy", "xy"},
    {"\x1b]0;a title\x07t", "t"},
    {"\x1b]8;;http://a.example/?b=c\x1b\\link\x1b]8;;\x1b\\.", "link."},
    {"\x1bPq#0;2;0;0;0~~\x1b\\after", "after"},
    {"\x1b^private\x1b\\\x1b_program\x1b\\\x1bXstring\x1b\\z", "z"},
    {"\x1b(B\x1b#8\x1b=\x1b>\x1b"
     "7\x1b"
     "8\x1b"
     "cend",
     "end"},
    {"\xc2\x9b"
     "31mred\xc2\x9d"
     "0;t\xc2\x9cx",
     "redx"},
    {"caf\xc3\xa9 \xc2\xa9 \xe2\x82\xac", "caf\xc3\xa9 \xc2\xa9 \xe2\x82\xac"},
    {"\x1b[31\x1b[32mx", "x"},
    {"\x1b]0;not ended\nnext\n", "\nnext\n"},
    {"\x1b[3\nnext", "\nnext"},
    {"\x1b", ""},
    {"a\x1b[1", "a"},
    {"a\xc2", "a\xc2"},
    {"\x1b\x1b[1mx\x18y", "x\x18y"},
};

TEST(EscapeSequences, AreRemovedAsAWhole) {
  for (const Case& each : kCases) {
    EXPECT_EQ(without(each.text, each.text.size()), each.left) << each.text.substr(1);
  }
}

TEST(EscapeSequences, AreRemovedWhereverTheTextIsSplit) {
  for (const Case& each : kCases) {
    for (std::size_t piece = 1; piece < each.text.size(); ++piece) {
      EXPECT_EQ(without(each.text, piece), each.left) << each.text.substr(1) << " by " << piece;
    }
  }
}

}  // namespace
}  // namespace sluice::local
