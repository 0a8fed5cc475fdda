// Redirects of HTTP probes: RFC 3986 5.2 and 5.4, and kubelet's rule about hosts.

#include "queue-proxy/core/probe_url.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::queue_proxy {
namespace {

const ProbeUrl kBase{false, "127.0.0.1", 8080, "/a/b?q=1"};

// Where `location` leads, printed; "none" when nowhere.
std::string led_to(std::string_view location) {
  const auto redirect = resolve_redirect(kBase, location);
  if (!redirect) return "none";
  const ProbeUrl& url = redirect->url;
  return (url.secure ? "https " : "http ") + url.authority(true) + " " + url.target +
         (redirect->names_host ? " named" : "");
}

TEST(ProbeUrl, StaysOnItsHostWithoutOneInTheLocation) {
  const std::string here = "http 127.0.0.1:8080 ";
  EXPECT_EQ(led_to("/x?y=2#z"), here + "/x?y=2");
  EXPECT_EQ(led_to("c"), here + "/a/c");
  EXPECT_EQ(led_to("../c/./d"), here + "/c/d");
  EXPECT_EQ(led_to("../../../c"), here + "/c");
  EXPECT_EQ(led_to(".."), here + "/");
  EXPECT_EQ(led_to("?r"), here + "/a/b?r");
  EXPECT_EQ(led_to("#f"), here + "/a/b?q=1");
  EXPECT_EQ(led_to("c/http://x"), here + "/a/c/http://x");
}

TEST(ProbeUrl, FollowsAbsoluteUrls) {
  EXPECT_EQ(led_to("http://127.0.0.1:9/y"), "http 127.0.0.1:9 /y named");
  EXPECT_EQ(led_to("HTTPS://u:p@h.example"), "https h.example:443 / named");
  EXPECT_EQ(led_to("//[::1]?z"), "http [::1]:80 /?z named");
  EXPECT_EQ(led_to("http://h:/x"), "http h:80 /x named");
}

TEST(ProbeUrl, RefusesUrlsThatAreNotHttp) {
  for (const char* location :
       {"ftp://h/", "http:/x", "http://", "http://:80/", "http://h:0/", "http://h:99999/",
        "http://h:8x/", "mailto:a@b", "/a b", "/a\r\nX: 1", "//"}) {
    EXPECT_EQ(led_to(location), "none") << location;
  }
  EXPECT_EQ(led_to("/" + std::string(10'000, 'a')), "none");
}

TEST(ProbeUrl, LeavesTheUsualPortOutOfAHostHeader) {
  EXPECT_EQ((ProbeUrl{false, "h", 80, "/"}.authority(false)), "h");
  EXPECT_EQ((ProbeUrl{true, "::1", 443, "/"}.authority(false)), "[::1]");
  EXPECT_EQ((ProbeUrl{true, "h", 80, "/"}.authority(false)), "h:80");
  EXPECT_EQ((ProbeUrl{false, "h", 80, "/"}.authority(true)), "h:80");
}

}  // namespace
}  // namespace sluice::queue_proxy
