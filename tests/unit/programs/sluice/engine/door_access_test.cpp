// Who may do what at the front door: every combination against the rules as sentences, and the
// hosts one by one.

#include "programs/sluice/engine/door_access.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace sluice::local {
namespace {

constexpr const char* kToken = "00112233445566778899aabbccddeeff";

std::string printed(const ApiResult<Proof>& verdict) {
  if (!verdict) return std::to_string(verdict.error().status) + " " + verdict.error().type;
  return *verdict == Proof::own_user ? "own user" : *verdict == Proof::none ? "no proof" : "socket";
}

DoorRules rules(bool allow_edit = false) {
  DoorRules made;
  made.allow_edit = allow_edit;
  if (allow_edit) made.token = kToken;
  return made;
}

DoorRequest request(std::string_view method = "GET", std::string_view authority = "localhost") {
  DoorRequest made;
  made.loopback = true;
  made.own_user = true;
  made.path = "/_sluice/metrics";
  made.authority = authority;
  made.method = method;
  return made;
}

DoorRequest edit(std::string_view token, std::string_view origin = "",
                 std::string_view fetch_site = "") {
  DoorRequest made = request("POST", "localhost:8080");
  made.token = token;
  made.origin = origin;
  made.fetch_site = fetch_site;
  return made;
}

TEST(DoorAccess, RecognizesTheNamesOfTheLoopback) {
  for (const char* host :
       {"localhost", "LOCALHOST", "LocalHost:8080", "localhost.", "localhost.:80", "127.0.0.1",
        "127.0.0.1:8080", "127.255.3.4", "127.0.0.1.", "[::1]", "[::1]:8080", "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]:80"}) {
    EXPECT_TRUE(names_loopback(host)) << host;
  }
  for (const char* host : {"",
                           "localhost.example.com",
                           "localhost:80:80",
                           "xlocalhost",
                           "app.localhost",
                           "128.0.0.1",
                           "127.0.0.1.example.com",
                           "127.1",
                           "2130706433",
                           "0x7f.0.0.1",
                           "0.0.0.0",
                           "192.168.1.5",
                           "::1",
                           "[::2]",
                           "[::]",
                           "[::ffff:10.0.0.1]",
                           "[::1",
                           "[]",
                           "sluice.localhost",
                           "localhost@example.com",
                           "127.0.0.1/localhost",
                           "example.com"}) {
    EXPECT_FALSE(names_loopback(host)) << host;
  }
}

TEST(DoorAccess, RecognizesTheEnginesOwnHost) {
  for (const char* host : {"sluice.localhost", "Sluice.LocalHost.", "sluice.localhost:8080"}) {
    EXPECT_TRUE(names_engine(host)) << host;
  }
  for (const char* host : {"localhost", "a.sluice.localhost", "sluice.localhost.example.com"}) {
    EXPECT_FALSE(names_engine(host)) << host;
  }
}

TEST(DoorAccess, ProgramsOfThisMachineReadAndTheEnginesUserHasProof) {
  DoorRequest asked = request();
  EXPECT_EQ(printed(judge_door(rules(), asked)), "own user");
  asked.own_user = false;
  EXPECT_EQ(printed(judge_door(rules(), asked)), "no proof");
  asked.method = "HEAD";
  asked.authority = "sluice.localhost:8080";
  EXPECT_EQ(printed(judge_door(rules(), asked)), "no proof");
}

TEST(DoorAccess, AnotherMachineFindsNothing) {
  DoorRequest asked = request();
  asked.loopback = false;
  EXPECT_EQ(printed(judge_door(rules(true), asked)), "404 no-such-path");
  asked.token = kToken;
  asked.authority = "sluice.localhost";
  EXPECT_EQ(printed(judge_door(rules(true), asked)), "404 no-such-path");
}

TEST(DoorAccess, AnotherHostIsRefusedAndTheSettingNamed) {
  const auto verdict = judge_door(rules(), request("GET", "attacker.example:8080"));
  EXPECT_EQ(printed(verdict), "403 host-not-allowed");
  EXPECT_NE(verdict.error().detail.find("attacker.example"), std::string::npos);
  EXPECT_NE(verdict.error().fix.find("dashboard: {hosts:"), std::string::npos);
  EXPECT_EQ(printed(judge_door(rules(), request("GET", ""))), "403 host-not-allowed");
}

TEST(DoorAccess, NothingChangesWithoutAllowEdit) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get", ""}) {
    const auto verdict = judge_door(rules(), request(method));
    EXPECT_EQ(printed(verdict), "403 read-only") << method;
    EXPECT_NE(verdict.error().fix.find("--allow-edit"), std::string::npos);
  }
}

