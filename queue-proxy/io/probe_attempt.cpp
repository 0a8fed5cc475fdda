#include "queue-proxy/io/probe_attempt.h"

#include "common/proto/health_codec.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace sluice::queue_proxy {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr int kRedirectsMax = 10;
constexpr const char* kUserAgent = "kube-probe//";
constexpr std::size_t kHealthBytesMax = 4096;

bool names(const std::vector<std::pair<std::string, std::string>>& fields, std::string_view name) {
  return std::any_of(fields.begin(), fields.end(), [&](const auto& field) {
    return http::equals_ignoring_case(field.first, name);
  });
}

bool is_redirect(int status) {
  return (status >= 301 && status <= 303) || status == 307 || status == 308;
}

}  // namespace

ProbeAttempt::ProbeAttempt(asio::io_context& io, const Loop& loop, const ProbeSpec& spec,
                           const net::Address& user, Done done)
    : io_{io}, loop_{loop}, spec_{spec}, user_{user}, done_{std::move(done)}, timer_{io} {}

ProbeAttempt::~ProbeAttempt() {
  alive_.end();
}

void ProbeAttempt::start(Duration timeout) {
  timeout_ = timeout;
  ends_ = loop_.now() + timeout;
  switch (spec_.kind) {
    case ProbeSpec::Kind::tcp:
      connect();
      break;
    case ProbeSpec::Kind::http:
    case ProbeSpec::Kind::https:
      enter(spec_.detect_http2 ? Stage::h2_bare : Stage::plain);
      break;
    case ProbeSpec::Kind::grpc:
      ask_health();
      break;
    case ProbeSpec::Kind::none:
      asio::post(io_, [this, alive = alive_.watch()] {
        if (!alive.over()) finish(Attempt::failed, spec_.refusal);
      });
      break;
  }
}

void ProbeAttempt::connect() {
  const net::Address address = address_of(spec_.host, spec_.port);
  socket_ = std::make_unique<net::Socket>(io_);
  timer_.expires_after(timeout_);
  timer_.async_wait([this, alive = alive_.watch()](const error_code& ec) {
    error_code ignored;
    if (!alive.over() && !ec) socket_->close(ignored);
  });
  socket_->async_connect(
      net::endpoint_of(address), [this, address, alive = alive_.watch()](const error_code& ec) {
        if (alive.over()) return;
        timer_.cancel();
        error_code ignored;
        socket_->close(ignored);
        if (!ec) return finish(Attempt::passed, {});
        const std::string reason =
            ec == asio::error::operation_aborted ? "i/o timeout" : "connect: " + ec.message();
        finish(Attempt::refused, "dial tcp " + address.text() + ": " + reason);
      });
}

void ProbeAttempt::ask_health() {
  net::H2FetchRequest request;
  request.target = address_of(spec_.host, spec_.port);
  request.method = "POST";
  request.authority = spec_.host + ":" + std::to_string(spec_.port);
  request.path = "/grpc.health.v1.Health/Check";
  request.fields = {
      {"te", "trailers"}, {"content-type", "application/grpc"}, {"user-agent", kUserAgent}};
  request.body = proto::encode_health_check(spec_.service);
  request.timeout = time_left();
  request.body_max = kHealthBytesMax;
  h2_fetch_ = std::make_unique<net::H2Fetch>(
      io_, std::move(request),
      [this](const Result<net::H2FetchResponse>& response) { healthy(response); });
}

void ProbeAttempt::healthy(const Result<net::H2FetchResponse>& response) {
  const auto fail = [&](std::string_view reason) {
    finish(Attempt::failed, "gRPC probe failed: " + std::string{reason});
  };
  if (!response) {
    const bool closed = response.error() == Error::upstream_connect;
    const std::string text = "gRPC probe failed: " + std::string{describe(response.error())};
    return finish(closed ? Attempt::refused : Attempt::failed, text);
  }
  if (response->status != 200) {
    return fail("HTTP status " + std::to_string(response->status));
  }
  // A call that fails at once has its status in the only header block there is.
  const bool has_trailers = response->trailers.size() > 0;
  const auto& fields = has_trailers ? response->trailers : response->fields;
  const std::string status{fields.find("grpc-status")};
  if (status == "12") return fail("this server does not implement grpc.health.v1.Health");
  if (status != "0") {
    return fail("grpc-status " + (status.empty() ? std::string{"missing"} : status));
  }
  const auto health = proto::decode_health(response->body);
  if (!health) return fail("the response is not a HealthCheckResponse");
  if (*health != proto::Health::serving) {
    return fail("service '" + spec_.service + "' is " + std::string{proto::name_of(*health)});
  }
  finish(Attempt::passed, {});
}

void ProbeAttempt::enter(Stage stage) {
  stage_ = stage;
  ends_ = loop_.now() + timeout_;
  redirects_ = 0;
  moved_ = false;
  url_ = ProbeUrl{spec_.kind == ProbeSpec::Kind::https, spec_.host, spec_.port, spec_.path};
  request();
}

void ProbeAttempt::request() {
  const bool h2 = stage_ == Stage::h2_bare || stage_ == Stage::h2_full;
  if (h2 && !url_.secure) {
    request_h2();
  } else {
    request_h1();
  }
}

