// The way of a response to its client. The pump moves bytes through the upstream's own buffer:
// read, let the parser find the end, write the same bytes, use them up. It waits for its writer, so
// a slow client slows the upstream, and memory stays bounded whatever the body's size.

#include "common/net/h1/h1_exchange.h"
#include "common/net/server/proxy_server.h"

#include <boost/asio/buffer.hpp>

#include <charconv>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// `why`: `reason=bare-lf`, say.
std::string malformed_text(std::string_view why) {
  std::string text = "malformed HTTP response";
  if (!why.empty()) text.append(": ").append(why.substr(why.find('=') + 1));
  return text + "\n";
}

void append_chunk(std::string& out, std::string_view content) {
  if (content.empty()) return;
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, content.size(), 16).ptr);
  out.append("\r\n").append(content).append("\r\n");
}

}  // namespace

void H1Exchange::on_upstream_read(bool /*ended*/) {
  if (phase_ == Phase::tunnel) {
    pump_to_client();
  } else if (response_done_) {
    finish();  // it stops reading the request, or sends out of turn
  } else {
    pump_response();
  }
}

void H1Exchange::pump_response() {
  while (phase_ == Phase::relaying && !client_writing_ && !response_done_) {
    const bool more = response_head_done_ ? relay_body() : take_response_head();
    if (!more) return;
  }
}

bool H1Exchange::take_response_head() {
  Upstream& upstream = *upstream_;
  http::Fed fed;
  if (!upstream.in.empty()) fed = upstream.parser.feed_head(upstream.in.data(), response_);
  switch (fed.state) {
    case http::Fed::State::need_more:
      upstream.in.consume(fed.used);
      if (upstream.ended()) {
        upstream_lost(Error::upstream_reset, "EOF\n");
        return false;
      }
      upstream.in.compact();
      if (upstream.in.room() == 0) upstream.in.reserve(upstream.in.capacity() * 2);
      upstream.want_read();
      return false;
    case http::Fed::State::bad:
    case http::Fed::State::too_large:
      upstream_lost(Error::upstream_invalid, malformed_text(fed.why));
      return false;
    case http::Fed::State::done:
      break;
  }
  upstream.in.consume(fed.used);
  if (response_.status == 101) return take_switch();
  if (response_.status < 200) return relay_interim();
  extra_.clear();
  if (server_.gateway_.response(*this, response_, extra_) == ResponseVerdict::retried) {
    return false;
  }
  const bool old_client = head_.version_minor == 0;
  response_rewrite_.body = http::ResponseBody::as_is;
  if (response_.framing == http::Framing::until_close) {
    response_rewrite_.body =
        old_client ? http::ResponseBody::to_close : http::ResponseBody::chunked;
  } else if (response_.framing == http::Framing::chunked && old_client) {
    response_rewrite_.body = http::ResponseBody::to_close;
  }
  // A client that was refused without a 100 need not send its body, so the next bytes on its
  // connection would be ambiguous.
  closing_after_ = !head_.keep_alive || server_.ends_connections() || client_ended_ ||
                   awaits_continue() || response_rewrite_.body == http::ResponseBody::to_close;
  response_rewrite_.keep_alive = !closing_after_;
  response_rewrite_.client_minor = head_.version_minor;
  response_rewrite_.extra = extra_;
  out_.clear();
  http::write_response_head(out_, response_, response_rewrite_);
  response_head_done_ = true;
  return true;
}

// A 1xx is passed on unchanged, and the final status is the one that the upstream sends later.
bool H1Exchange::relay_interim() {
  upstream_->parser.reset(head_.method == "HEAD");
  expect_due_ = {};
  if (head_.version_minor == 0 || (response_.status == 100 && continued_)) return true;
  interim_sent_ = true;
  out_.clear();
  http::write_response_head(out_, response_, {});
  if (!write_client(out_, {})) return false;
  out_.clear();
  return phase_ == Phase::relaying;
}