TEST(DoorAccess, AChangeNeedsTheTokenOfThisStart) {
  EXPECT_EQ(printed(judge_door(rules(true), edit(kToken))), "own user");
  for (const char* wrong :
       {"", "1", "00112233445566778899aabbccddeefe", "00112233445566778899AABBCCDDEEFF",
        "00112233445566778899aabbccddeeff "}) {
    EXPECT_EQ(printed(judge_door(rules(true), edit(wrong))), "403 token-required") << wrong;
  }
  DoorRules untold = rules(true);
  untold.token.clear();
  EXPECT_EQ(printed(judge_door(untold, edit(""))), "403 token-required");
}

TEST(DoorAccess, APageOfAnotherSiteChangesNothingEvenWithTheToken) {
  for (const char* own : {"http://sluice.localhost:8080", "https://SLUICE.LOCALHOST:8080"}) {
    DoorRequest asked = edit(kToken, own, "same-origin");
    asked.authority = "sluice.localhost:8080";
    EXPECT_EQ(printed(judge_door(rules(true), asked)), "own user") << own;
  }
  for (const char* other :
       {"null", "http://localhost", "http://localhost:8081", "http://evil.example",
        "http://app.localhost:8080", "localhost:8080", "http://"}) {
    EXPECT_EQ(printed(judge_door(rules(true), edit(kToken, other))), "403 other-site") << other;
  }
  for (const char* site : {"cross-site", "same-site", "none", "Same-Origin"}) {
    EXPECT_EQ(printed(judge_door(rules(true), edit(kToken, "", site))), "403 other-site") << site;
  }
}

TEST(DoorAccess, OnceOpenedEverythingNeedsTheToken) {
  DoorRules opened = rules();
  opened.hosts = {"box.example.com"};
  opened.token = kToken;
  EXPECT_EQ(printed(judge_door(opened, request())), "403 token-required");
  DoorRequest asked = request("GET", "Box.Example.Com:8080");
  asked.token = kToken;
  EXPECT_EQ(printed(judge_door(opened, asked)), "own user");
  asked.loopback = false;
  EXPECT_EQ(printed(judge_door(opened, asked)), "404 no-such-path");
  opened.any_peer = true;
  EXPECT_EQ(printed(judge_door(opened, asked)), "no proof");
  asked.authority = "192.168.1.5:8080";
  EXPECT_EQ(printed(judge_door(opened, asked)), "403 host-not-allowed");
}

TEST(DoorAccess, OnceOpenedTheFilesOfThePageNeedNoToken) {
  DoorRules opened = rules(true);
  opened.hosts = {"box.example.com"};
  DoorRequest asked = request("GET", "box.example.com:8080");
  asked.page_file = true;
  EXPECT_EQ(printed(judge_door(opened, asked)), "own user");
  asked.loopback = false;
  EXPECT_EQ(printed(judge_door(opened, asked)), "404 no-such-path");
  opened.any_peer = true;
  EXPECT_EQ(printed(judge_door(opened, asked)), "no proof");
  asked.method = "POST";
  EXPECT_EQ(printed(judge_door(opened, asked)), "403 token-required");
}

TEST(DoorAccess, APageChangesSomethingAtANameOfTheSettingsThatNoServiceShares) {
  DoorRules opened = rules(true);
  opened.hosts = {"box.example.com", "192.168.1.5", "localhost"};
  for (const char* host : {"box.example.com:8080", "192.168.1.5:8080", "localhost:8080"}) {
    const std::string origin = "http://" + std::string{host};
    DoorRequest asked = edit(kToken, origin, "same-origin");
    asked.authority = host;
    const bool own = std::string_view{host}.starts_with("box");
    EXPECT_EQ(is_own_host(opened, host), own);
    EXPECT_EQ(printed(judge_door(opened, asked)), own ? "own user" : "403 page-elsewhere") << host;
  }
  EXPECT_FALSE(is_own_host(rules(true), "box.example.com"));
}

TEST(DoorAccess, APageChangesSomethingAtTheEnginesOwnHostOnly) {
  for (const char* host : {"localhost:8080", "127.0.0.1:8080", "[::1]:8080"}) {
    DoorRequest asked = edit(kToken, "", "same-origin");
    asked.authority = host;
    EXPECT_EQ(printed(judge_door(rules(true), asked)), "403 page-elsewhere") << host;
    asked.fetch_site = "";
    EXPECT_EQ(printed(judge_door(rules(true), asked)), "own user") << host;
  }
  EXPECT_EQ(printed(judge_door(rules(true), edit(kToken, "http://localhost:8080"))),
            "403 page-elsewhere");
  DoorRequest read = request("GET", "localhost:8080");
  read.fetch_site = "same-origin";
  EXPECT_EQ(printed(judge_door(rules(true), read)), "own user");
}

