#include "common/rpc/first_byte.h"

#include <array>
#include <sys/socket.h>
#include <utility>

namespace sluice::rpc {
namespace {

constexpr unsigned char kTlsHandshake = 0x16;  // the record that a TLS client begins with
constexpr std::chrono::seconds kGoodbye{1};

}  // namespace

std::string goodbye_frames(std::string_view why) {
  std::string frames("\0\0\0\x04\0\0\0\0\0", 9);
  const auto size = static_cast<std::uint32_t>(8 + why.size());
  for (const unsigned shift : {16U, 8U, 0U}) frames += static_cast<char>(size >> shift & 0xFFU);
  frames.append("\x07\0\0\0\0\0", 6);      // GOAWAY, on the connection
  frames.append("\0\0\0\0\0\0\0\x0c", 8);  // no stream was taken; INADEQUATE_SECURITY
  return frames.append(why);
}

FirstByte::FirstByte(boost::asio::io_context& io, Events events)
    : io_{io}, events_{std::move(events)}, listener_{io, [this](net::Socket socket) {
                                                       accepted(std::move(socket));
                                                     }} {}

FirstByte::~FirstByte() {
  alive_.end();
}

Result<net::Address, Problem> FirstByte::open(const net::Address& address) {
  return listener_.open(address);
}

std::uint64_t FirstByte::keep(net::Socket socket, std::chrono::seconds limit) {
  const std::uint64_t id = next_++;
  Waiting& waiting = waiting_.try_emplace(id, io_, std::move(socket)).first->second;
  waiting.timer.expires_after(limit);
  waiting.timer.async_wait([this, alive = alive_.watch(), id](const boost::system::error_code& ec) {
    if (!ec && !alive.over()) waiting_.erase(id);
  });
  return id;
}

void FirstByte::accepted(net::Socket socket) {
  // The one that has been silent for longest is closed, so silent peers keep no caller out.
  if (waiting_.size() >= kWaitingMax) waiting_.erase(waiting_.begin());
  net::prepare(socket);
  const std::uint64_t id = keep(std::move(socket), kSilence);
  waiting_.at(id).socket.async_wait(
      net::Socket::wait_read,
      [this, alive = alive_.watch(), id](const boost::system::error_code& ec) {
        if (!ec && !alive.over()) readable(id);
      });
}

void FirstByte::readable(std::uint64_t id) {
  const auto at = waiting_.find(id);
  if (at == waiting_.end()) return;
  net::Socket socket = std::move(at->second.socket);
  waiting_.erase(at);
  unsigned char first = 0;
  if (::recv(socket.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1) return;
  (first == kTlsHandshake ? events_.tls : events_.plain)(std::move(socket));
}

void FirstByte::turn_away(net::Socket socket, std::string_view why) {
  if (waiting_.size() >= kWaitingMax) return;
  // What is left unread would make the end a reset, which overtakes the words.
  std::array<char, 4096> unread{};
  bool ignored = false;
  (void)net::read_now(socket, unread.data(), unread.size());
  (void)net::write_now(socket, goodbye_frames(why), {}, ignored);
  boost::system::error_code done;
  socket.shutdown(net::Socket::shutdown_send, done);
  (void)keep(std::move(socket), kGoodbye);
}

}  // namespace sluice::rpc