// A 101 ends HTTP on both connections, if the client asked for that protocol.
bool H1Exchange::take_switch() {
  const std::string_view asked = http::asked_protocol(head_);
  if (!http::switches_as_asked(response_, asked)) {
    std::string text = "the service switched protocols without a request to do so\n";
    if (!asked.empty()) {
      text = "the service switched to another protocol than the requested one, ";
      text.append(asked).append("\n");
    }
    upstream_lost(Error::upstream_invalid, std::move(text));
    return false;
  }
  extra_.clear();
  if (server_.gateway_.response(*this, response_, extra_) == ResponseVerdict::forward) {
    begin_tunnel(http::equals_ignoring_case(asked, "websocket"));
  }
  return false;
}

// The next part of a body that is passed on with its framing. The bytes before an extension, which
// is dropped, are kept in out_ and sent together with those behind it.
http::Fed H1Exchange::next_piece() {
  Upstream& upstream = *upstream_;
  http::Fed fed = upstream.parser.relay_body(upstream.in.data());
  while (fed.state == http::Fed::State::need_more && fed.used < upstream.in.size()) {
    out_.append(upstream.in.data().substr(0, fed.used));
    upstream.in.consume(fed.used + fed.dropped);
    fed = upstream.parser.relay_body(upstream.in.data());
  }
  return fed;
}

bool H1Exchange::relay_body() {
  Upstream& upstream = *upstream_;
  const bool as_is = response_rewrite_.body == http::ResponseBody::as_is;
  std::size_t used = 0;
  decoded_.clear();
  if (!upstream.parser.done() && !upstream.in.empty()) {
    const http::Fed fed =
        as_is ? next_piece() : upstream.parser.feed_body(upstream.in.data(), &decoded_);
    if (fed.state == http::Fed::State::bad) {
      lose_body(Error::upstream_invalid, malformed_text(fed.why));
      return false;
    }
    used = fed.used;
  }
  const bool ended = !upstream.parser.done() && upstream.ended();
  const bool cut = ended && (upstream.failed() || !upstream.parser.finish_at_close());
  if (cut && used == 0) {
    lose_body(Error::upstream_reset, "EOF\n");
    return false;
  }
  if (response_rewrite_.body == http::ResponseBody::chunked) {
    append_chunk(out_, decoded_);
    if (ended && !cut) out_.append("0\r\n\r\n");
  }
  std::string_view body = as_is ? upstream.in.data().substr(0, used) : std::string_view{};
  if (response_rewrite_.body == http::ResponseBody::to_close) body = decoded_;
  if (cut) {
    // What came goes out first: the client sees how far the upstream got, and no end.
    if (!out_.empty() || !body.empty()) write_client(out_, body);
    if (phase_ == Phase::relaying) lose_body(Error::upstream_reset, {});
    return false;
  }
  if (out_.empty() && body.empty()) return await_body(used);
  consume_after_write_ = used;
  if (!write_client(out_, body)) return false;
  client_written();
  return false;
}

// The body is broken. As long as no byte of the response was sent, the client can get an error.
void H1Exchange::lose_body(Error error, std::string text) {
  if (response_begun_) {
    abort({Outcome::End::aborted, 0, error, Timer::none});
    return;
  }
  out_.clear();
  response_head_done_ = false;
  detach_upstream(false);
  tell_lost({error, std::move(text), false});
}

// Nothing to write now.
bool H1Exchange::await_body(std::size_t used) {
  Upstream& upstream = *upstream_;
  upstream.in.consume(used);
  if (upstream.parser.done()) {
    response_complete();
  } else {
    upstream.want_read();
  }
  return false;
}

// The client has the whole response. The upload may still continue: full duplex is the request's
// right as long as the upstream takes it.
void H1Exchange::response_complete() {
  const Upstream& upstream = *upstream_;
  const bool client_sends = parser_.done() || (!client_ended_ && !awaits_continue());
  if (request_done_ || !client_sends || !response_.keep_alive || upstream.ended() ||
      !upstream.in.empty()) {
    finish();
    return;
  }
  response_done_ = true;
  linger_due_ = server_.clock_.now() + server_.limits_.upload_patience;
  arm_timer();
  upstream_->want_read();
}

