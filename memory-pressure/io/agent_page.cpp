#include "memory-pressure/io/agent_page.h"

namespace sluice::node_agent {

void AgentPage::begin(net::Exchange& exchange) {
  const http::RequestHead& head = exchange.request();
  const std::string_view path = head.path();
  const bool get = head.method == "GET" || head.method == "HEAD";
  if (get && (path == "/livez" || path == "/healthz")) {
    return exchange.respond(http::plain_response(200, "ok\n"));
  }
  if (get && path == "/readyz") {
    const std::string trouble = answers_.trouble();
    const std::string text = trouble.empty() ? "ok\n" : trouble + "\n";
    return exchange.respond(http::plain_response(trouble.empty() ? 200 : 503, text));
  }
  if (get && path == "/status") {
    http::OwnResponse response = http::plain_response(200, answers_.status());
    response.content_type = "application/json";
    return exchange.respond(response);
  }
  if (answers_.switch_on && (path == "/on" || path == "/off")) {
    return take_order(exchange, path == "/on");
  }
  MetricsServer::begin(exchange);
}

void AgentPage::take_order(net::Exchange& exchange, bool on) {
  if (exchange.request().method != "POST") {
    http::OwnResponse refusal = http::plain_response(405, "Method Not Allowed\n");
    refusal.extra = "Allow: POST\r\n";
    return exchange.respond(refusal);
  }
  answers_.switch_on(on);
  exchange.respond(http::plain_response(202, on ? "on\n" : "off\n"));
}

}  // namespace sluice::node_agent
