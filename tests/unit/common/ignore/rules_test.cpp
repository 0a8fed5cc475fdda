#include "common/ignore/rules.h"

#include <gtest/gtest.h>

namespace sluice::ignore {
namespace {

std::string repeated(const std::string& line, int times) {
  std::string text;
  for (int n = 0; n < times; ++n) text += line + "\n";
  return text;
}

TEST(IgnoreRules, MatchNothingWhenThereAreNone) {
  const Rules none{"", " \n\n"};

  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(none.match("/", ""));
  EXPECT_TRUE(none.problems().empty());
}

TEST(IgnoreRules, MatchAnEqualPath) {
  const Rules rules{"/healthz\r\n  /live ", ""};

  EXPECT_TRUE(rules.match("/healthz", "curl"));
  EXPECT_TRUE(rules.match("/live", "curl"));
  EXPECT_FALSE(rules.match("/healthz/", "curl"));
  EXPECT_FALSE(rules.match("/health", "curl"));
  EXPECT_FALSE(rules.match("/", "/healthz"));
}

TEST(IgnoreRules, MatchAPathByItsPrefix) {
  const Rules rules{"/metrics*", ""};

  EXPECT_TRUE(rules.match("/metrics", ""));
  EXPECT_TRUE(rules.match("/metrics/cpu", ""));
  EXPECT_FALSE(rules.match("/metric", ""));
}

TEST(IgnoreRules, MatchAUserAgentThatContainsTheExpression) {
  const Rules rules{"", "(?i)uptime\n^kube-probe/"};

  EXPECT_TRUE(rules.match("/", "Better UPTIME Bot"));
  EXPECT_TRUE(rules.match("/", "kube-probe/1.30"));
  EXPECT_FALSE(rules.match("/", "not kube-probe/1.30"));
  EXPECT_FALSE(rules.match("/uptime", ""));
}

TEST(IgnoreRules, MatchAPathWithoutItsQuery) {
  http::RequestHead head;
  head.target = "/healthz?deep=1";
  head.fields.add("User-Agent", "curl/8");

  EXPECT_TRUE((Rules{"/healthz", ""}.match(head)));
  EXPECT_TRUE((Rules{"", "^curl/"}.match(head)));
  EXPECT_FALSE((Rules{"/health", "wget"}.match(head)));
}

TEST(IgnoreRules, LeaveOutARuleThatIsWrongAndNameIt) {
  const Rules rules{"healthz\n/a*b\n/ok", "(\n(?i)bot\na(?=b)"};

  EXPECT_TRUE(rules.match("/ok", ""));
  EXPECT_TRUE(rules.match("/", "Bot"));
  ASSERT_EQ(rules.problems().size(), 4U);
  EXPECT_EQ(rules.problems()[0].what, "ignore-paths: `healthz` is not a path");
  EXPECT_EQ(rules.problems()[1].what, "ignore-paths: `/a*b` has a * inside");
  EXPECT_EQ(rules.problems()[2].what,
            "ignore-user-agents: `(` is not a valid RE2 expression: missing ): (");
  EXPECT_EQ(rules.problems()[3].what.substr(0, 62),
            "ignore-user-agents: `a(?=b)` is not a valid RE2 expression: in");
}

TEST(IgnoreRules, AreLimitedInNumberAndLength) {
  const Rules many{repeated("/a", 101), repeated("b", 101)};
  EXPECT_EQ(many.problems().size(), 2U);

  const Rules lengthy{"/" + std::string(1024, 'a') + "\n/b", std::string(1025, 'a')};
  EXPECT_EQ(lengthy.problems().size(), 2U);
  EXPECT_TRUE(lengthy.match("/b", ""));
  EXPECT_FALSE(lengthy.match("/", std::string(1025, 'a')));
}

TEST(IgnoreRules, RefuseExpressionsThatAreSlowToMatch) {
  const Rules alone{"", "(a{0,30}b{0,30}c{0,30}){30}"};
  EXPECT_EQ(alone.problems().size(), 1U);
  EXPECT_TRUE(alone.empty());

  const Rules together{"", repeated("a{500}", 40) + "short"};
  EXPECT_FALSE(together.problems().empty());
  EXPECT_LE(together.problems().size(), 10U);
}

TEST(IgnoreRules, LookAtTheBeginningOfALongUserAgent) {
  const Rules rules{"", "bot"};

  const std::string rest(100'000, 'a');

  EXPECT_TRUE(rules.match("/", "bot " + rest));
  EXPECT_FALSE(rules.match("/", rest + " bot"));
}

TEST(IgnoreRules, AcceptBytesThatAreNotText) {
  const Rules rules{"/\xff*", "bot$"};

  EXPECT_TRUE(rules.match("/\xff\xfe", "\xff\x80"));
  EXPECT_TRUE(rules.match("/", "\xff\xfe bot"));
}

TEST(IgnoreRules, KeepTheTextsThatTheyWereReadFrom) {
  const Rules rules{"/a", "(b"};

  EXPECT_TRUE(rules.read_from("/a", "(b"));
  EXPECT_FALSE(rules.read_from("/a", "b"));
}

}  // namespace
}  // namespace sluice::ignore