void ProbeAttempt::request_h1() {
  net::FetchRequest request;
  request.target = address_of(url_.host, url_.port);
  request.timeout = time_left();
  request.head_only = true;
  request.text = "GET " + url_.target + " HTTP/1.1\r\nHost: " + authority() + "\r\n";
  for (const auto& [name, value] : fields()) {
    request.text.append(name).append(": ").append(value).append("\r\n");
  }
  request.text += "Connection: close\r\n\r\n";
  if (url_.secure) {
    // An address is no name to be indicated.
    if (!tls_) {
      tls_ = std::make_shared<TrustingTlsClient>(spec_.host == "localhost" ? spec_.host : "");
    }
    request.tls = tls_;
  }
  fetch_ = std::make_unique<
      net::Fetch>(io_, std::move(request), [this](const net::FetchResult& response) {
    if (!response) return answered(response.error().error);
    answered(Answer{response->head.status, std::string{response->head.fields.find("Location")}});
  });
}

void ProbeAttempt::request_h2() {
  net::H2FetchRequest request;
  request.target = address_of(url_.host, url_.port);
  request.timeout = time_left();
  request.head_only = true;
  request.authority = authority();
  request.path = url_.target;
  request.fields = fields();
  h2_fetch_ = std::make_unique<net::H2Fetch>(
      io_, std::move(request), [this](const Result<net::H2FetchResponse>& response) {
        if (!response) return answered(response.error());
        answered(Answer{response->status, std::string{response->fields.find("Location")}});
      });
}

void ProbeAttempt::answered(const Result<Answer>& answer) {
  if (answer && follow(*answer)) return;
  const bool passed = answer && answer->status >= 200 && answer->status < 400;
  if (stage_ == Stage::h2_bare) {
    // The next request replaces the fetch whose answer this is, which must have returned by then.
    const bool closed = !answer && answer.error() == Error::upstream_connect;
    if (!closed) {
      asio::post(io_,
                 [this, next = passed ? Stage::h2_full : Stage::h1_bare, alive = alive_.watch()] {
                   if (!alive.over()) enter(next);
                 });
      return;
    }
  }
  if (answer) return judge(answer->status);
  const bool closed = answer.error() == Error::upstream_connect;
  finish(closed ? Attempt::refused : Attempt::failed,
         "HTTP probe of " + url_.authority(true) + url_.target +
             " failed: " + std::string{describe(answer.error())});
}

void ProbeAttempt::judge(int status) {
  const bool passed = status >= 200 && status < 400;
  if (!passed) {
    return finish(Attempt::failed,
                  "HTTP probe did not respond Ready, got status code: " + std::to_string(status));
  }
  finish(Attempt::passed, {});
}

// Whether the answer leads on, or has been dealt with here.
bool ProbeAttempt::follow(const Answer& answer) {
  if (!is_redirect(answer.status) || answer.location.empty()) return false;
  const auto redirect = resolve_redirect(url_, answer.location);
  std::string problem;
  if (!redirect) problem = "HTTP probe failed: it redirects to a URL that is not HTTP";
  if (redirect && ++redirects_ > kRedirectsMax) {
    problem = "HTTP probe failed: stopped after " + std::to_string(kRedirectsMax) + " redirects";
  }
  if (!problem.empty()) {
    if (stage_ == Stage::h2_bare) return false;  // the status itself is good enough
    finish(Attempt::failed, problem);
    return true;
  }
  if (!http::equals_ignoring_case(redirect->url.host, spec_.host)) {
    if (stage_ == Stage::h2_bare) return false;
    finish(Attempt::passed, "HTTP probe was redirected to another host, taken as ready");
    return true;
  }
  url_ = redirect->url;
  moved_ = moved_ || redirect->names_host;
  asio::post(io_, [this, alive = alive_.watch()] {
    if (!alive.over()) request();
  });
  return true;
}

void ProbeAttempt::finish(Attempt outcome, std::string text) {
  // A copy: the report may lead to whatever its receiver does.
  const Done done = done_;
  done(AttemptReport{outcome, std::move(text)});
}

net::Address ProbeAttempt::address_of(const std::string& host, std::uint16_t port) const {
  if (user_.is_unix()) return user_;
  const bool v6 = host.find(':') != std::string::npos;
  const std::string name = v6 ? "[" + host + "]" : host;
  // Hosts were judged when the settings were read, and redirects stay on them.
  auto address = net::parse_address(name + ":" + std::to_string(port));
  return address ? *address : net::Address{"127.0.0.1", port, ""};
}

bool ProbeAttempt::bare() const {
  return stage_ == Stage::h2_bare || stage_ == Stage::h1_bare;
}

std::string ProbeAttempt::authority() const {
  if (moved_) return url_.authority(false);
  if (!bare() && !spec_.host_header.empty()) return spec_.host_header;
  return url_.authority(true);
}

std::vector<std::pair<std::string, std::string>> ProbeAttempt::fields() const {
  std::vector<std::pair<std::string, std::string>> fields;
  const auto& own = spec_.headers;
  if (bare() || !names(own, "user-agent")) fields.emplace_back("User-Agent", kUserAgent);
  if (bare() || !names(own, "accept")) fields.emplace_back("Accept", "*/*");
  if (!bare()) fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

std::chrono::milliseconds ProbeAttempt::time_left() const {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(ends_ - loop_.now());
  return std::max(milliseconds{1}, left);
}

}  // namespace sluice::queue_proxy
