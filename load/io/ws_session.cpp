#include "load/io/ws_session.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using TlsState = net::TlsStep::State;

namespace {

constexpr unsigned char kClose = 0x8;
constexpr unsigned char kPong = 0xa;
constexpr std::string_view kNormal{"\x03\xe8", 2};  // status 1000
// Of a peer that pings and reads nothing.
constexpr std::size_t kUnsentMax = 1U << 20U;

}  // namespace

WsSession::WsSession(asio::io_context& io, WsSessions& all, const WsOrder& order)
    : all_{all},
      order_{order},
      dial_{io, *this},
      socket_{io},
      timer_{io},
      reader_{order_.what->accept} {}

void WsSession::start() {
  waiting_.push_back({order_.planned.at, order_.taken});
  all_.owner().ws_sent(order_.planned, order_.taken);
  dial_.start(*order_.peer);
  look_at_clock();
}

Duration WsSession::due(std::uint64_t message) const {
  return order_.planned.at + order_.every * static_cast<std::int64_t>(message);
}

void WsSession::on_dialled() {
  socket_ = dial_.take_socket();
  tls_ = dial_.take_session();
  state_ = State::agreeing;
  all_.owner().ws_connected(order_.planned, all_.owner().ws_now() - order_.taken);
  write(order_.what->head);
  if (state_ != State::over) wait_readable();
}

void WsSession::on_dial_failed(Ending ending, const std::string& text) {
  fail(ending, text);
}

// Sends what is due, ends what has taken too long, and sees to being called again.
void WsSession::look_at_clock() {
  const Duration now = all_.owner().ws_now();
  if (!waiting_.empty() && waiting_.front().taken + order_.timeout <= now) {
    const bool unconnected = state_ == State::connecting;
    fail(
        unconnected ? Ending::connect_timeout : Ending::timeout,
        unconnected ? "no connection within the timeout" : "no answer to a message of a WebSocket");
    return;
  }
  while (state_ == State::open && sent_ < order_.messages && due(sent_) <= now) {
    PlannedRequest message = order_.planned;
    message.at = due(sent_++);
    waiting_.push_back({message.at, now});
    all_.owner().ws_sent(message, now);
    write(order_.what->frame);
  }
  if (state_ == State::over) return;
  const bool all_sent = sent_ == order_.messages;
  if (state_ == State::open && all_sent && waiting_.empty() && now >= order_.until) {
    write(ws_control_frame(kClose, kNormal));
    close();
    return;
  }
  Duration next = waiting_.empty() ? order_.until : waiting_.front().taken + order_.timeout;
  if (state_ == State::open && !all_sent) next = std::min(next, due(sent_));
  arm(next);
}

void WsSession::arm(Duration when) {
  timer_.expires_after(std::max(when - all_.owner().ws_now(), Duration::zero()));
  ++pending_;
  timer_.async_wait([this](ErrorCode error) {
    --pending_;
    if (!error && state_ != State::over) look_at_clock();
  });
}

void WsSession::wait_readable() {
  ++pending_;
  socket_.async_wait(net::Socket::wait_read, [this](ErrorCode) {
    --pending_;
    if (state_ != State::over) read();
  });
}

net::TlsStep WsSession::receive(char* to, std::size_t size) {
  if (tls_) return tls_->read(to, size);
  ErrorCode error;
  const std::size_t bytes = socket_.read_some(asio::buffer(to, size), error);
  if (!error) return {TlsState::done, bytes};
  if (error == asio::error::would_block) return {TlsState::want_read, 0};
  return {error == asio::error::eof ? TlsState::ended : TlsState::failed, 0};
}

