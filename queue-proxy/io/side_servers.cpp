#include "queue-proxy/io/side_servers.h"

namespace sluice::queue_proxy {
namespace {

const http::OwnResponse& not_found() {
  static const http::OwnResponse response = http::response_for(Error::no_route, "404 page not found\n");
  return response;
}

}  // namespace

StatServer::StatServer(const std::string& pod) : OwnGateway{"queue-proxy"} {
  proto::Stat stat;
  stat.pod_name = pod;
  freeze(stat);
}

void StatServer::freeze(const proto::Stat& stat) { body_ = proto::encode(stat); }

void StatServer::begin(net::Exchange& exchange) {
  if (exchange.request().path() != "/metrics") {
    exchange.respond(not_found());
    return;
  }
  http::OwnResponse response = http::plain_response(200, body_);
  response.content_type = "application/protobuf";
  exchange.respond(response);
}

void AdminServer::begin(net::Exchange& exchange) {
  const std::string_view path = exchange.request().path();
  const bool drain = path == "/drain" && exchange.peer_is_local();
  if (!drain && path != "/wait-for-drain") {
    exchange.respond(not_found());
    return;
  }
  waiting_.push_back(&exchange);
  exchange.hold();
  asked_(drain);
}

void AdminServer::end(net::Exchange& exchange, const net::Outcome& /*outcome*/) {
  std::erase(waiting_, &exchange);
}

void AdminServer::release() {
  const std::vector<net::Exchange*> waiting = std::move(waiting_);
  waiting_.clear();
  for (net::Exchange* exchange : waiting) exchange->respond(http::plain_response(200, ""));
}

}  // namespace sluice::queue_proxy
