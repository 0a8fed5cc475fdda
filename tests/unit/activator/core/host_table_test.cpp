#include "activator/core/host_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sluice::activator {
namespace {

class HostTableTest : public ::testing::Test {
 protected:
  std::size_t add(const std::string& name, const model::HostRule& rule,
                  std::optional<std::int32_t> percent = std::nullopt) {
    const RevisionId& id = *ids_.insert({"default", name}).first;
    return table_.add(rule, id, numbers_.emplace(name, numbers_.size()).first->second, percent);
  }

  void remove(const std::string& name, const model::HostRule& rule) {
    table_.remove(rule, {"default", name});
  }

  /// The name of the revision that a request is for; empty: none.
  std::string find(std::string_view authority, std::string_view path = "/") {
    const auto found = table_.choose(authority, path);
    for (const auto& [name, number] : numbers_) {
      if (found == number) return name;
    }
    return "";
  }

  std::set<RevisionId> ids_;
  std::map<std::string, std::uint64_t> numbers_;
  HostTable table_;
};

TEST_F(HostTableTest, HostDecidesWhateverItsCaseAndPort) {
  add("app", {"app.localhost"});
  add("shop", {"shop.example.com"});

  EXPECT_EQ(find("app.localhost"), "app");
  EXPECT_EQ(find("APP.localhost:8080", "/deep/path"), "app");
  EXPECT_EQ(find("shop.example.com.:80", "*"), "shop");
  EXPECT_EQ(find("app.localhost.evil"), "");
  EXPECT_EQ(find("app"), "");
  EXPECT_EQ(find(""), "");
}

TEST_F(HostTableTest, LongestPrefixWinsOnAWholeSegment) {
  add("shop", {"localhost", "/shop"});
  add("rest", {"localhost"});
  add("admin", {"localhost", "/shop/admin"});

  EXPECT_EQ(find("localhost", "/shop"), "shop");
  EXPECT_EQ(find("localhost", "/shop/"), "shop");
  EXPECT_EQ(find("localhost", "/shop/admin"), "admin");
  EXPECT_EQ(find("localhost", "/shop/admin/users"), "admin");
  EXPECT_EQ(find("localhost", "/shop/administration"), "shop");
  EXPECT_EQ(find("localhost", "/shopping"), "rest");
  EXPECT_EQ(find("localhost", ""), "rest");
}

TEST_F(HostTableTest, APrefixOfTheGreatestLengthIsFoundAndNoPathIsTooLong) {
  const std::string longest = "/" + std::string(model::kPathPrefixBytesMax - 1, 'a');
  add("long", {"localhost", longest});
  add("rest", {"localhost"});

  EXPECT_EQ(find("localhost", longest), "long");
  EXPECT_EQ(find("localhost", longest + "/b"), "long");
  EXPECT_EQ(find("localhost", longest + "b"), "rest");
  EXPECT_EQ(find("localhost", longest + "b/" + longest), "rest");
  EXPECT_EQ(find("localhost", std::string(70'000, '/')), "rest");
}

TEST_F(HostTableTest, PathOutsideEveryPrefixIsNotFoundThoughTheHostIsKnown) {
  add("shop", {"localhost", "/shop"});

  EXPECT_EQ(find("localhost", "/"), "");
  EXPECT_TRUE(table_.knows("LocalHost:1"));
  EXPECT_FALSE(table_.knows("other"));
}

TEST_F(HostTableTest, AddressesKeepTheirBrackets) {
  add("six", {"[::1]"});
  add("four", {"127.0.0.1"});

  EXPECT_EQ(find("[::1]:8080"), "six");
  EXPECT_EQ(find("[::1]"), "six");
  EXPECT_EQ(find("127.0.0.1:8080"), "four");
}

TEST_F(HostTableTest, ListsEveryHostOnceInAlphabeticalOrderAndNoMoreThanAsked) {
  add("x", {"b.localhost", "/x"});
  add("a", {"a.localhost"});
  add("y", {"b.localhost", "/y"});
  add("c", {"c.localhost"});

  EXPECT_EQ(table_.size(), 3U);
  EXPECT_EQ(table_.hosts(20),
            (std::vector<std::string_view>{"a.localhost", "b.localhost", "c.localhost"}));
  EXPECT_EQ(table_.hosts(2), (std::vector<std::string_view>{"a.localhost", "b.localhost"}));
  EXPECT_TRUE(HostTable{}.hosts(20).empty());
}

TEST_F(HostTableTest, ARuleOfSeveralRevisionsBelongsToTheFirstByNameAndThenToTheNext) {
  EXPECT_EQ(add("b", {"shop.example", "/x"}), 1U);
  EXPECT_EQ(add("c", {"shop.example", "/x"}), 2U);
  EXPECT_EQ(add("a", {"shop.example", "/x"}), 3U);
  EXPECT_EQ(find("shop.example", "/x"), "a");
  EXPECT_EQ(table_.holder({"shop.example", "/x"})->name, "a");

  remove("a", {"shop.example", "/x"});
  EXPECT_EQ(find("shop.example", "/x"), "b");
  remove("b", {"shop.example", "/x"});
  remove("c", {"shop.example", "/x"});
  EXPECT_EQ(find("shop.example", "/x"), "");
  EXPECT_EQ(table_.holder({"shop.example", "/x"}), nullptr);
  EXPECT_FALSE(table_.knows("shop.example"));
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(HostTableTest, ARemovedRuleLeavesTheOthersOfItsHost) {
  add("shop", {"localhost", "/shop"});
  add("cart", {"localhost", "/cart"});
  add("rest", {"localhost"});

  remove("shop", {"localhost", "/shop"});
  remove("shop", {"localhost", "/cart"});

  EXPECT_EQ(find("localhost", "/shop"), "rest");
  EXPECT_EQ(find("localhost", "/cart/1"), "cart");
  EXPECT_EQ(table_.holder({"localhost", "/cart"})->name, "cart");
  EXPECT_EQ(table_.holder({"localhost", "/shop"}), nullptr);
}

TEST_F(HostTableTest, ARuleClaimedTwiceByOneRevisionIsOneClaim) {
  EXPECT_EQ(add("a", {"localhost"}), 1U);
  EXPECT_EQ(add("a", {"localhost"}), 1U);

  remove("a", {"localhost"});

  EXPECT_EQ(find("localhost"), "");
}

TEST_F(HostTableTest, TakesNoMoreRulesThanItsLimit) {
  const RevisionId id{"default", "a"};
  for (std::size_t i = 0; i < HostTable::kRulesMax; ++i) {
    ASSERT_EQ(table_.add({"h" + std::to_string(i)}, id, 1), 1U);
  }

  EXPECT_EQ(table_.add({"one.more"}, id, 1), 0U);
  EXPECT_FALSE(table_.knows("one.more"));
  table_.remove({"h7"}, id);
  EXPECT_EQ(table_.add({"one.more"}, id, 1), 1U);
}

TEST(PathPrefix, DropsTrailingSlashesAndIsAbsoluteAndPlain) {
  EXPECT_EQ(model::read_path_prefix(""), "");
  EXPECT_EQ(model::read_path_prefix("/"), "");
  EXPECT_EQ(model::read_path_prefix("/shop//"), "/shop");
  EXPECT_EQ(model::read_path_prefix("/a/b%20c"), "/a/b%20c");
  for (const char* bad : {"shop", "/a b", "/a?b", "/a#b", "/a\n", "/a\x7f", "/\xc3\xa4"}) {
    EXPECT_EQ(model::read_path_prefix(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(model::read_path_prefix("/" + std::string(model::kPathPrefixBytesMax, 'a')),
            std::nullopt);
}

TEST_F(HostTableTest, ARuleWithPercentagesIsDividedAmongThoseThatClaimIt) {
  add("new", {"app.localhost"}, 75);
  add("old", {"app.localhost"}, 25);
  add("old", {"v1-app.localhost"});
  std::map<std::string, int> counts;
  for (int i = 0; i < 100; ++i) ++counts[find("app.localhost")];
  EXPECT_EQ(counts["new"], 75);
  EXPECT_EQ(counts["old"], 25);
  EXPECT_EQ(find("v1-app.localhost"), "old");

  add("new", {"app.localhost"}, 0);
  add("old", {"app.localhost"}, 100);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(find("app.localhost"), "old");
  remove("old", {"app.localhost"});
  EXPECT_EQ(find("app.localhost"), "new");
}

TEST_F(HostTableTest, ARevisionWithoutAPercentageGetsNothingOfARuleThatIsDivided) {
  add("a", {"app.localhost"});
  add("b", {"app.localhost"}, 100);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(find("app.localhost"), "b");
}

}  // namespace
}  // namespace sluice::activator
