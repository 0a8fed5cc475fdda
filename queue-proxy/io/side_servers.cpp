#include "queue-proxy/io/side_servers.h"

#include <algorithm>

namespace sluice::queue_proxy {
namespace {

const http::OwnResponse& not_found() {
  static const http::OwnResponse kResponse =
      http::response_for(Error::no_route, "404 page not found\n");
  return kResponse;
}

}  // namespace

StatServer::StatServer(const std::string& pod) : OwnGateway{"queue-proxy"} {
  proto::Stat stat;
  stat.pod_name = pod;
  freeze(stat);
}

void StatServer::freeze(const proto::Stat& stat) {
  body_ = proto::encode(stat);
}

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
  const DrainCall call = drain                 ? DrainCall::drain
                         : may_start(exchange) ? DrainCall::tentative
                                               : DrainCall::wait;
  waiting_.push_back({&exchange, call == DrainCall::wait});
  exchange.hold();
  asked_(call);
}

bool AdminServer::may_start(const net::Exchange& exchange) const {
  return exchange.peer_is_local() ||
         std::find(callers_.begin(), callers_.end(), exchange.peer_ip()) != callers_.end();
}

void AdminServer::end(net::Exchange& exchange, const net::Outcome& /*outcome*/) {
  std::erase_if(waiting_, [&](const Waiting& each) { return each.exchange == &exchange; });
}

void AdminServer::release() {
  const std::vector<Waiting> waiting = std::move(waiting_);
  waiting_.clear();
  for (const Waiting& each : waiting) each.exchange->respond(http::plain_response(200, ""));
}

std::optional<TimePoint> AdminServer::release_waits(TimePoint now, const Due& due) {
  std::vector<net::Exchange*> answered;
  std::optional<TimePoint> next;
  for (const Waiting& each : waiting_) {
    if (!each.starts_nothing) continue;
    const auto at = due(each.exchange->arrived());
    if (!at) continue;
    if (*at <= now) {
      answered.push_back(each.exchange);
    } else if (!next || *at < *next) {
      next = at;
    }
  }
  for (net::Exchange* exchange : answered) exchange->respond(http::plain_response(200, ""));
  return next;
}

}  // namespace sluice::queue_proxy