// The rules as sentences: what must hold for a request to pass.
bool may_pass(const DoorRules& given, const DoorRequest& asked) {
  const bool from_here = asked.loopback || given.any_peer;
  const bool named = asked.authority == "localhost:8080" || asked.authority == "[::1]" ||
                     asked.authority == "sluice.localhost" ||
                     (asked.authority == "box.example.com" && !given.hosts.empty());
  const bool token = asked.token == kToken;
  const bool reads = asked.method == "GET" || asked.method == "HEAD";
  const std::string own = "http://" + std::string{asked.authority};
  const bool page = (asked.origin.empty() || asked.origin == own) &&
                    (asked.fetch_site.empty() || asked.fetch_site == "same-origin") &&
                    ((asked.origin.empty() && asked.fetch_site.empty()) ||
                     asked.authority == "sluice.localhost" || asked.authority == "box.example.com");
  const bool opened = given.any_peer || !given.hosts.empty();
  return from_here && named && (token || !opened || (reads && asked.page_file)) &&
         (reads || (given.allow_edit && token && page));
}

void for_each_request(const std::function<void(const DoorRequest&)>& visit) {
  DoorRequest asked;
  asked.path = "/_sluice/metrics";
  for (const char* authority : {"localhost:8080", "[::1]", "sluice.localhost", "box.example.com",
                                "192.168.1.5", "evil.example", ""}) {
    for (const char* method : {"GET", "HEAD", "POST", "DELETE"}) {
      for (const char* token : {"", "wrong", kToken}) {
        for (const char* origin : {"", "http://localhost:8080", "http://sluice.localhost",
                                   "http://box.example.com", "http://evil.example", "null"}) {
          for (const char* site : {"", "same-origin", "cross-site"}) {
            for (const int peer : {0, 1, 2, 3, 4, 5, 6, 7}) {
              asked.authority = authority;
              asked.method = method;
              asked.token = token;
              asked.origin = origin;
              asked.fetch_site = site;
              asked.loopback = (peer & 1) != 0;
              asked.own_user = (peer & 2) != 0;
              asked.page_file = (peer & 4) != 0;
              visit(asked);
            }
          }
        }
      }
    }
  }
}

TEST(DoorAccess, EveryCombinationPassesExactlyByTheRules) {
  int passed = 0;
  for (const int flags : {0, 1, 2, 3, 4, 5, 6, 7}) {
    DoorRules given;
    given.allow_edit = (flags & 1) != 0;
    given.any_peer = (flags & 2) != 0;
    if ((flags & 4) != 0) given.hosts = {"box.example.com"};
    given.token = kToken;
    for_each_request([&](const DoorRequest& asked) {
      const auto verdict = judge_door(given, asked);
      ASSERT_EQ(static_cast<bool>(verdict), may_pass(given, asked))
          << flags << " " << asked.authority << " " << asked.method << " " << asked.token << " "
          << asked.origin << " " << asked.fetch_site << " " << printed(verdict);
      if (!verdict) return;
      ++passed;
      ASSERT_EQ(*verdict == Proof::own_user, asked.loopback && asked.own_user);
      ASSERT_NE(*verdict, Proof::socket);
    });
  }
  EXPECT_GT(passed, 100);
}

TEST(DoorAccess, ComparesWholeTexts) {
  EXPECT_TRUE(equal_secretly("abc", "abc"));
  EXPECT_FALSE(equal_secretly("abc", "abd"));
  EXPECT_FALSE(equal_secretly("abc", "ab"));
  EXPECT_FALSE(equal_secretly("", "a"));
}

TEST(DoorAccess, ARepeatedHeaderIsRefusedWhateverItsValue) {
  for (const std::string_view name : {"Sluice-Edit", "Origin", "Sec-Fetch-Site"}) {
    http::FieldList fields;
    fields.add("sluice-edit", kToken);
    fields.add("ORIGIN", "http://sluice.localhost:8080");
    fields.add("sec-fetch-site", "same-origin");
    DoorRequest asked = request("POST", "sluice.localhost:8080");
    take_door_fields(fields, asked);
    EXPECT_EQ(printed(judge_door(rules(true), asked)), "own user");
    fields.add(name, name == "Sluice-Edit" ? kToken : name);
    take_door_fields(fields, asked);
    EXPECT_EQ(printed(judge_door(rules(true), asked)), "400 repeated-header") << name;
  }
}

TEST(DoorAccess, EachStartHasAnotherTokenOf128Bits) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    const std::string token = make_token();
    EXPECT_EQ(token.size(), 32U);
    EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
    tokens.insert(token);
  }
  EXPECT_EQ(tokens.size(), 100U);
}

TEST(DoorAccess, ErrorsCarryTheFieldsOfAnswers) {
  for (const DoorField& field : door_fields()) {
    EXPECT_NE(door_lines().find(std::string{field.name} + ": "), std::string::npos) << field.name;
  }
  EXPECT_TRUE(door_lines().ends_with("\r\n"));
}

}  // namespace
}  // namespace sluice::local
