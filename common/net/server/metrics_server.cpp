#include "common/net/server/metrics_server.h"

namespace sluice::metrics {

void MetricsServer::begin(net::Exchange& exchange) {
  const http::RequestHead& head = exchange.request();
  if (head.path() != "/metrics") {
    exchange.respond(http::response_for(Error::no_route, "404 page not found\n"));
    return;
  }
  if (head.method != "GET" && head.method != "HEAD") {
    http::OwnResponse refusal = http::plain_response(405, "Method Not Allowed\n");
    refusal.extra = "Allow: GET, HEAD\r\n";
    exchange.respond(refusal);
    return;
  }
  std::string body;
  write_(body);
  http::OwnResponse response = http::plain_response(200, std::move(body));
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  exchange.respond(response);
}

}  // namespace sluice::metrics
