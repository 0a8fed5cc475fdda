#pragma once

#include "common/net/byte_buffer.h"
#include "common/net/h2/h2_memory.h"
#include "common/net/stream.h"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <string>
#include <string_view>

struct nghttp2_session;

namespace sluice::http {
class HeaderBlock;
}

namespace sluice::net {

/// Why a stream or a connection of HTTP/2 ends (RFC 9113, 7); those that we send.
enum class H2Error : std::uint32_t {
  no_error = 0x0,
  protocol = 0x1,
  internal = 0x2,
  stream_closed = 0x5,
  refused_stream = 0x7,
  cancel = 0x8,
  enhance_your_calm = 0xb,
};

/// The bytes of one HTTP/2 connection, either side of it: feeds the session whatever arrives and
/// writes whatever the session has to send. What was submitted during one turn of the loop goes
/// out together at its end. A read is always outstanding, since control frames must be answered;
/// bodies are held back by windows, never by not reading.
class H2Link {
 public:
  H2Link(const H2Link&) = delete;
  H2Link& operator=(const H2Link&) = delete;

 protected:
  H2Link(boost::asio::io_context& io, Stream stream);
  ~H2Link();

  /// The session, made by the derived class; deleted with the link.
  void adopt(nghttp2_session* session) { session_ = session; }

  [[nodiscard]] nghttp2_session* session() const { return session_; }

  /// For the session.
  [[nodiscard]] H2Memory& session_memory() { return memory_; }

  [[nodiscard]] Stream& stream() { return stream_; }

  /// Begins to read; `first` arrived already.
  void start_io(std::string_view first);

  /// Something was submitted to the session.
  void flush_soon();

  /// Calls on_link_end and closes the socket.
  void end();

  /// Calls on_link_end, sends nothing more, and drops what still arrives until the peer closes: a
  /// socket that is closed with unread bytes resets the connection, and what was sent last is lost
  /// with it. Bounded by kLingerBytesMax; the derived class bounds the time, by close_link().
  void linger();

  [[nodiscard]] bool lingering() const { return lingering_; }

  /// Closes the socket. on_link_end is not called; on_link_released is, once nothing points here.
  void close_link();

  [[nodiscard]] bool link_closed() const { return closed_; }

  /// Whether bytes wait for the peer to take others; nothing else is sent until then.
  [[nodiscard]] bool blocked() const { return writing_; }

  /// Bytes that the socket has taken so far, as a mark of progress.
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }

  /// Gives back what only a busy connection needs.
  void trim_link();

  /// Sends `bytes` before anything of the session; only before start_io.
  void send_first(std::string_view bytes) { out_.assign(bytes); }

  /// What the first bytes from the peer were, as far as they are kept: 16 bytes at most.
  [[nodiscard]] std::string_view first_bytes() const { return first_bytes_; }

  /// How many of the bytes that came, 1 at least, the session reads next.
  [[nodiscard]] virtual std::size_t portion(std::string_view bytes) { return bytes.size(); }

  /// The session has nothing more to send and expects nothing more: end(), or linger().
  virtual void on_link_done() { end(); }

  /// The peer has closed, or the session is beyond use. Called once, before the socket closes.
  virtual void on_link_end() = 0;

  /// The peer takes no more bytes for now. Called when bytes begin to wait.
  virtual void on_link_blocked() {}

  /// The link may be destroyed, though not from inside this call.
  virtual void on_link_released() = 0;

 private:
  void read();
  void feed(std::string_view bytes);
  void flush();
  void write_rest();
  void release_if_done();

  boost::asio::io_context& io_;  // outlives the link
  H2Memory memory_;              // of session_
  Stream stream_;
  nghttp2_session* session_ = nullptr;  // owned
  ByteBuffer in_;
  std::string out_;
  std::size_t written_ = 0;  // of out_
  std::uint64_t bytes_sent_ = 0;
  std::string first_bytes_;
  int operations_ = 0;
  bool started_ = false;
  bool flushing_ = false;  // a flush is posted
  bool writing_ = false;
  bool lingering_ = false;
  std::size_t lingered_ = 0;  // bytes dropped since
  bool closed_ = false;
  bool released_ = false;
};

}  // namespace sluice::net
