#include "queue-proxy/io/proxy_gateway.h"

#include "common/http/head_check.h"
#include "common/http/own_response.h"

#include <algorithm>

namespace sluice::queue_proxy {

using http::Known;

struct ProxyGateway::State final : net::ExchangeState {
  bool active = false;    // no probe that is answered here
  bool counted = false;   // in the statistics
  bool proxied = false;   // by an activator
  bool admitted = false;  // holds a slot of the breaker
  bool queued = false;    // waits for one
  bool probing = false;   // waits for the user process's readiness
  bool bypass = false;    // a kubelet's probe on its way past breaker and statistics
  bool probe = false;     // of any kind: not measured, and logged only when asked for
  bool bounded = false;   // met the breaker
  Duration waited{};      // for a slot
  breaker::Ticket ticket;
};

namespace {

net::UpstreamLimits pool_limits(const Config& config) {
  net::UpstreamLimits limits;
  if (config.container_concurrency > 0) {
    limits.idle_max = static_cast<std::size_t>(config.container_concurrency);
  }
  limits.head_bytes_max = config.limits.head_bytes_max;
  limits.fields_max = config.limits.fields_max;
  return limits;
}

std::optional<breaker::Breaker> make_breaker(const Config& config) {
  if (config.container_concurrency < 1) return std::nullopt;
  return breaker::Breaker{{config.container_concurrency, std::max(1, config.queue_depth)}};
}

Cause cause_of(Error error) {
  switch (error) {
    case Error::queue_full:
      return Cause::queue_full;
    case Error::queue_wait:
      return Cause::queue_wait;
    case Error::deadline_exceeded:
      return Cause::timeout_max;
    case Error::draining:
      return Cause::draining;
    case Error::not_ready:
      return Cause::not_ready;
    case Error::bad_request:
      return Cause::bad_request;
    case Error::too_large:
      return Cause::too_large;
    case Error::upstream_connect:
      return Cause::upstream_connect;
    case Error::upstream_reset:
      return Cause::upstream_reset;
    case Error::upstream_invalid:
      return Cause::upstream_invalid;
    case Error::client_gone:
      return Cause::client_gone;
    case Error::cannot_scale:
    case Error::start_failed:
    case Error::no_route:
    case Error::io_failed:
    case Error::invalid_config:
      break;
  }
  return Cause::other;
}

Cause cause_of(const net::Outcome& outcome) {
  // A tunnel ends when one of its ends does; neither failed.
  const bool tunnel = outcome.status == 101;
  switch (outcome.end) {
    case net::Outcome::End::answered:
      return Cause::none;
    case net::Outcome::End::client_gone:
      return tunnel ? Cause::none : Cause::client_gone;
    case net::Outcome::End::own:
      return outcome.error ? cause_of(*outcome.error) : Cause::none;
    case net::Outcome::End::aborted:
      if (tunnel) return Cause::none;
      return outcome.error == Error::bad_request ? Cause::bad_request : Cause::container_aborted;
    case net::Outcome::End::timed_out:
      break;
  }
  switch (outcome.timer) {
    case net::Timer::response_start:
      return Cause::timeout_response_start;
    case net::Timer::idle:
      return Cause::timeout_idle;
    case net::Timer::header:
      return Cause::timeout_header;
    case net::Timer::body:
      return Cause::timeout_body;
    case net::Timer::write:
      return tunnel ? Cause::none : Cause::client_gone;
    case net::Timer::none:
    case net::Timer::max:
      break;
  }
  return Cause::timeout_max;
}

}  // namespace

ProxyGateway::ProxyGateway(boost::asio::io_context& io, const Clock& clock, const Config& config,
                           UserProbe& probe, Drain& drain, Telemetry& telemetry)
    : clock_{clock},
      config_{config},
      original_host_{config.original_host, config.revision, config.space},
      ignored_{config.ignore_paths, config.ignore_user_agents},
      probe_{probe},
      drain_{drain},
      telemetry_{telemetry},
      pool_{io, config.user, pool_limits(config)},
      stats_{clock.now()},
      breaker_{make_breaker(config)},
      expiry_timer_{io} {}

std::unique_ptr<net::ExchangeState> ProxyGateway::make_state() {
  return std::make_unique<State>();
}

// A probe that fails says why as every refusal does, but is never asked to come again later: its
// sender has a period of its own.
http::OwnResponse ProxyGateway::probe_response(const http::ProbeAnswer& answer) const {
  http::OwnResponse response = http::plain_response(answer.status, answer.body);
  if (answer.status == 503) response.sluice_error = drain_.draining() ? "draining" : "not-ready";
  if (answer.status == 400) response.sluice_error = "bad-request";
  if (!response.sluice_error.empty()) response.sluice_error.append("; at=").append(place());
  return response;
}

ProxyGateway::State& ProxyGateway::state_of(net::Exchange& exchange) {
  return static_cast<State&>(exchange.state());
}

void ProxyGateway::begin(net::Exchange& exchange) {
  State& state = state_of(exchange);
  state = State{};
  const http::RequestHead& head = exchange.request();
  switch (http::classify_probe(head)) {
    case http::ProbeKind::health:
      state.probe = true;
      answer_health(exchange);
      return;
    case http::ProbeKind::network: {
      state.probe = true;
      const http::ProbeAnswer answer = http::network_answer(head, drain_.draining());
      http::OwnResponse response = probe_response(answer);
      if (!answer.hash.empty()) response.extra = "K-Network-Hash: " + answer.hash + "\r\n";
      exchange.respond(response);
      return;
    }
    case http::ProbeKind::none:
      break;
  }
  drain_.arrived(exchange.arrived());
  ++active_;
  state.active = true;
  state.bypass = may_bypass(exchange);
  state.probe = state.bypass || head.fields.has(Known::k_network_probe);
  if (!state.probe) telemetry_.enter(head, exchange.secure());
  if (!state.bypass && !ignored_.match(head)) {
    state.counted = true;
    state.proxied = head.fields.get(Known::k_proxy_request) == "activator";
    if (state.proxied) {
      stats_.proxied_in(exchange.arrived());
    } else {
      stats_.in(exchange.arrived());
    }
  }
  if (head.method == "CONNECT") {
    http::OwnResponse refusal =
        http::response_for(Error::bad_request, "CONNECT is not supported\n");
    refusal.status = 405;
    refusal.extra = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE\r\n";
    exchange.respond(refusal);
    return;
  }
  // It becomes the Host that the container sees.
  const bool renamed = original_host_.trusts(head.fields);
  if (renamed && !http::is_host(head.fields.get(Known::k_original_host))) {
    exchange.respond(http::response_for(Error::bad_request, {}, "field=K-Original-Host"));
    return;
  }
  const bool older = config_.observability.contract == settings::KnativeContract::older;
  exchange.set_timeouts({config_.timeout, config_.response_start, config_.idle, older});
  if (state.bypass) {
    send(exchange);
  } else {
    admit(exchange);
  }
}

// A header that any client can send must not open a way past the limits: it counts only from this
// host's network or the node, and never on a request that an activator passed on (queue-proxy.md
// 15.16).
bool ProxyGateway::may_bypass(const net::Exchange& exchange) const {
  const http::RequestHead& head = exchange.request();
  if (head.fields.get(Known::k_kubelet_probe).empty()) return false;
  if (!head.fields.get(Known::k_proxy_request).empty()) return false;
  const std::vector<std::string>& node = config_.node_addresses;
  return exchange.peer_is_local() ||
         std::find(node.begin(), node.end(), exchange.peer_ip()) != node.end();
}

void ProxyGateway::answer_health(net::Exchange& exchange) {
  const http::RequestHead& head = exchange.request();
  if (!http::health_needs_probe(head, drain_.draining())) {
    const http::ProbeAnswer answer = http::health_answer(head, drain_.draining(), false);
    exchange.respond(probe_response(answer));
    return;
  }
  state_of(exchange).probing = true;
  probing_.push_back(&exchange);
  exchange.hold();
  if (probing_.size() == 1) probe_.ask([this](bool ready) { health_known(ready); });
}

void ProxyGateway::health_known(bool ready) {
  const std::vector<net::Exchange*> asked = std::move(probing_);
  probing_.clear();
  for (net::Exchange* exchange : asked) {
    state_of(*exchange).probing = false;
    const http::ProbeAnswer answer =
        http::health_answer(exchange->request(), drain_.draining(), ready);
    exchange->respond(probe_response(answer));
  }
}

void ProxyGateway::admit(net::Exchange& exchange) {
  if (!breaker_) {
    send(exchange);
    return;
  }
  State& state = state_of(exchange);
  state.bounded = true;
  const breaker::Entered entered = breaker_->enter(exchange.arrived());
  switch (entered.entry) {
    case breaker::Entry::admitted:
      state.admitted = true;
      send(exchange);
      return;
    case breaker::Entry::refused:
      exchange.respond(http::response_for(Error::queue_full));
      return;
    case breaker::Entry::queued:
      state.queued = true;
      state.ticket = entered.ticket;
      if (waiters_.size() <= entered.ticket.index) waiters_.resize(entered.ticket.index + 1U);
      waiters_[entered.ticket.index] = &exchange;
      exchange.hold();
      arm_expiry();
      return;
  }
}

void ProxyGateway::send(net::Exchange& exchange) {
  const State& state = state_of(exchange);
  http::RequestRewrite rewrite;
  rewrite.peer_ip = exchange.peer_ip();
  if (!state.bypass) {
    const bool renamed = original_host_.trusts(exchange.request().fields);
    rewrite.original_host = renamed ? http::OriginalHost::restored : http::OriginalHost::dropped;
  }
  rewrite.derive_forwarded = true;
  rewrite.drop_kubelet_probe = !state.bypass;
  exchange.forward(pool_, rewrite);
}

bool ProxyGateway::upstream_failed(net::Exchange& /*exchange*/,
                                   const net::ConnectFailure& /*failure*/) {
  return false;
}

net::ResponseVerdict ProxyGateway::response(net::Exchange& /*exchange*/,
                                            const http::ResponseHead& head, std::string& extra) {
  if (!head.fields.get(Known::sluice_error).empty()) {
    extra.append(http::kSluiceErrorFrom).append(": application\r\n");
  }
  return net::ResponseVerdict::forward;
}

void ProxyGateway::explain(net::Exchange& exchange, http::OwnResponse& response) {
  std::string& sluice_error = response.sluice_error;
  const State& state = state_of(exchange);
  const Duration waited = state.queued ? clock_.now() - exchange.arrived() : state.waited;
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  sluice_error.append("; queued=").append(std::to_string(milliseconds)).append("ms");
  if (sluice_error.find("; at=") == std::string::npos) {
    sluice_error.append("; at=").append(place());
  }
}

void ProxyGateway::end(net::Exchange& exchange, const net::Outcome& outcome) {
  State state = state_of(exchange);
  state_of(exchange) = State{};
  if (state.probing) std::erase(probing_, &exchange);
  const TimePoint now = clock_.now();
  if (state.queued) state.waited = now - exchange.arrived();
  record(exchange, state, outcome, now);
  if (state.counted) {
    if (state.proxied) {
      stats_.proxied_out(now);
    } else {
      stats_.out(now);
    }
  }
  if (state.active) --active_;
  if (state.queued) breaker_->cancel(state.ticket);
  if (state.admitted) leave_breaker(now);
  if (active_ == 0 && idle_) idle_();
}

// No request for the breaker, the statistics or the drain; metrics and the log know of it, without
// the words of a head that could not be read.
void ProxyGateway::refused(net::Exchange& exchange, const net::Outcome& outcome) {
  const Cause cause = cause_of(outcome);
  http::RequestHead unread;
  unread.version_major = exchange.request().version_major;
  unread.version_minor = unread.version_major == 2 ? 0 : 1;
  telemetry_.enter(unread, exchange.secure());
  telemetry_.leave({.head = unread,
                    .peer_ip = exchange.peer_ip(),
                    .secure = exchange.secure(),
                    .cause = cause,
                    .status = recorded_status(outcome.status, cause),
                    .response_bytes = exchange.traffic().response_bytes},
                   clock_.now());
}

void ProxyGateway::record(net::Exchange& exchange, const State& state, const net::Outcome& outcome,
                          TimePoint now) {
  const Cause cause = cause_of(outcome);
  const net::Traffic& traffic = exchange.traffic();
  RequestRecord record{.head = exchange.request(),
                       .peer_ip = exchange.peer_ip(),
                       .secure = exchange.secure(),
                       .bounded = state.bounded,
                       .cause = cause,
                       .status = recorded_status(outcome.status, cause),
                       .latency = now - exchange.arrived(),
                       .queued = state.waited,
                       .request_bytes = traffic.request_bytes,
                       .response_bytes = traffic.response_bytes};
  if (traffic.dispatched != TimePoint{}) record.app = now - traffic.dispatched;
  if (state.probe) {
    telemetry_.probed(record);
  } else {
    telemetry_.leave(record, now);
  }
}

std::optional<QueueLoad> ProxyGateway::queue_load() const {
  if (!breaker_) return std::nullopt;
  return QueueLoad{breaker_->running(), breaker_->waiting(), breaker_->capacity()};
}

void ProxyGateway::leave_breaker(TimePoint now) {
  const auto next = breaker_->leave();
  if (!next) return;
  net::Exchange& exchange = *waiters_[next->index];
  State& state = state_of(exchange);
  state.queued = false;
  state.admitted = true;
  state.waited = now - exchange.arrived();
  send(exchange);
}

void ProxyGateway::arm_expiry() {
  if (config_.queue_wait == Duration{0} || expiry_armed_) return;
  const auto oldest = breaker_->oldest_waiting();
  if (!oldest) return;
  expiry_armed_ = true;
  expiry_timer_.expires_after(std::max(Duration{0}, *oldest + config_.queue_wait - clock_.now()));
  expiry_timer_.async_wait([this](const boost::system::error_code& ec) {
    expiry_armed_ = false;
    if (!ec) expire_waiters();
  });
}

void ProxyGateway::expire_waiters() {
  while (const auto expired = breaker_->expire(clock_.now(), config_.queue_wait)) {
    net::Exchange& exchange = *waiters_[expired->index];
    state_of(exchange).queued = false;
    state_of(exchange).waited = clock_.now() - exchange.arrived();
    exchange.respond(http::response_for(Error::queue_wait));
  }
  arm_expiry();
}

}  // namespace sluice::queue_proxy
