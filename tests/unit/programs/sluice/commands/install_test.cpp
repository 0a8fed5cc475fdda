#include "programs/sluice/commands/install.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace sluice::commands {
namespace {

std::string installed(const Installation& installation) {
  const auto text = install_text(installation);
  return text ? *text : text.error().text();
}

std::string removed(const Installation& installation, bool crds) {
  const auto text = uninstall_text(installation, crds);
  return text ? *text : text.error().text();
}

bool names(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

TEST(Install, HasAProfileOfEachName) {
  for (const std::string profile : {"small", "standard", "ha"}) {
    EXPECT_TRUE(names(installed({.profile = profile}), "# Sluice, profile " + profile)) << profile;
  }
}

TEST(Install, PutsEverythingInTheRequestedNamespace) {
  const std::string text = installed({.space = "scaling"});

  EXPECT_FALSE(names(text, "sluice-system"));
  EXPECT_TRUE(names(text, "kind: Namespace\nmetadata:\n  name: scaling\n"));
  EXPECT_TRUE(names(text, "autoscaler.scaling.svc."));
}

TEST(Install, TakesEveryImageFromTheRequestedRegistry) {
  const std::string text = installed({.registry = "registry.local:5000/mirror"});

  EXPECT_FALSE(names(text, "image: sluice.dev/"));
  EXPECT_TRUE(names(text, "image: registry.local:5000/mirror/activator:"));
  EXPECT_TRUE(names(text, "\"registry.local:5000/mirror/queue-proxy:"));
  EXPECT_TRUE(names(text, "sluice.dev/inject: enabled"));
}

TEST(Install, KeepsARegistryWhoseNameHoldsThatOfTheUsualNamespace) {
  const std::string text = installed({.space = "scaling", .registry = "local/sluice-system"});

  EXPECT_TRUE(names(text, "image: local/sluice-system/activator:"));
  EXPECT_TRUE(names(text, "autoscaler.scaling.svc."));
}

TEST(Install, RefusesInvalidNames) {
  for (const std::string space : {"", "Shop", "a.b", "-a", "kube-system", "default"}) {
    EXPECT_TRUE(names(installed({.space = space}), "--namespace")) << space;
  }
  for (const std::string registry : {"", "a b", "x/", "/x", "x\"y"}) {
    EXPECT_TRUE(names(installed({.registry = registry}), "--image-registry")) << registry;
  }
  EXPECT_EQ(installed({.profile = "big"}),
            "--profile big is unknown; accepted: small, standard, ha");
}

TEST(Uninstall, LeavesTheKindByDefault) {
  EXPECT_FALSE(names(removed({}, false), "CustomResourceDefinition"));
  EXPECT_TRUE(names(removed({}, true), "CustomResourceDefinition"));
}

TEST(Uninstall, BeginsWithTheWebhooksAndEndsWithTheNamespace) {
  const std::string text = removed({}, true);
  const std::size_t webhook = text.find("kind: MutatingWebhookConfiguration");
  const std::size_t deployment = text.find("kind: Deployment");
  const std::size_t kind = text.find("kind: CustomResourceDefinition");
  const std::size_t space = text.find("kind: Namespace");

  ASSERT_NE(space, std::string::npos);
  EXPECT_LT(webhook, deployment);
  EXPECT_LT(deployment, kind);
  EXPECT_LT(kind, space);
  EXPECT_EQ(text.find("kind:", space + 1), std::string::npos);
}

TEST(Uninstall, NamesEveryObjectOfTheInstallation) {
  const auto objects = [](const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find("\nkind: "); at != std::string::npos;
         at = text.find("\nkind: ", at + 1)) {
      ++count;
    }
    return count;
  };

  EXPECT_EQ(objects(removed({.profile = "ha"}, true)), objects(installed({.profile = "ha"})));
}

}  // namespace
}  // namespace sluice::commands
