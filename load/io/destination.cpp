#include "load/io/destination.h"

#include "common/base/check.h"

#include <boost/asio/ip/address.hpp>

#include "load/io/grpc_message.h"
#include "load/io/load_run.h"

namespace sluice::loadgen {

Destination::Destination(const TargetPlan& what, std::size_t where, const LoadPlan& all)
    : plan{what},
      pool{where},
      always_same{plan.path.is_fixed() && all.ids.empty()},
      seed{all.seed + static_cast<std::uint64_t>(&what - all.targets.data())},
      body{plan.target.protocol == Protocol::grpc ? grpc_message(plan.body) : plan.body} {
  if (plan.target.protocol == Protocol::ws) ws.emplace(plan, seed);
  for (std::size_t i = 0; i < kSentAs; ++i) {
    const auto as = static_cast<SentAs>(i);
    fields.emplace_back(plan, as);
    begins[i] = std::string{method_of(plan, as)} + " ";
    ends[i] = request_head(plan, as, all.reuse == 1U);
    if (!always_same) continue;
    plan.path.append_to(begins[i], 0, seed);
    begins[i] += ends[i] + "\r\n";
  }
}

Request Destination::request(Exchange& exchange, const std::string& ids, bool h2) {
  const PlannedRequest& planned = exchange.planned;
  const auto as = static_cast<std::size_t>(planned.as);
  Request out;
  out.to_head = method_of(plan, planned.as) == "HEAD";
  if (has_body(planned.as)) out.body = body;
  if (always_same && !h2) {
    out.head = begins[as];
    return out;
  }
  if (!ids.empty()) {
    exchange.id.assign(ids).append("-").append(std::to_string(planned.index + 1));
  }
  std::string& head = exchange.head;
  if (h2) {
    head.clear();
    plan.path.append_to(head, planned.number, seed);
    out.id = exchange.id;
    out.fields = &fields[as];
  } else {
    head.assign(begins[as]);
    plan.path.append_to(head, planned.number, seed);
    head += ends[as];
    if (!ids.empty()) head.append("X-Request-Id: ").append(exchange.id).append("\r\n");
    head += "\r\n";
  }
  out.head = head;
  return out;
}

Peer peer_of(const Target& target, const std::string& address, const net::ClientTls* tls) {
  Peer peer{{boost::asio::ip::make_address(address), target.port}};
  peer.protocol = target.protocol;
  if (!target.tls) return peer;
  CHECK(tls != nullptr);
  peer.tls = tls;
  peer.name = target.host;
  return peer;
}

}  // namespace sluice::loadgen