void WsSession::read() {
  auto& buffer = all_.buffer();
  net::TlsStep step = receive(buffer.data(), buffer.size());
  while (step.state == TlsState::done) {
    if (!take({buffer.data(), step.bytes})) return;
    if (!tls_) break;  // another turn for the others
    step = receive(buffer.data(), buffer.size());
  }
  if (step.state == TlsState::ended || step.state == TlsState::failed) {
    fail(Ending::reset, "the server at " + order_.peer->text() + " closed a WebSocket");
  } else {
    wait_readable();
  }
}

// False: the session is over.
bool WsSession::take(std::string_view bytes) {
  using Event = WsReader::Event;
  while (state_ != State::over) {
    switch (reader_.take(bytes)) {
      case Event::more:
        return true;
      case Event::opened:
        state_ = State::open;
        write(order_.what->frame);
        break;
      case Event::message:
        answered();
        break;
      case Event::ping:
        write(ws_control_frame(kPong, reader_.payload()));
        break;
      case Event::close:
        fail(Ending::reset, "the server at " + order_.peer->text() + " ended a WebSocket");
        break;
      case Event::invalid:
        fail(Ending::ws, "WebSocket with " + order_.peer->text() + ": " + reader_.problem());
        break;
    }
    if (state_ != State::over) look_at_clock();
  }
  return false;
}

// Messages beyond those that were sent, as of a server that talks by itself, are read and left.
void WsSession::answered() {
  if (waiting_.empty()) return;
  const Sent first = waiting_.front();
  waiting_.erase(waiting_.begin());
  PlannedRequest message = order_.planned;
  message.at = first.planned;
  all_.owner().ws_ended(message, first.taken, Ending::answered, reader_.message_bytes());
}

void WsSession::write(std::string_view bytes) {
  if (state_ == State::over) return;
  if (!out_.empty()) {
    out_ += bytes;
    if (out_.size() > kUnsentMax + order_.what->frame.size()) {
      fail(Ending::ws, "the server at " + order_.peer->text() + " does not read its WebSocket");
    }
    return;
  }
  out_ = bytes;
  write_rest();
}

// A connection that is gone is left to the read, which sees it too.
void WsSession::write_rest() {
  std::size_t written = 0;
  bool failed = false;
  if (tls_) {
    const net::TlsStep step = tls_->write(out_, {});
    written = step.bytes;
    failed = step.state == TlsState::failed;
  } else {
    bool would_block = false;
    const long result = net::write_now(socket_, out_, {}, would_block);
    failed = result < 0;
    written = failed ? 0 : static_cast<std::size_t>(result);
  }
  out_.erase(0, failed ? out_.size() : written);
  if (out_.empty()) {
    std::string{}.swap(out_);
    return;
  }
  if (writing_) return;
  writing_ = true;
  ++pending_;
  socket_.async_wait(net::Socket::wait_write, [this](ErrorCode) {
    --pending_;
    writing_ = false;
    if (state_ != State::over) write_rest();
  });
}

void WsSession::fail(Ending ending, const std::string& text) {
  if (waiting_.empty() && sent_ == order_.messages) {
    close();  // it had done all that was planned
    return;
  }
  all_.owner().ws_failed(text);
  end(ending);
}

void WsSession::give_up() {
  if (state_ == State::over) return;
  end(state_ == State::connecting ? Ending::connect_timeout : Ending::timeout);
}

void WsSession::end(Ending ending) {
  const std::vector<Sent> lost = std::exchange(waiting_, {});
  PlannedRequest message = order_.planned;
  for (const Sent& sent : lost) {
    message.at = sent.planned;
    all_.owner().ws_ended(message, sent.taken, ending, 0);
  }
  for (; sent_ < order_.messages; ++sent_) {
    message.at = due(sent_);
    all_.owner().ws_unsent(message);
  }
  close();
}

void WsSession::close() {
  if (state_ == State::over) return;
  state_ = State::over;
  dial_.cancel();
  timer_.cancel();
  if (tls_) tls_->close_notify();
  ErrorCode ignored;
  socket_.close(ignored);
  all_.is_over();
}

}  // namespace sluice::loadgen
