// Whose K-Original-Host becomes the Host that the container sees (queue-proxy.md 15.21).

#include "queue-proxy/core/original_host.h"

#include <gtest/gtest.h>

namespace sluice::queue_proxy {
namespace {

bool trusted(OriginalHostFrom from, const std::string& host, const std::string& proxy_request) {
  http::FieldList fields;
  fields.add("Host", host);
  fields.add("K-Original-Host", "other.example");
  if (!proxy_request.empty()) fields.add("K-Proxy-Request", proxy_request);
  return OriginalHostRule{from, "shop", "team"}.trusts(fields);
}

TEST(OriginalHost, IsTrustedBehindAnIngressWhateverElseIsSent) {
  EXPECT_TRUE(trusted(OriginalHostFrom::ingress, "shop.example", ""));
  EXPECT_TRUE(trusted(OriginalHostFrom::ingress, "10.0.0.7:8012", "activator"));
}

TEST(OriginalHost, OfAnActivatorIsTrustedByTheHostItAddressesAPodWith) {
  for (const char* host :
       {"10.0.0.7:8012", "10.0.0.7", "[fd00::7]:8012", "shop-private.team", "Shop-Private.team"}) {
    EXPECT_TRUE(trusted(OriginalHostFrom::activator, host, "activator")) << host;
  }
}

TEST(OriginalHost, OfAClientIsNotTrustedEvenIfItClaimsToBeAnActivator) {
  for (const char* host : {"shop.example", "shop.team.svc.cluster.local:80", "", "localhost",
                           "shop-private.others", "10.0.0.7.example", ":80"}) {
    EXPECT_FALSE(trusted(OriginalHostFrom::activator, host, "activator")) << host;
  }
  EXPECT_FALSE(trusted(OriginalHostFrom::activator, "10.0.0.7:8012", ""));
  EXPECT_FALSE(trusted(OriginalHostFrom::activator, "10.0.0.7:8012", "Activator"));
}

}  // namespace
}  // namespace sluice::queue_proxy
