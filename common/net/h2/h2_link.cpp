#include "common/net/h2/h2_link.h"

#include "common/base/check.h"
#include "common/net/server/connection.h"

#include <boost/asio/post.hpp>

#include <array>
#include <nghttp2/nghttp2.h>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFirstBuffer = 8 * 1024;
constexpr std::size_t kLargeBuffer = 64 * 1024;
constexpr std::size_t kGatherBytes = 64 * 1024;
constexpr std::size_t kKeptOut = 8 * 1024;
constexpr std::size_t kFirstBytesKept = 16;

// The error sent to the peer when the session can read no further.
std::uint32_t code_of(ssize_t failure) {
  switch (failure) {
    case NGHTTP2_ERR_FLOODED:
    case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS:
      return NGHTTP2_ENHANCE_YOUR_CALM;
    case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
      return NGHTTP2_PROTOCOL_ERROR;
    default:
      return NGHTTP2_INTERNAL_ERROR;
  }
}

}  // namespace

H2Link::H2Link(asio::io_context& io, Stream stream) : io_{io}, stream_{std::move(stream)} {}

H2Link::~H2Link() {
  nghttp2_session_del(session_);
}

void H2Link::start_io(std::string_view first) {
  started_ = true;
  in_.reserve(kFirstBuffer);
  if (!first.empty()) feed(first);
  if (closed_) return;
  flush_soon();
  read();
}

void H2Link::read() {
  ++operations_;
  in_.pin();
  stream_.async_read_some(asio::buffer(in_.tail(), in_.room()),
                          [this](const error_code& ec, std::size_t bytes) {
                            --operations_;
                            in_.unpin();
                            if (closed_) {
                              release_if_done();
                              return;
                            }
                            if (ec) {
                              end();
                              return;
                            }
                            if (lingering_) {
                              lingered_ += bytes;
                              if (lingered_ > kLingerBytesMax) {
                                close_link();
                              } else {
                                read();
                              }
                              return;
                            }
                            in_.filled(bytes);
                            const bool full = in_.room() == 0;
                            feed(in_.data());
                            if (closed_) return;
                            in_.consume(in_.size());
                            if (full && in_.capacity() < kLargeBuffer) in_.reserve(kLargeBuffer);
                            read();
                          });
}

void H2Link::feed(std::string_view bytes) {
  if (first_bytes_.size() < kFirstBytesKept) {
    first_bytes_.append(bytes.substr(0, kFirstBytesKept - first_bytes_.size()));
  }
  ++operations_;  // callbacks may close the link; it must outlive this call
  ssize_t used = 0;
  while (used >= 0 && !bytes.empty() && !closed_) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const std::size_t size = portion(bytes);
    used = nghttp2_session_mem_recv(session_, data, size);
    bytes.remove_prefix(size);
  }
  --operations_;
  if (closed_) {
    release_if_done();
    return;
  }
  if (used < 0) {
    nghttp2_session_terminate_session(session_, code_of(used));
    flush();
    if (!closed_ && !lingering_) end();
    return;
  }
  flush_soon();
}

void H2Link::flush_soon() {
  if (flushing_ || writing_ || lingering_ || closed_ || !started_) return;
  flushing_ = true;
  ++operations_;
  asio::post(io_, [this] {
    --operations_;
    flushing_ = false;
    if (closed_) {
      release_if_done();
      return;
    }
    flush();
  });
}

void H2Link::flush() {
  if (writing_ || lingering_) return;
  ++operations_;
  bool more = true;
  while (more && !closed_) {
    while (out_.size() < kGatherBytes) {
      const std::uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size <= 0) {
        more = false;
        break;
      }
      out_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    if (closed_ || out_.empty()) break;
    bool would_block = false;
    const long sent = stream_.write_now(out_, {}, would_block);
    if (sent < 0) {
      --operations_;
      end();
      return;
    }
    bytes_sent_ += static_cast<std::uint64_t>(sent);
    if (would_block) {
      written_ = static_cast<std::size_t>(sent);
      writing_ = true;
      write_rest();
      on_link_blocked();
      break;
    }
    out_.clear();
  }
  --operations_;
  if (closed_) {
    release_if_done();
    return;
  }
  if (!writing_ && nghttp2_session_want_read(session_) == 0 &&
      nghttp2_session_want_write(session_) == 0) {
    on_link_done();
  }
}

void H2Link::write_rest() {
  ++operations_;
  const std::array<asio::const_buffer, 2> parts{
      asio::const_buffer{out_.data() + written_, out_.size() - written_}, asio::const_buffer{}};
  stream_.async_write_some(parts, [this](const error_code& ec, std::size_t bytes) {
    --operations_;
    if (closed_) {
      release_if_done();
      return;
    }
    if (ec) {
      writing_ = false;
      end();
      return;
    }
    written_ += bytes;
    bytes_sent_ += bytes;
    if (written_ < out_.size()) {
      write_rest();
      return;
    }
    writing_ = false;
    written_ = 0;
    out_.clear();
    flush();
  });
}

void H2Link::end() {
  if (closed_) return;
  if (!lingering_) {
    ++operations_;
    on_link_end();
    --operations_;
  }
  close_link();
}

void H2Link::linger() {
  if (closed_ || lingering_) return;
  lingering_ = true;
  ++operations_;
  on_link_end();
  --operations_;
  stream_.shutdown_send();
}

void H2Link::trim_link() {
  if (out_.empty() && out_.capacity() > kKeptOut) std::string{}.swap(out_);
  memory_.trim();
}

void H2Link::close_link() {
  if (!closed_) {
    closed_ = true;
    stream_.close();
  }
  release_if_done();
}

void H2Link::release_if_done() {
  if (!closed_ || operations_ > 0 || released_) return;
  released_ = true;
  on_link_released();
}

}  // namespace sluice::net