// Returns whether everything is out. False: the rest follows, or the client is gone.
bool H1Exchange::write_client(std::string_view first, std::string_view second) {
  if (first.empty()) std::swap(first, second);
  bool would_block = false;
  if (response_head_done_ || phase_ == Phase::answering) response_begun_ = true;
  if (timers_.watch_idle()) timers_.moved(server_.clock_.now());
  const long sent = stream_.write_now(first, second, would_block);
  if (sent < 0) {
    leave();
    return false;
  }
  if (!would_block) return true;
  const auto done = static_cast<std::size_t>(sent);
  const std::size_t of_first = std::min(done, first.size());
  client_first_ = first.substr(of_first);
  client_second_ = second.substr(done - of_first);
  client_writing_ = true;
  note_write_progress();
  continue_client_write();
  return false;
}

// The time within which the client has to take more of what waits for it, if there is such a limit.
void H1Exchange::note_write_progress() {
  const Duration limit = server_.limits_.write_timeout;
  if (limit == Duration{0}) return;
  write_due_ = server_.clock_.now() + limit;
  arm_timer();
}

void H1Exchange::continue_client_write() {
  ++operations_;
  const std::array<asio::const_buffer, 2> parts{
      asio::const_buffer{client_first_.data(), client_first_.size()},
      asio::const_buffer{client_second_.data(), client_second_.size()}};
  stream_.async_write_some(parts, [this](const error_code& ec, std::size_t bytes) {
    --operations_;
    if (phase_ == Phase::closed) {
      release_if_done();
      return;
    }
    if (ec) {
      client_writing_ = false;
      leave();
      return;
    }
    if (timers_.watch_idle()) timers_.moved(server_.clock_.now());
    const std::size_t of_first = std::min(bytes, client_first_.size());
    client_first_.remove_prefix(of_first);
    client_second_.remove_prefix(bytes - of_first);
    if (!client_first_.empty() || !client_second_.empty()) {
      note_write_progress();
      continue_client_write();
      return;
    }
    client_writing_ = false;
    client_written();
  });
}

void H1Exchange::client_written() {
  out_.clear();
  if (phase_ == Phase::answering) {
    if (closing_after_) {
      close_gently();
    } else {
      next_request();
    }
    return;
  }
  if (phase_ == Phase::tunnel) {
    sent_to_client();
    pump_to_client();
    return;
  }
  if (phase_ != Phase::relaying) return;
  if (response_head_done_) {
    Upstream& upstream = *upstream_;
    const bool was_full = upstream.in.room() == 0 && consume_after_write_ > 0;
    upstream.in.consume(consume_after_write_);
    consume_after_write_ = 0;
    if (was_full) upstream.in.enlarge();
    if (upstream.parser.done()) {
      response_complete();
      return;
    }
  }
  pump_response();
}

void H1Exchange::upstream_lost(Error error, std::string text) {
  const bool silent = error == Error::upstream_reset && upstream_->in.empty() && !interim_sent_;
  const bool again =
      silent && upstream_->reused() && !retried_stale_ &&
      (!request_touched_ || (pool_->limits().repeat_repeatable && head_.repeatable()));
  if (!request_touched_) body_sent_ = false;
  detach_upstream(false);
  if (again) {
    retried_stale_ = true;
    connect_upstream();
    return;
  }
  tell_lost({error, std::move(text), !request_touched_});
}

void H1Exchange::tell_lost(const ConnectFailure& failure) {
  phase_ = Phase::held;
  if (server_.gateway_.upstream_failed(*this, failure)) return;
  answer(http::response_for(failure.error, failure.text));
}

std::uint64_t H1Exchange::moved() const {
  std::uint64_t bytes = Exchange::moved() + parser_.content_bytes();
  if (upstream_ != nullptr && response_head_done_ && !tunnel_) {
    bytes += upstream_->parser.content_bytes();
  }
  return bytes;
}

}  // namespace sluice::net
