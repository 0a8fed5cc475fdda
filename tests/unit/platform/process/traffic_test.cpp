// Goal: who gets which part of a service's requests follows from the entries of its traffic, and
// what is wrong with them is refused with the place and the fix.

#include "platform/process/traffic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platform/process/service_spec.h"
#include <string>

namespace sluice::local {
namespace {

Traffic traffic(std::vector<TrafficTarget> targets) {
  return targets;
}

/// `app-00001 90 [stable], app-00002 10`.
std::string shown(const RevisionShares& shares) {
  std::string text;
  for (const auto& [revision, share] : shares) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", revision, share.percent);
    for (const std::string& tag : share.tags) text += " [" + tag + "]";
  }
  return text;
}

/// `present` as `sluice traffic` changes it.
std::string changed(const Traffic& present, const std::string& percents,
                    const std::vector<std::string>& tags = {},
                    const std::vector<std::string>& untags = {}) {
  TrafficChange change{.untags = untags};
  const auto read = parse_percents(percents);
  if (!read) return read.error().what;
  change.percents = *read;
  for (const std::string& text : tags) {
    const auto tag = parse_tag(text);
    if (!tag) return tag.error().what;
    change.tags.push_back(*tag);
  }
  const auto result = changed_traffic(present, change);
  return result ? traffic_text(*result) : result.error().text();
}

TEST(Traffic, WithoutEntriesTheLatestRevisionGetsAll) {
  EXPECT_EQ(shown(shares_of({}, "app-00002")), "app-00002 100");
  EXPECT_TRUE(follows_latest({}, "app-00002"));
}

TEST(Traffic, EntriesOfOneRevisionAddUpAndATagNeedsNoPercentage) {
  const Traffic split = traffic({{.revision = "app-00001", .percent = 60, .tag = "stable"},
                                 {.percent = 25},
                                 {.revision = "app-00002", .percent = 15},
                                 {.revision = "app-00001", .tag = "old"},
                                 {.revision = "app-00003"}});
  EXPECT_EQ(shown(shares_of(split, "app-00002")), "app-00001 60 [stable] [old], app-00002 40");
  EXPECT_EQ(shown(shares_of(split, "app-00004")),
            "app-00001 60 [stable] [old], app-00002 15, app-00004 25");
  EXPECT_TRUE(follows_latest(split, "app-00004"));
  const Traffic pinned = traffic({{.revision = "app-00001", .percent = 100}});
  EXPECT_FALSE(follows_latest(pinned, "app-00002"));
  EXPECT_TRUE(follows_latest(pinned, "app-00001"));
}

TEST(Traffic, WhatIsWrongWithEntriesIsNamedWithItsPlace) {
  const auto wrong = [](const Traffic& entries) {
    const auto problem = check_traffic(entries, "app");
    return problem ? problem->what : "fine";
  };
  EXPECT_EQ(wrong({}), "fine");
  EXPECT_EQ(wrong({{.percent = 90, .place = "app.yaml:7"}}),
            "app.yaml:7: the percentages of `traffic` add up to 90, not to 100");
  EXPECT_EQ(wrong({{.percent = 60}, {.revision = "app-00001", .percent = 60}}),
            "service app: the percentages of `traffic` add up to 120, not to 100");
  EXPECT_EQ(wrong({{.percent = 100, .tag = "V1"}}), "service app: tag `V1` is not a DNS label");
  EXPECT_EQ(wrong({{.percent = 100, .tag = "a"}, {.revision = "app-00001", .tag = "a"}}),
            "service app: tag `a` is used twice");
  EXPECT_EQ(wrong({{.percent = 100, .tag = "app-00002"}}),
            "service app: tag `app-00002` names a revision already");
  EXPECT_EQ(wrong({{.percent = 100, .tag = "app-123456"}}),
            "service app: tag `app-123456` names a revision already");
  EXPECT_EQ(wrong({{.percent = 100, .tag = "latest", .place = "app.yaml:7"}}),
            "app.yaml:7: tag `latest` names a revision already");
  for (const char* const tag : {"app-2", "shop-00002", "app-v00002", "latest-app"})
    EXPECT_EQ(wrong({{.percent = 100, .tag = tag}}), "fine") << tag;
  const std::string longest(59, 'a');
  EXPECT_EQ(wrong({{.percent = 100, .tag = longest}}), "fine");
  EXPECT_EQ(
      wrong({{.percent = 100, .tag = longest + "a"}}),
      fmt::format("service app: the host {0}a-app.localhost of tag `{0}a` is too long", longest));
}

TEST(Traffic, ARevisionThatIsNotKeptIsNamedWithThoseThatAre) {
  const auto problem =
      check_names({{.revision = "app-00007", .percent = 100, .place = "app.yaml:9"}}, "app",
                  {"app-00002", "app-00003"});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->text(),
            "app.yaml:9: revision app-00007 of service app is not kept; name @latest or app-00002, "
            "app-00003");
  EXPECT_FALSE(check_names({{.percent = 100}}, "app", {}));
}

