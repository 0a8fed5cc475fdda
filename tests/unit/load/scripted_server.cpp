#include "tests/unit/load/scripted_server.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

namespace {

struct Session {
  explicit Session(tcp::socket taken) : socket{std::move(taken)} {}

  tcp::socket socket;
  std::array<char, 4096> buffer{};
  std::string received;
  std::string answer;
};

}  // namespace

struct ScriptedServer::Impl {
  Impl(asio::io_context& loop, std::function<Reply(std::string_view)> what)
      : acceptor{loop, {asio::ip::address_v4::loopback(), 0}}, script{std::move(what)} {}

  void accept() {
    acceptor.async_accept([this](ErrorCode error, tcp::socket socket) {
      if (error) return;
      sessions.push_back(std::make_unique<Session>(std::move(socket)));
      read(*sessions.back());
      accept();
    });
  }

  void read(Session& session) {
    session.socket.async_read_some(asio::buffer(session.buffer),
                                   [this, &session](ErrorCode error, std::size_t bytes) {
                                     if (error) return;
                                     session.received.append(session.buffer.data(), bytes);
                                     take(session);
                                   });
  }

  void take(Session& session) {
    const std::size_t end = session.received.find("\r\n\r\n");
    if (end == std::string::npos) {
      read(session);
      return;
    }
    const Reply reply = script(std::string_view{session.received}.substr(0, end + 4));
    session.received.erase(0, end + 4);
    session.answer = reply.bytes;
    asio::async_write(session.socket, asio::buffer(session.answer),
                      [this, &session, after = reply.after](ErrorCode error, std::size_t) {
                        if (error) return;
                        finish(session, after);
                      });
  }

  void finish(Session& session, After after) {
    ErrorCode ignored;
    if (after == After::reset)
      session.socket.set_option(asio::socket_base::linger{true, 0}, ignored);
    if (after != After::keep) {
      session.socket.close(ignored);
    } else {
      read(session);
    }
  }

  tcp::acceptor acceptor;
  std::function<Reply(std::string_view)> script;
  std::vector<std::unique_ptr<Session>> sessions;
};

ScriptedServer::ScriptedServer(asio::io_context& loop,
                               std::function<Reply(std::string_view)> script)
    : impl_{std::make_unique<Impl>(loop, std::move(script))} {
  impl_->accept();
}

ScriptedServer::~ScriptedServer() = default;

std::uint16_t ScriptedServer::port() const {
  return impl_->acceptor.local_endpoint().port();
}

std::size_t ScriptedServer::connections() const {
  return impl_->sessions.size();
}

void ScriptedServer::stop() {
  ErrorCode ignored;
  impl_->acceptor.close(ignored);
  for (const auto& session : impl_->sessions) session->socket.close(ignored);
}

std::string ScriptedServer::ok(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string{body};
}

}  // namespace sluice::loadgen
