#include "platform/knative/io/public_probe.h"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::chrono::milliseconds kProbeTimeout{1000};
constexpr std::size_t kBodyMost = 1024;

// Of a public Service, by the protocol of its revision.
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kH2cPort = 81;

}  // namespace

net::FetchRequest public_probe_request(const PublicProbe::Where& where) {
  const std::string name = where.service + "." + where.space + ".svc." + where.domain;
  net::FetchRequest request;
  request.target.host = where.cluster_ip;
  request.target.port = where.h2c ? kH2cPort : kHttpPort;
  request.text = "GET /healthz HTTP/1.1\r\nHost: " + name +
                 "\r\nUser-Agent: Knative-Autoscaling-Probe\r\nK-Network-Probe: activator\r\n"
                 "Connection: close\r\n\r\n";
  request.timeout = kProbeTimeout;
  request.body_max = kBodyMost;
  return request;
}

void PublicProbe::ask(const RevisionId& id, const Where& where, std::function<void(bool ok)> done) {
  boost::system::error_code no_ip;
  boost::asio::ip::make_address(where.cluster_ip, no_ip);
  if (no_ip) {
    open_.erase(id);
    boost::asio::post(io_, [done = std::move(done)] { done(false); });
    return;
  }
  open_.insert_or_assign(
      id, std::make_unique<net::Fetch>(
              io_, public_probe_request(where),
              [this, id, done = std::move(done)](const net::FetchResult& response) {
                const bool ok =
                    response && response->head.status == 200 && response->body == "activator";
                const auto tell = done;
                const auto ended = open_.extract(id);  // ourselves: gone when this returns
                tell(ok);
              }));
}

}  // namespace sluice::autoscaler
