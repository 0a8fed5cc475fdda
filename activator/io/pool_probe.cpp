#include "activator/io/pool_probe.h"

#include <utility>

namespace sluice::activator {
namespace {

// A dial costs one round trip and may lose a packet; the answer costs one more.
constexpr int kConnectTrips = 4;
constexpr int kResponseTrips = 3;

PoolProbeResult failed(const net::ConnectFailure& failure) {
  using End = PoolProbeResult::End;
  PoolProbeResult result;
  switch (failure.error) {
    case Error::upstream_connect:
      result.end = failure.timed_out ? End::timed_out : End::refused;
      break;
    case Error::upstream_invalid:
      result.end = End::invalid;
      break;
    default:
      result.end = End::reset;
      break;
  }
  result.text = failure.text;
  return result;
}

}  // namespace

PoolProbe::PoolProbe(boost::asio::io_context& io, net::UpstreamPool& pool, PoolProbeRequest request,
                     Done done)
    : pool_{pool}, request_{std::move(request)}, done_{std::move(done)}, timer_{io} {
  leg_ = std::make_unique<net::H1Leg>(pool, static_cast<net::H2UpstreamUser&>(*this), request_.head,
                                      false, net::H1Leg::Connection::pooled);
  if (leg_->connected()) {
    limit(request_.response_timeout, kResponseTrips);
  } else {
    limit(request_.connect_timeout, kConnectTrips);
  }
}

PoolProbe::~PoolProbe() {
  alive_.end();
}

void PoolProbe::limit(std::chrono::milliseconds allowed, int round_trips) {
  timer_.expires_after(pool_.within(allowed, round_trips));
  timer_.async_wait(
      [this, alive = alive_.watch(), wait = ++waits_](const boost::system::error_code& ec) {
        // A wait that was over may be reported although the timer was set again meanwhile.
        if (!alive.over() && !ec && wait == waits_) on_late();
      });
}

void PoolProbe::on_late() {
  PoolProbeResult result;
  result.end = PoolProbeResult::End::timed_out;
  result.text = leg_ && leg_->connected() ? "no response in time\n" : "no connection in time\n";
  finish(std::move(result));
}

void PoolProbe::on_upstream_sent() {
  limit(request_.response_timeout, kResponseTrips);
}

net::H2UpstreamUser::Body PoolProbe::read_request_body(char* /*to*/, std::size_t /*room*/) {
  return {0, true};
}

const http::HeaderBlock& PoolProbe::request_trailers() const {
  return trailers_;
}

void PoolProbe::on_upstream_data(std::string_view content) {
  if (body_.size() + content.size() > request_.body_max) {
    on_upstream_failed({{Error::upstream_invalid, "the response's body is too long\n"}});
    return;
  }
  body_.append(content);
  leg_->consumed(content.size());
}

void PoolProbe::on_upstream_end() {
  PoolProbeResult result;
  result.status = response_.status;
  result.body = std::move(body_);
  result.sluice_error = response_.fields.find("Sluice-Error");
  finish(std::move(result));
}

void PoolProbe::on_upstream_failed(const net::H2Failure& failure) {
  finish(failed(failure.cause));
}

// May destroy the probe.
void PoolProbe::finish(PoolProbeResult result) {
  timer_.cancel();
  leg_.reset();
  const Done done = std::exchange(done_, {});
  if (done) done(result);
}

}  // namespace sluice::activator
