#include "programs/sluice/commands/dashboard_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sluice::commands {
namespace {

PageRequest get(std::string_view target) {
  return {.method = "GET", .authority = "127.0.0.1:41000", .target = target, .own_user = true};
}

// The target that passes, or the type of the problem.
std::string outcome(const PageRequest& request) {
  const auto target = passed_target(request);
  return target ? *target : "!" + target.error().type;
}

TEST(DashboardRules, LeadToTheAutoscalerThroughTheApiServer) {
  EXPECT_EQ(proxy_path("scaling"),
            "/api/v1/namespaces/scaling/services/http:autoscaler:8082/proxy");
}

TEST(DashboardRules, ThePageAndItsApiPassAsTheyAre) {
  const std::vector<std::pair<std::string_view, std::string_view>> all = {
      {"/", "/"},
      {"/?a=b", "/?a=b"},
      {"/app.js", "/app.js"},
      {"/api/v1/overview", "/api/v1/overview"},
      {"/api/v1/services?brief=1&q=a%20b", "/api/v1/services?brief=1&q=a%20b"},
      {"/api/v1/services/default/a%20b/series?since=5m",
       "/api/v1/services/default/a%20b/series?since=5m"},
      {"//api//v1/overview/", "/api/v1/overview"},
      {"/api/v1/%6cive", "/api/v1/live"},
  };
  for (const auto& [target, passed] : all) EXPECT_EQ(outcome(get(target)), passed) << target;
}

TEST(DashboardRules, NoTargetLeavesTheAutoscaler) {
  for (const std::string_view target :
       {"/..", "/../../secrets", "/api/v1/../../..", "/api/v1/%2e%2e/%2E%2E", "/api/v1/a%2fb",
        "/api/v1/..%2f..", "/api/v1/a%5cb", "/api/v1/.", "/%2e%2e", "/api/v1/a%00b",
        "/api/v1/a%0d%0ab", "/api/v2/pods", "/apis/apps/v1/deployments", "/version/x",
        "api/v1/overview", "http://127.0.0.1/api/v1/overview", "*", ""}) {
    EXPECT_EQ(outcome(get(target)), "!no-such-path") << target;
  }
  EXPECT_EQ(outcome(get("/api/v1/%zz")).front(), '!');
  EXPECT_EQ(outcome(get("/" + std::string(5000, 'a'))), "!target-too-long");
}

TEST(DashboardRules, OnlyThisUserReadsAndOnlyAtALoopbackName) {
  for (const std::string_view host :
       {"localhost", "localhost:1", "127.0.0.1:1", "127.9.9.9", "[::1]:1", "sluice.localhost:1"}) {
    PageRequest request = get("/");
    request.authority = host;
    EXPECT_EQ(outcome(request), "/") << host;
  }
  for (const std::string_view host :
       {"", "evil.example", "localhost.evil.example", "10.0.0.1", "app.localhost"}) {
    PageRequest request = get("/");
    request.authority = host;
    EXPECT_EQ(outcome(request), "!host-not-allowed") << host;
  }
  PageRequest other = get("/");
  other.own_user = false;
  EXPECT_EQ(outcome(other), "!own-user-only");
}

TEST(DashboardRules, NothingIsChanged) {
  for (const std::string_view method :
       {"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "get"}) {
    PageRequest request = get("/api/v1/services/default/app/wake");
    request.method = method;
    EXPECT_EQ(outcome(request), "!read-only") << method;
  }
  PageRequest head = get("/");
  head.method = "HEAD";
  EXPECT_EQ(outcome(head), "/");
  PageRequest with_body = get("/");
  with_body.plain = false;
  EXPECT_EQ(outcome(with_body), "!not-plain");
}

TEST(DashboardRules, NoCredentialsOfABrowserPass) {
  for (const std::string_view name :
       {"Cookie", "Authorization", "Impersonate-User", "Sluice-Edit", "X-Forwarded-For"}) {
    const auto fields = passed_fields();
    EXPECT_EQ(std::count(fields.begin(), fields.end(), name), 0) << name;
  }
}

TEST(DashboardRules, ARefusalOfTheApiServerNamesWhatIsMissing) {
  const auto refused = [](int status, std::string reason) {
    return kube::Failure{
        .kind = kube::Failure::Kind::refused, .status = status, .reason = std::move(reason)};
  };
  const auto text = [](const kube::Failure& failure) {
    return no_autoscaler(failure, "scaling", "https://api:6443").text;
  };
  const auto has = [](const std::string& whole, const char* part) {
    return whole.find(part) != std::string::npos;
  };

  EXPECT_TRUE(has(text(refused(403, "Forbidden")),
                  "get services/proxy of http:autoscaler:8082 in the namespace scaling"));
  EXPECT_TRUE(has(text(refused(403, "Forbidden")), "--resource-name=http:autoscaler:8082"));
  EXPECT_TRUE(has(text(refused(404, "NotFound")),
                  "no Service autoscaler in the namespace scaling (https://api:6443); give its "
                  "namespace with --namespace"));
  EXPECT_TRUE(has(text(refused(404, "")), "no autoscaler of Sluice"));
  kube::Failure no_list = refused(404, "NotFound");
  no_list.message = "endpoints \"autoscaler\" not found";
  EXPECT_TRUE(has(text(no_list), "no pod of the Service"));
  EXPECT_TRUE(has(text(refused(503, "ServiceUnavailable")), "no pod of the Service"));
  EXPECT_EQ(no_autoscaler(refused(503, "ServiceUnavailable"), "a", "b").exit_code,
            kExitUnavailable);
  EXPECT_EQ(no_autoscaler({.kind = kube::Failure::Kind::unreachable}, "a", "b").exit_code,
            kExitUnavailable);
  EXPECT_EQ(no_autoscaler(refused(401, "Unauthorized"), "a", "b").exit_code, kExitFailure);
}

}  // namespace
}  // namespace sluice::commands
