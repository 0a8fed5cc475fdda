#include "autoscaler/io/health_page.h"

#include <algorithm>

namespace sluice::autoscaler {
namespace {

bool all_good(const std::vector<HealthCheck>& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const HealthCheck& c) { return c.good; });
}

}  // namespace

std::string shown_wrong(const std::vector<std::string>& wrong, std::string_view what) {
  if (wrong.empty()) return {};
  std::string shown;
  for (const std::string& name : wrong) {
    if (shown.size() > 200) break;
    shown += (shown.empty() ? "" : ", ") + name;
  }
  return std::to_string(wrong.size()) + " " + std::string{what} + ": " + shown;
}

std::string health_text(const std::vector<HealthCheck>& checks, bool verbose) {
  const bool good = all_good(checks);
  if (good && !verbose) return "ok\n";
  std::string text;
  for (const HealthCheck& check : checks) {
    text += (check.good ? "[+]" : "[-]") + check.name + (check.good ? " ok" : " failed");
    text += check.detail.empty() ? "\n" : ": " + check.detail + "\n";
  }
  return text + (good ? "readyz check passed\n" : "readyz check failed\n");
}

void HealthPage::begin(net::Exchange& exchange) {
  const http::RequestHead& head = exchange.request();
  const std::string_view path = head.path();
  const bool get = head.method == "GET" || head.method == "HEAD";
  if (get && (path == "/livez" || path == "/healthz")) {
    exchange.respond(http::plain_response(200, "ok\n"));
    return;
  }
  if (get && path == "/readyz") {
    const std::vector<HealthCheck> checks = checks_();
    const std::string_view target = head.target;
    const bool verbose = target.substr(path.size()).find("verbose") != std::string_view::npos;
    exchange.respond(
        http::plain_response(all_good(checks) ? 200 : 503, health_text(checks, verbose)));
    return;
  }
  MetricsServer::begin(exchange);
}

}  // namespace sluice::autoscaler
