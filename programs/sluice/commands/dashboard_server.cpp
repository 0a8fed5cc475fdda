#include "programs/sluice/commands/dashboard_server.h"

#include "common/api/door_fields.h"
#include "common/base/version.h"
#include "common/http/forwarding.h"

#include "programs/sluice/commands/dashboard_rules.h"
#include <unistd.h>
#include <utility>

namespace sluice::commands {
namespace {

constexpr std::string_view kLoopback = "127.0.0.1";
constexpr std::size_t kConnectionsMost = 128;
constexpr std::size_t kHeadBytesMost = 64 << 10;
constexpr std::size_t kIdleMost = 8;
// A stream of the autoscaler is never silent for longer than 15 s.
constexpr Duration kSilence = std::chrono::seconds{45};
constexpr Duration kFirstByte = std::chrono::seconds{30};
constexpr std::chrono::milliseconds kConnect{5000};

net::ServerLimits server_limits() {
  net::ServerLimits limits;
  limits.head_bytes_max = kHeadBytesMost;
  limits.connections_max = kConnectionsMost;
  return limits;
}

net::UpstreamLimits upstream_limits() {
  net::UpstreamLimits limits;
  limits.idle_max = kIdleMost;
  limits.connect_timeout = kConnect;
  limits.h1_only = true;
  return limits;
}

http::OwnResponse refusal(const http::ApiProblem& problem) {
  http::ApiAnswer answer = http::problem_answer(problem);
  http::OwnResponse response = http::plain_response(answer.status, std::move(answer.body));
  response.content_type = std::move(answer.content_type);
  response.extra = api::door_lines();
  return response;
}

bool is_own_user(net::Exchange& exchange) {
  const auto user = exchange.peer_user();
  return user && (*user == ::geteuid() || *user == 0);
}

}  // namespace

struct DashboardServer::State final : net::ExchangeState {
  std::string target;     // at the API server
  std::size_t tried = 0;  // addresses of it
};

DashboardServer::DashboardServer(boost::asio::io_context& io, const Clock& clock,
                                 const log::Logger& log, PersonAccess person,
                                 std::unique_ptr<kube::ServerTls> tls,
                                 const std::vector<net::Address>& servers, std::string space)
    : OwnGateway{"sluice dashboard"},
      clock_{clock},
      access_{std::move(person.access)},
      tls_{std::move(tls)},
      bearer_{access_, log},
      space_{std::move(space)},
      host_{kube::authority_of(access_)},
      below_{access_.path_prefix + proxy_path(space_)},
      server_{io, clock, *this, server_limits()} {
  if (access_.plugin && !access_.token.empty()) {
    plugin_.emplace(io, clock, log, *access_.plugin, person.expires,
                    [this](const std::string& token) { bearer_.replace(token); });
  }
  for (const net::Address& address : servers) {
    pools_.push_back(std::make_unique<net::UpstreamPool>(
        io, address, upstream_limits(), net::UpstreamTls{.h1 = tls_.get(), .h2 = nullptr}));
  }
}

DashboardServer::~DashboardServer() {
  server_.close_all();
}

Result<net::Address, Problem> DashboardServer::listen(std::uint16_t port) {
  return server_.listen({.host = std::string{kLoopback}, .port = port, .path = {}});
}

std::unique_ptr<net::ExchangeState> DashboardServer::make_state() {
  return std::make_unique<State>();
}

void DashboardServer::begin(net::Exchange& exchange) {
  const http::RequestHead& head = exchange.request();
  const auto target = passed_target(
      {.method = head.method,
       .authority = head.fields.get(http::Known::host),
       .target = head.target,
       .own_user = is_own_user(exchange),
       .plain = head.framing == http::Framing::none && http::asked_protocol(head).empty()});
  if (!target) return exchange.respond(refusal(target.error()));
  exchange.set_timeouts({.max = {}, .response_start = kFirstByte, .idle = kSilence});
  State& state = static_cast<State&>(exchange.state());
  state.target = below_ + *target;
  state.tried = 0;
  pass_on(exchange);
}

void DashboardServer::pass_on(net::Exchange& exchange) {
  State& state = static_cast<State&>(exchange.state());
  ++state.tried;
  if (plugin_) plugin_->used();
  std::string more = "User-Agent: sluice/" + std::string{kVersion} + "\r\n";
  if (const std::string& token = bearer_.token(clock_.now()); !token.empty())
    more.append("Authorization: Bearer ").append(token).append("\r\n");
  http::RequestRewrite rewrite;
  rewrite.host = host_;
  rewrite.target = state.target;
  rewrite.only = passed_fields();
  rewrite.more = more;
  exchange.forward(*pools_[current_], rewrite);
}

bool DashboardServer::upstream_failed(net::Exchange& exchange, const net::ConnectFailure& failure) {
  if (failure.error == Error::upstream_connect &&
      static_cast<State&>(exchange.state()).tried < pools_.size()) {
    current_ = (current_ + 1) % pools_.size();
    pass_on(exchange);
    return true;
  }
  exchange.respond(refusal(
      {502, "unreachable", "API server unreachable",
       "the API server cannot be reached: " + failure.text.substr(0, failure.text.find('\n')),
       "start sluice dashboard again if its address is another one now"}));
  return true;
}

// Whatever the autoscaler answers has the policy of a page; what another program answers has no
// place in this one.
net::ResponseVerdict DashboardServer::response(net::Exchange& exchange,
                                               const http::ResponseHead& head,
                                               std::string& /*extra*/) {
  const std::string_view policy = api::door_fields().front().name;
  if (!head.fields.find(policy).empty()) return net::ResponseVerdict::forward;
  if (head.status == 401) bearer_.refused();
  if (head.status == 401 && plugin_) plugin_->refused();
  exchange.respond(refusal(no_answer_of_autoscaler(head.status, space_)));
  return net::ResponseVerdict::retried;
}

void DashboardServer::explain(net::Exchange& /*exchange*/, http::OwnResponse& response) {
  response.extra.append(api::door_lines());
}

std::string_view DashboardServer::timeout_text() const {
  return "the API server did not answer in time";
}

}  // namespace sluice::commands
