#include "tests/unit/load/scripted_server.h"

#include "common/net/stream.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

namespace {

struct Session {
  explicit Session(net::Socket taken) : stream{std::move(taken)} {}

  net::Stream stream;
  std::unique_ptr<net::TlsSession> shaking;  // until its handshake is done
  std::array<char, 4096> buffer{};
  std::string received;
  std::string answer;
};

}  // namespace

struct ScriptedServer::Impl {
  Impl(asio::io_context& loop, std::function<Reply(std::string_view)> what,
       net::TlsSessions* sessions_over)
      : acceptor{loop, {asio::ip::address_v4::loopback(), 0}},
        script{std::move(what)},
        tls{sessions_over} {}

  void accept() {
    acceptor.async_accept([this](ErrorCode error, tcp::socket socket) {
      if (error) return;
      Session& session =
          *sessions.emplace_back(std::make_unique<Session>(net::Socket{std::move(socket)}));
      net::prepare(session.stream.socket());
      if (tls != nullptr) {
        session.shaking = tls->make_session(session.stream.native_handle());
        shake_hands(session);
      } else {
        read(session);
      }
      accept();
    });
  }

  void shake_hands(Session& session) {
    using State = net::TlsStep::State;
    const State state = session.shaking->handshake();
    if (state == State::done) {
      session.stream = net::Stream{std::move(session.stream.socket()), std::move(session.shaking)};
      read(session);
    } else if (state == State::want_read) {
      session.stream.socket().async_wait(net::Socket::wait_read, [this, &session](ErrorCode error) {
        if (!error) shake_hands(session);
      });
    } else {
      session.stream.close();
    }
  }

  void read(Session& session) {
    session.stream.async_read_some(asio::buffer(session.buffer),
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
    write(session, reply.after);
  }

  void write(Session& session, After after) {
    const std::array<asio::const_buffer, 2> parts{asio::buffer(session.answer), {}};
    session.stream.async_write_some(parts,
                                    [this, &session, after](ErrorCode error, std::size_t bytes) {
                                      if (error) return;
                                      session.answer.erase(0, bytes);
                                      if (session.answer.empty()) {
                                        finish(session, after);
                                      } else {
                                        write(session, after);
                                      }
                                    });
  }

  void finish(Session& session, After after) {
    ErrorCode ignored;
    if (after == After::reset)
      session.stream.socket().set_option(asio::socket_base::linger{true, 0}, ignored);
    if (after != After::keep) {
      session.stream.close();
    } else {
      read(session);
    }
  }

  tcp::acceptor acceptor;
  std::function<Reply(std::string_view)> script;
  net::TlsSessions* tls;
  std::vector<std::unique_ptr<Session>> sessions;
};

ScriptedServer::ScriptedServer(asio::io_context& loop,
                               std::function<Reply(std::string_view)> script, net::TlsSessions* tls)
    : impl_{std::make_unique<Impl>(loop, std::move(script), tls)} {
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
  for (const auto& session : impl_->sessions) session->stream.close();
}

std::string ScriptedServer::ok(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string{body};
}

}  // namespace sluice::loadgen
