#include "load/io/connection.h"

#include "common/base/check.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>

#include <cstring>
#include <string>

namespace sluice::loadgen {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

namespace {

// Why there is no connection.
Ending ending_of(ErrorCode error) {
  for (const auto ours : {asio::error::no_descriptors, asio::error::no_buffer_space,
                          asio::error::no_memory, asio::error::address_in_use}) {
    if (error == ours) return Ending::no_local_port;
  }
  if (error == boost::system::errc::address_not_available) return Ending::no_local_port;
  return error == asio::error::timed_out ? Ending::connect_timeout : Ending::connect_refused;
}

}  // namespace

Connection::Connection(asio::io_context& loop, Owner& owner) : socket_{loop}, owner_{owner} {}

void Connection::send(std::string_view request_head, std::string_view request_body, bool to_head) {
  CHECK(!busy_);
  busy_ = true;
  request_head_ = request_head;
  request_body_ = request_body;
  response_.begin(to_head);
  if (state_ == State::ready) {
    write();
  } else {
    connect();
  }
}

void Connection::close() {
  ++epoch_;
  ErrorCode ignored;
  socket_.close(ignored);
  state_ = State::closed;
  busy_ = false;
  writing_ = false;
  filled_ = 0;
}

void Connection::connect() {
  ErrorCode error;
  state_ = State::connecting;
  carried_ = 0;
  socket_.open(peer_.protocol(), error);
  // Without Nagle's wait a request of two segments would be held back for the peer's delayed ack.
  if (!error) socket_.set_option(tcp::no_delay{true}, error);
  ++pending_;
  const auto done = [this, epoch = epoch_](ErrorCode result) {
    --pending_;
    if (epoch != epoch_) return;
    if (result) {
      owner_.failed("connect to " + peer_.address().to_string() + ":" +
                    std::to_string(peer_.port()) + ": " + result.message());
      end(ending_of(result));
      return;
    }
    state_ = State::ready;
    write();
    if (epoch == epoch_) read();
  };
  if (error) {
    // Told from the loop, not from inside send(): the owner is in the middle of its own step.
    asio::post(socket_.get_executor(), [done, error] { done(error); });
    return;
  }
  socket_.async_connect(peer_, done);
}

void Connection::write() {
  writing_ = true;
  ++carried_;
  ++pending_;
  const auto done = [this, epoch = epoch_](ErrorCode error, std::size_t) {
    --pending_;
    if (epoch != epoch_) return;
    writing_ = false;
    // A peer that answers early and stops reading fails the write; the read sees the answer.
    if (error && error != asio::error::broken_pipe && error != asio::error::connection_reset) {
      owner_.failed("send: " + error.message());
      end(Ending::reset);
    }
  };
  const std::array<asio::const_buffer, 2> parts{
      asio::const_buffer{request_head_.data(), request_head_.size()},
      asio::const_buffer{request_body_.data(), request_body_.size()}};
  asio::async_write(socket_, parts, done);
}

// One read is always under way on an open connection, also while it is idle: so a peer's close is
// seen before the next request runs into it.
void Connection::read() {
  ++pending_;
  socket_.async_read_some(asio::buffer(buffer_.data() + filled_, buffer_.size() - filled_),
                          [this, epoch = epoch_](ErrorCode error, std::size_t bytes) {
                            --pending_;
                            if (epoch == epoch_) on_read(error, bytes);
                          });
}

void Connection::on_read(ErrorCode error, std::size_t bytes) {
  if (!busy_) {
    close();  // closed by the peer, or bytes without a request
    owner_.dropped(*this);
    return;
  }
  if (error) {
    const bool whole =
        error == asio::error::eof && response_.finish() == WireResponse::State::whole;
    if (!whole) owner_.failed("receive: " + error.message());
    end(whole ? Ending::answered : Ending::reset);
    return;
  }
  filled_ += bytes;
  take_bytes();
}

void Connection::take_bytes() {
  const WireResponse::Fed fed = response_.feed({buffer_.data(), filled_});
  filled_ -= fed.consumed;
  if (filled_ > 0) std::memmove(buffer_.data(), buffer_.data() + fed.consumed, filled_);
  if (fed.state == WireResponse::State::more && filled_ < buffer_.size()) {
    read();
    return;
  }
  if (fed.state != WireResponse::State::whole) {
    owner_.failed("the answer is not HTTP/1, or its headers are longer than 16 KiB");
    end(Ending::invalid);
    return;
  }
  const bool reusable = response_.keep_alive() && !writing_ && filled_ == 0;
  if (!reusable) {
    end(Ending::answered);
    return;
  }
  busy_ = false;
  const std::uint64_t epoch = epoch_;
  owner_.ended(*this, Ending::answered);
  if (epoch == epoch_) read();
}

// The request is over and so is its connection.
void Connection::end(Ending ending) {
  close();
  owner_.ended(*this, ending);
}

}  // namespace sluice::loadgen
