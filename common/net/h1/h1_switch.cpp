// How a connection that began as HTTP/1 becomes one of HTTP/2: by its very first bytes, or by a
// request that asks for h2c (queue-proxy.md 9).

#include "common/net/h1/h1_exchange.h"
#include "common/net/h2/h2_connection.h"
#include "common/net/server/proxy_server.h"

#include <boost/beast/core/detail/base64.hpp>

#include <algorithm>

namespace sluice::net {

namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t kSettingsMax = 1024;  // of HTTP2-Settings

// Empty unless every character counts.
bool is_base64url(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
  });
}

std::string decode_base64url(std::string text) {
  for (char& c : text) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  namespace base64 = boost::beast::detail::base64;
  std::string bytes(base64::decoded_size(text.size()) + 3, '\0');
  const auto [written, read] = base64::decode(bytes.data(), text.data(), text.size());
  bytes.resize(read == text.size() ? written : 0);
  return bytes;
}

}  // namespace

// Whether what has arrived is the client's preface of HTTP/2, or may still become it.
bool H1Exchange::may_be_h2() const {
  return fresh_ && kPreface.starts_with(in_.data().substr(0, kPreface.size()));
}

void H1Exchange::become_h2() {
  const std::string first{in_.data()};
  in_.consume(in_.size());
  hand_over(std::make_unique<H2Connection>(server_, std::move(stream_), first));
}

// Whatever still points here ends; the socket lives on in its successor.
void H1Exchange::hand_over(std::unique_ptr<Connection> successor) {
  unwatch();
  server_.heads_.close(*this);
  phase_ = Phase::closed;
  timer_.cancel();
  server_.add(std::move(successor));
  release_if_done();
}

bool H1Exchange::try_h2() {
  if (!may_be_h2()) {
    fresh_ = false;
    return false;
  }
  if (in_.size() >= kPreface.size()) {
    become_h2();
  } else {
    server_.heads_.open(*this, server_.clock_.now());
  }
  return true;
}

bool H1Exchange::wants_h2c() const {
  using http::Known;
  if (head_.version_minor != 1 || !head_.fields.has(Known::upgrade) || stream_.encrypted()) {
    return false;
  }
  const std::string_view connection = head_.fields.get(Known::connection);
  const std::string_view settings = head_.fields.find("HTTP2-Settings");
  return http::list_contains(head_.fields.get(Known::upgrade), "h2c") &&
         http::list_contains(connection, "upgrade") &&
         http::list_contains(connection, "http2-settings") && is_base64url(settings) &&
         settings.size() <= kSettingsMax;
}

// The whole body comes before the switch; it is kept in memory and therefore small.
void H1Exchange::begin_switch() {
  phase_ = Phase::switching;
  decoded_.clear();
  const TimePoint now = server_.clock_.now();
  server_.heads_.open(*this, now);
  head_due_ = now + server_.limits_.head_timeout;
  arm_timer();
  if (expects_continue() && !parser_.done() && in_.empty() &&
      !write_client("HTTP/1.1 100 Continue\r\n\r\n", {})) {
    if (phase_ == Phase::switching) leave();
    return;
  }
  continue_switch();
}

void H1Exchange::continue_switch() {
  if (!parser_.done() && !in_.empty()) {
    const http::Fed fed = parser_.feed_body(in_.data(), &decoded_);
    in_.consume(fed.used);
    if (fed.state == http::Fed::State::bad) {
      answer(http::response_for(Error::bad_request, {}, fed.why));
      return;
    }
  }
  if (decoded_.size() > server_.limits_.upgrade_body_max) {
    http::OwnResponse refusal = http::response_for(
        Error::too_large, "request body too large for an upgrade to h2c\n", "limit=upgrade-body");
    refusal.status = 413;
    answer(refusal);
    return;
  }
  if (!server_.heads_.grow(*this, memory())) {
    answer(open_heads_full());
    return;
  }
  if (!parser_.done()) {
    want_client_read();
    return;
  }
  http::RequestHead head = head_;
  if (head.framing == http::Framing::chunked) head.framing = http::Framing::length;
  if (head.framing == http::Framing::length) head.content_length = decoded_.size();
  const std::string settings = decode_base64url(std::string{head_.fields.find("HTTP2-Settings")});
  auto successor = std::make_unique<H2Connection>(server_, std::move(stream_), in_.data());
  if (settings.empty() || !successor->upgrade(settings, std::move(head), decoded_)) {
    stream_ = successor->reclaim();
    answer(http::response_for(Error::bad_request, {}, "field=HTTP2-Settings"));
    return;
  }
  in_.consume(in_.size());
  hand_over(std::move(successor));
}

}  // namespace sluice::net
