#include "activator/io/status_server.h"

namespace sluice::activator {

void StatusServer::begin(net::Exchange& exchange) {
  const http::RequestHead& head = exchange.request();
  const std::string_view path = head.path();
  if (path == "/livez") {
    exchange.respond(http::plain_response(200, "ok\n"));
    return;
  }
  if (path != "/readyz") {
    MetricsServer::begin(exchange);
    return;
  }
  const bool verbose = std::string_view{head.target}.find("verbose") != std::string_view::npos;
  bool ready = true;
  std::string text;
  for (const Check& check : checks_()) {
    ready = ready && check.problem.empty();
    text += (check.problem.empty() ? "[+]" : "[-]") + check.name + " " +
            (check.problem.empty() ? "ok" : check.problem) + "\n";
  }
  const std::string verdict = ready ? "ok\n" : "not ready\n";
  // A failing check is always named.
  exchange.respond(
      http::plain_response(ready ? 200 : 503, ready && !verbose ? verdict : text + verdict));
}

}  // namespace sluice::activator
