#include "common/api/api_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <vector>

namespace sluice::http {
namespace {

TEST(ApiTarget, IsSplitAndDecoded) {
  const auto target = parse_target("//api/v1/services/default/a%2Fb/?since=10m&at=1+2&flag");

  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->path, (std::vector<std::string>{"api", "v1", "services", "default", "a/b"}));
  EXPECT_EQ(target->text("since"), "10m");
  EXPECT_EQ(target->text("at"), "1 2");
  EXPECT_TRUE(target->query.contains("flag"));
  EXPECT_EQ(target->text("missing"), "");
}

TEST(ApiTarget, MalformedTargetsAreRefused) {
  EXPECT_EQ(parse_target("/%zz").error().status, 400);
  EXPECT_EQ(parse_target("/%2").error().status, 400);
  EXPECT_EQ(parse_target("/?a=%").error().status, 400);
  EXPECT_EQ(parse_target("/" + std::string(kApiTargetMax, 'a')).error().status, 414);
}

TEST(ApiTarget, NumbersAreNumbersOrNothing) {
  const auto target = parse_target("/?a=12&b=-1&c=1x&d=99999999999999999999");

  EXPECT_EQ(target->number("a", 5), 12U);
  EXPECT_EQ(target->number("missing", 5), 5U);
  EXPECT_FALSE(target->number("b", 5).has_value());
  EXPECT_FALSE(target->number("c", 5).has_value());
  EXPECT_FALSE(target->number("d", 5).has_value());
}

TEST(ApiTarget, AFlagIsSetUnlessItsValueIsFalse) {
  const auto target = parse_target("/?a&b=1&c=0&d=false");

  EXPECT_TRUE(target->flag("a"));
  EXPECT_TRUE(target->flag("b"));
  EXPECT_FALSE(target->flag("c"));
  EXPECT_FALSE(target->flag("d"));
  EXPECT_FALSE(target->flag("missing"));
}

TEST(ApiPage, ContinuesWhereTheLastOneEnded) {
  const auto page = [](const char* target, std::size_t size) {
    return page_of(*parse_target(target), size);
  };

  EXPECT_EQ(page("/", 250)->end, 100U);
  EXPECT_EQ(page("/?next=200", 250)->begin, 200U);
  EXPECT_EQ(page("/?next=200", 250)->end, 250U);
  EXPECT_EQ(page("/?next=999", 250)->begin, 250U);
  EXPECT_FALSE(page("/?limit=0", 250).has_value());
  EXPECT_FALSE(page("/?limit=1001", 250).has_value());
  EXPECT_FALSE(page("/?next=x", 250).has_value());
  EXPECT_EQ(page("/?next=18446744073709551615", std::numeric_limits<std::size_t>::max())->begin,
            page("/?next=18446744073709551615", std::numeric_limits<std::size_t>::max())->end);
  EXPECT_EQ(page_within({200, 300}, 250).end, 250U);
  EXPECT_EQ(page_within({300, 400}, 250).begin, 250U);
}

// What the parts of an answer come to, each made by a call of its own.
std::vector<std::string> made(const AnswerParts& parts) {
  std::vector<std::string> all;
  bool more = true;
  while (more) {
    std::string piece;
    more = parts(piece);
    all.push_back(piece);
  }
  return all;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  return all;
}

TEST(ApiParts, APageIsMadeItemByItemAndLeavesOutWhatIsGone) {
  const auto page = [](const ApiPage& shown, std::size_t size, const std::string& more = "") {
    return made(parts_of_page(
        shown, size,
        [](std::string& body, std::size_t place) {
          if (place != 0 && place != 2) body += std::to_string(place);
        },
        more));
  };
  const auto parts = page({10, 15}, 15);
  EXPECT_EQ(joined(parts), "{\"items\":[1,3,4]}\n");
  EXPECT_EQ(parts.size(), 6U) << "one for each item, and one for the end";
  EXPECT_EQ(joined(page({0, 2}, 3)), "{\"items\":[1],\"next\":\"2\"}\n");
  EXPECT_EQ(joined(page({3, 3}, 3)), "{\"items\":[]}\n");
  EXPECT_EQ(joined(page({0, 2}, 3, ",\"a\":1")), "{\"items\":[1],\"next\":\"2\",\"a\":1}\n");
}

TEST(ApiParts, AnAnswerBeginsWhenWhatItIsMadeFromIsFound) {
  int looks = 0;
  const auto parts =
      made(parts_after([&looks] { return ++looks < 4; },
                       [&looks] {
                         return parts_of_page({0, 1}, 1, [looks](std::string& body, std::size_t) {
                           body += std::to_string(looks);
                         });
                       }));
  EXPECT_EQ(joined(parts), "{\"items\":[4]}\n");
  EXPECT_EQ(parts.size(), 6U);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(parts[static_cast<std::size_t>(i)], "");
}

TEST(ApiPage, NamesTheNextOneUnlessItIsTheLast) {
  const nlohmann::json items = {1, 2};

  EXPECT_EQ(page_answer(items, {0, 2}, 3).body, "{\"items\":[1,2],\"next\":\"2\"}\n");
  EXPECT_EQ(page_answer(items, {1, 3}, 3).body, "{\"items\":[1,2]}\n");
}

TEST(ApiProblem, IsProblemJsonWithItsFix) {
  const ApiAnswer answer =
      problem_answer({404, "no-such-service", "No such service", "none", "look"});

  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.content_type, "application/problem+json");
  EXPECT_EQ(answer.body,
            "{\"detail\":\"none\",\"fix\":\"look\",\"status\":404,"
            "\"title\":\"No such service\",\"type\":\"no-such-service\"}\n");
}

}  // namespace
}  // namespace sluice::http
