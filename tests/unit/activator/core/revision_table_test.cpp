#include "activator/core/revision_table.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::activator {
namespace {

RevisionTable table_of(const std::vector<RevisionRoute>& routes) {
  Result<RevisionTable, Problem> built = RevisionTable::build(routes);
  EXPECT_TRUE(built.has_value());
  return built ? *built : RevisionTable{};
}

std::string problem_of(const std::vector<RevisionRoute>& routes) {
  const Result<RevisionTable, Problem> built = RevisionTable::build(routes);
  return built ? "" : built.error().text();
}

TEST(RevisionTable, HostDecidesWhateverItsCaseAndPort) {
  const RevisionTable table =
      table_of({{.host = "app.localhost", .path_prefix = "", .target = 1},
                {.host = "Shop.Example.com", .path_prefix = "/", .target = 2}});

  EXPECT_EQ(table.find("app.localhost", "/"), 1U);
  EXPECT_EQ(table.find("APP.localhost:8080", "/deep/path"), 1U);
  EXPECT_EQ(table.find("shop.example.com.:80", "*"), 2U);
  EXPECT_EQ(table.find("app.localhost.evil", "/"), std::nullopt);
  EXPECT_EQ(table.find("app", "/"), std::nullopt);
  EXPECT_EQ(table.find("", "/"), std::nullopt);
}

TEST(RevisionTable, LongestPrefixWinsOnAWholeSegment) {
  const RevisionTable table =
      table_of({{.host = "localhost", .path_prefix = "/shop", .target = 1},
                {.host = "localhost", .path_prefix = "/shop/admin/", .target = 2},
                {.host = "localhost", .path_prefix = "/", .target = 3}});

  EXPECT_EQ(table.find("localhost", "/shop"), 1U);
  EXPECT_EQ(table.find("localhost", "/shop/"), 1U);
  EXPECT_EQ(table.find("localhost", "/shop?admin"), 1U);
  EXPECT_EQ(table.find("localhost", "/shop/admin"), 2U);
  EXPECT_EQ(table.find("localhost", "/shop/admin/users?x=/y"), 2U);
  EXPECT_EQ(table.find("localhost", "/shop/administration"), 1U);
  EXPECT_EQ(table.find("localhost", "/shopping"), 3U);
  EXPECT_EQ(table.find("localhost", ""), 3U);
}

TEST(RevisionTable, PathOutsideEveryPrefixIsNotFoundThoughTheHostIsKnown) {
  const RevisionTable table =
      table_of({{.host = "localhost", .path_prefix = "/shop", .target = 1}});

  EXPECT_EQ(table.find("localhost", "/"), std::nullopt);
  EXPECT_TRUE(table.knows("localhost:1"));
  EXPECT_FALSE(table.knows("other"));
}

TEST(RevisionTable, AddressesKeepTheirBrackets) {
  const RevisionTable table = table_of({{.host = "[::1]", .path_prefix = "", .target = 1},
                                        {.host = "127.0.0.1", .path_prefix = "", .target = 2}});

  EXPECT_EQ(table.find("[::1]:8080", "/"), 1U);
  EXPECT_EQ(table.find("[::1]", "/"), 1U);
  EXPECT_EQ(table.find("127.0.0.1:8080", "/"), 2U);
}

TEST(RevisionTable, ListsEveryHostOnce) {
  const RevisionTable table = table_of({{.host = "b.localhost", .path_prefix = "/x", .target = 1},
                                        {.host = "A.localhost", .path_prefix = "", .target = 2},
                                        {.host = "b.localhost", .path_prefix = "/y", .target = 3}});

  EXPECT_EQ(table.hosts(), (std::vector<std::string>{"a.localhost", "b.localhost"}));
  EXPECT_TRUE(RevisionTable{}.hosts().empty());
  EXPECT_EQ(RevisionTable{}.find("a.localhost", "/"), std::nullopt);
}

TEST(RevisionTable, RefusesRoutesThatNobodyCouldReachAndNamesThem) {
  EXPECT_NE(problem_of({{.host = "", .path_prefix = ""}}), "");
  EXPECT_NE(problem_of({{.host = "a:80", .path_prefix = ""}}).find("a:80"), std::string::npos);
  EXPECT_NE(problem_of({{.host = "a/b", .path_prefix = ""}}).find("a/b"), std::string::npos);
  EXPECT_NE(problem_of({{.host = "a", .path_prefix = "shop"}}).find("/shop"), std::string::npos);
  EXPECT_NE(problem_of({{.host = "a", .path_prefix = "/x"}, {.host = "A", .path_prefix = "/x/"}})
                .find("claimed twice"),
            std::string::npos);
  EXPECT_NE(problem_of(std::vector<RevisionRoute>(RevisionTable::kRoutesMax + 1)), "");
}

}  // namespace
}  // namespace sluice::activator