TEST(Traffic, NewPercentagesTakeThePlaceOfAllAndTagsStay) {
  const Traffic present = traffic(
      {{.revision = "app-00001", .percent = 90, .tag = "stable"}, {.percent = 10, .tag = "next"}});
  EXPECT_EQ(changed(present, "@latest=100"), "@latest=100, @latest=next, app-00001=stable");
  EXPECT_EQ(changed(present, "stable=50,next=50"),
            "app-00001=50, app-00001=stable, @latest=50, @latest=next");
  EXPECT_EQ(changed({}, "app-00001=100"), "app-00001=100");
  EXPECT_EQ(changed({}, "app-00001=0,@latest=100"), "@latest=100");
}

TEST(Traffic, TagsAreAddedMovedAndRemoved) {
  EXPECT_EQ(changed({}, "", {"app-00001=old"}), "@latest=100, app-00001=old");
  const Traffic present = traffic({{.percent = 100}, {.revision = "app-00001", .tag = "old"}});
  EXPECT_EQ(changed(present, "", {"app-00002=old"}), "@latest=100, app-00002=old");
  EXPECT_EQ(changed(present, "", {}, {"old"}), "@latest=100");
  EXPECT_EQ(changed(present, "", {"old=older"}), "@latest=100, app-00001=old, app-00001=older");
  EXPECT_EQ(changed(present, "", {"app-00001=a", "app-00002=a"}),
            "tag a is given twice; give each tag to one revision");
  EXPECT_EQ(changed(present, "", {}, {"x"}), "no revision has the tag x; tags: old");
  EXPECT_EQ(changed({}, "", {}, {"x"}), "no revision has the tag x; there are no tags");
}

TEST(Traffic, WordsThatAreNoShareAreRefused) {
  EXPECT_EQ(changed({}, "app-00001"), "`app-00001` is not a share");
  EXPECT_EQ(changed({}, "@latest=50,app-00001=x"), "`app-00001=x` is not a share");
  EXPECT_EQ(changed({}, "@latest=101"), "`@latest=101` is not a share");
  EXPECT_EQ(changed({}, "=100"), "`=100` is not a share");
  EXPECT_EQ(changed({}, "", {"stable"}), "`stable` is not REVISION=TAG");
}

TEST(Traffic, ATagHasAHostWhereverTheServiceHasOneByItsName) {
  std::string hosts;
  for (const auto& rule : tag_hosts("v1", "app",
                                    {{"app.example.com"},
                                     {"shop.example.com"},
                                     {"app.example.com", "/api"},
                                     {"app.test"}})) {
    hosts += rule.host + rule.path_prefix + " ";
  }
  EXPECT_EQ(hosts, "v1-app.localhost v1-app.example.com v1-app.test ");
}

