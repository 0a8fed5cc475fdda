#include "tests/unit/common/net/stage.h"

#include <boost/asio/buffer.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::net::testing {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr int kTurnsMax = 2000;  // of at most ten milliseconds each

Address loopback() {
  Address address;
  address.host = "127.0.0.1";
  return address;
}

// Allocates nothing, since a test counts the allocations of its whole process.
std::size_t length_of_body(std::string_view head) {
  constexpr std::string_view kName = "Content-Length: ";
  const std::size_t at = head.find(kName);
  if (at == std::string_view::npos) return 0;
  const std::string_view digits = head.substr(at + kName.size());
  std::size_t length = 0;
  std::from_chars(digits.begin(), digits.end(), length);
  return length;
}

}  // namespace

struct ScriptedUpstream::Session {
  explicit Session(Socket opened) : socket{std::move(opened)} {}

  Socket socket;
  std::array<char, 4096> buffer{};
  std::string pending;
};

ScriptedUpstream::ScriptedUpstream(asio::io_context& io)
    : io_{io}, listener_{io, [this](Socket socket) {
                           sessions_.push_back(std::make_unique<Session>(std::move(socket)));
                           read(*sessions_.back());
                         }} {
  const auto bound = listener_.open(loopback());
  if (bound) address_ = *bound;
}

ScriptedUpstream::~ScriptedUpstream() = default;

void ScriptedUpstream::play(std::vector<Script> scripts) {
  scripts_ = std::move(scripts);
}

void ScriptedUpstream::read(Session& session) {
  session.socket.async_read_some(
      asio::buffer(session.buffer), [this, &session](const error_code& ec, std::size_t bytes) {
        if (ec) {
          ++ended_;
          return;
        }
        received_.append(session.buffer.data(), bytes);
        session.pending.append(session.buffer.data(), bytes);
        const std::size_t end = session.pending.find("\r\n\r\n");
        const std::size_t body = stalling_ ? 0 : length_of_body(session.pending);
        if (end != std::string::npos && session.pending.size() >= end + 4 + body) {
          session.pending.erase(0, end + 4 + body);
          answer(session);
          if (stalling_) return;
        }
        if (session.socket.is_open()) read(session);
      });
}

void ScriptedUpstream::say(std::string_view bytes) {
  error_code ec;
  asio::const_buffer rest{bytes.data(), bytes.size()};
  while (rest.size() > 0 && !ec)
    rest += sessions_.back()->socket.write_some(asio::buffer(rest), ec);
}

void ScriptedUpstream::finish_sending() {
  error_code ec;
  sessions_.back()->socket.shutdown(Socket::shutdown_send, ec);
}

void ScriptedUpstream::hang_up(After how) {
  error_code ec;
  Socket& socket = sessions_.back()->socket;
  if (how == After::reset) socket.set_option(asio::socket_base::linger{true, 0}, ec);
  socket.close(ec);
}

void ScriptedUpstream::answer(Session& session) {
  const std::size_t index = std::min(requests_++, scripts_.size() - 1);
  const Script& script = scripts_[index];
  asio::const_buffer rest{script.bytes.data(), script.bytes.size()};
  error_code ec;
  while (rest.size() > 0 && !ec) rest += session.socket.write_some(asio::buffer(rest), ec);
  if (script.after == After::keep) return;
  if (script.after == After::reset) {
    session.socket.set_option(asio::socket_base::linger{true, 0}, ec);
  }
  session.socket.close(ec);
}

Client::Client(const Address& server) {
  const Endpoint endpoint = endpoint_of(server);
  fd_ = ::socket(static_cast<const sockaddr*>(endpoint.data())->sa_family,
                 SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int failed = ::connect(fd_, static_cast<const sockaddr*>(endpoint.data()),
                               static_cast<socklen_t>(endpoint.size()));
  EXPECT_EQ(failed, 0);
  ::fcntl(fd_, F_SETFL, O_NONBLOCK);
}

std::size_t Client::send(std::string_view bytes) {
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

void Client::finish_sending() {
  ::shutdown(fd_, SHUT_WR);
}

void Client::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Client::reset() {
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

bool Client::take() {
  char buffer[4096];
  while (true) {
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got == 0) return true;
    if (got < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
    seen_.append(buffer, static_cast<std::size_t>(got));
  }
}

ServerLimits stage_limits() {
  ServerLimits limits;
  limits.upload_patience = std::chrono::milliseconds{50};
  return limits;
}

Stage::Stage(const ServerLimits& limits)
    : pool_{io_, upstream_.address(), UpstreamLimits{}}, server_{io_, clock_, gateway_, limits} {
  gateway_.on_begin = [this](Exchange& exchange) { forward(exchange); };
  const auto bound = server_.listen(loopback());
  if (bound) address_ = *bound;
}

Stage::~Stage() {
  io_.stop();
}

void Stage::until(const std::function<bool()>& condition) {
  for (int turn = 0; turn < kTurnsMax && !condition(); ++turn) {
    io_.run_one_for(std::chrono::milliseconds{10});
    io_.poll();
  }
  ASSERT_TRUE(condition());
}

void Stage::settle() {
  while (io_.poll() > 0) {
  }
}

void Stage::expect_quiet() {
  until([this] { return server_.in_flight() == 0; });
  EXPECT_EQ(gateway_.ends.size(), static_cast<std::size_t>(gateway_.begun));
}

void Stage::until_seen(Client& client, const std::string& text) {
  until([&] {
    client.take();
    return client.seen().find(text) != std::string::npos;
  });
}

void Stage::until_closed(Client& client) {
  until([&] { return client.take(); });
}

}  // namespace sluice::net::testing
