#include "activator/core/revision_name.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::activator {
namespace {

// "namespace/name" of a request.
std::string named(std::string_view space, std::string_view name, std::string_view host) {
  const RevisionName found = name_revision(space, name, host, "cluster.local");
  return std::string(found.space) + "/" + std::string(found.name);
}

// activator.md 12, row 1.
TEST(RevisionName, HeadersComeBeforeTheHost) {
  EXPECT_EQ(named("n", "r", "other.space.svc.cluster.local"), "n/r");
}

// Row 2.
TEST(RevisionName, HostNamesTheRevisionWhereHeadersDoNot) {
  EXPECT_EQ(named("", "", "r.n.svc.cluster.local"), "n/r");
  EXPECT_EQ(named("x", "", "r.n.svc.cluster.local"), "n/r");
  EXPECT_EQ(named("", "", "r-private.n.svc.cluster.local"), "n/r-private");
}

// Row 3.
TEST(RevisionName, PortOfTheHostDoesNotMatter) {
  EXPECT_EQ(named("", "", "r.n.svc.cluster.local:80"), "n/r");
}

// Row 4.
TEST(RevisionName, UnknownRevisionIsQuoted) {
  EXPECT_EQ(not_found_text("fooname"),
            "Error getting active endpoint: revision.serving.knative.dev \"fooname\" not found\n");
}

// Row 5.
TEST(RevisionName, OneHeaderAndAForeignHostNameNothing) {
  EXPECT_EQ(named("", "r", "shop.example.com"), "/r");
  EXPECT_EQ(named("n", "", "shop.example.com"), "n/");
}

// Row 6.
TEST(RevisionName, HostOfAnotherClusterNamesNothing) {
  EXPECT_EQ(named("", "", "r.n.svc.other.domain"), "/");
  EXPECT_EQ(named("", "", "r.n.pod.cluster.local"), "/");
  EXPECT_EQ(named("", "", "r.n.svc"), "/");
  EXPECT_EQ(named("", "", "r.n.svc.cluster.local.evil.com"), "/");
  EXPECT_EQ(named("", "", ""), "/");
}

// Row 15.
TEST(RevisionName, MeshFindsPodsByTheirPrivateService) {
  EXPECT_EQ(private_host({.space = "real-namespace", .name = "real-name"}),
            "real-name-private.real-namespace");
}

}  // namespace
}  // namespace sluice::activator