TEST(Traffic, EntriesAndChangesReadBackAsTheyWereWritten) {
  const Traffic entries =
      traffic({{.revision = "app-00001", .percent = 90, .tag = "stable"}, {.percent = 10}});
  EXPECT_EQ(traffic_of(traffic_json(entries)), entries);
  EXPECT_EQ(traffic_of(nlohmann::json::parse(R"([1, {}, {"percent": 5}])")), Traffic{});
  const TrafficChange change{.percents = {{"@latest", 100}}, .tags = {{"a", "b"}}, .untags = {"c"}};
  const auto read = change_of(change_json(change));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->percents, change.percents);
  EXPECT_EQ(read->tags, change.tags);
  EXPECT_EQ(read->untags, change.untags);
}

TEST(Traffic, AChangeThatIsNoneIsRefused) {
  const auto wrong = [](const char* body) {
    const auto read = change_of(nlohmann::json::parse(body));
    return read ? "fine" : read.error().what;
  };
  EXPECT_EQ(wrong("[]"), "the body is not a JSON object");
  EXPECT_EQ(wrong("{}"), "there is nothing to change");
  EXPECT_EQ(wrong(R"({"percent": []})"), "unknown key percent");
  EXPECT_EQ(wrong(R"({"percents": 1})"), "percents is not a list of at most 100");
  EXPECT_EQ(wrong(R"({"percents": [{"revision": "a", "percent": 101}]})"),
            "a percentage needs a revision and a whole number from 0 to 100");
  EXPECT_EQ(wrong(R"({"tags": [{"tag": "a"}]})"), "a tag needs a revision and a name");
}

// --- in a document ---

std::string document(const std::string& traffic) {
  return "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: app}\nspec:\n"
         "  template:\n    spec:\n      containers:\n        - command: [serve]\n  traffic:\n" +
         traffic;
}

TEST(TrafficOfADocument, EntriesAreReadAndWrittenAgain) {
  const auto parsed =
      parse_services(document("    - {revisionName: app-00001, percent: 90, tag: stable}\n"
                              "    - {latestRevision: true, percent: 10}\n    - {tag: next}\n"),
                     "app.yaml", "/srv");
  ASSERT_TRUE(parsed) << parsed.error().text();
  const ServiceSpec& spec = parsed->services.front();
  EXPECT_EQ(traffic_text(spec.traffic), "app-00001=90, app-00001=stable, @latest=10, @latest=next");
  EXPECT_EQ(spec.traffic.front().place, "app.yaml:10");
  const auto again = parse_services(to_yaml(spec), "again.yaml", "/srv");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->services.front(), spec);
}

TEST(TrafficOfADocument, ItMakesNoNewRevision) {
  const auto plain = parse_services(document("    - {percent: 100}\n"), "app.yaml", "/srv");
  const auto split = parse_services(
      document("    - {percent: 50}\n    - {revisionName: app-00001, percent: 50}\n"), "app.yaml",
      "/srv");
  ASSERT_TRUE(plain && split);
  EXPECT_EQ(template_hash(plain->services.front()), template_hash(split->services.front()));
}

TEST(TrafficOfADocument, WhatIsWrongIsNamedWithItsLine) {
  const auto wrong = [](const std::string& traffic) {
    const auto parsed = parse_services(document(traffic), "app.yaml", "/srv");
    return parsed ? "fine" : parsed.error().problems.front().what;
  };
  EXPECT_EQ(wrong("    - {percent: 50}\n    - {revisionName: app-00001, percent: 40}\n"),
            "app.yaml:10: the percentages of `traffic` add up to 90, not to 100");
  EXPECT_EQ(wrong("    - {percent: 100}\n    - {revisionName: a, latestRevision: true}\n"),
            "app.yaml:11: an entry of `spec.traffic` has `revisionName` and `latestRevision: "
            "true`");
  EXPECT_EQ(wrong("    - {percent: 100, latestRevision: false}\n"),
            "app.yaml:10: an entry of `spec.traffic` names no revision");
  EXPECT_EQ(wrong("    - {percent: 100}\n    - {configurationName: app}\n"),
            "app.yaml:11: `configurationName` is for Routes of Knative");
  EXPECT_EQ(wrong("    - {percent: 100}\n    - {tag: Old}\n"),
            "app.yaml:11: tag `Old` is not a DNS label");
}

}  // namespace
}  // namespace sluice::local
