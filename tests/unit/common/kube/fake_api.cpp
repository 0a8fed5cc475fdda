#include "tests/unit/common/kube/fake_api.h"

#include <algorithm>
#include <utility>

namespace sluice::kube::testing {
namespace asio = boost::asio;
using boost::system::error_code;

struct FakeApi::Peer {
  using Self = std::shared_ptr<Peer>;

  Peer(FakeApi& owner, net::Socket socket, std::size_t its_number)
      : api{&owner}, stream{std::move(socket)}, number{its_number}, parser{64 * 1024} {}

  static void shake(const Self& self) {
    if (self->api == nullptr) return;
    using State = net::TlsStep::State;
    const State state = self->session->handshake();
    if (state == State::done) {
      self->stream = net::Stream{std::move(self->stream.socket()), std::move(self->session)};
      read(self);
    } else if (state == State::want_read || state == State::want_write) {
      const auto what =
          state == State::want_read ? net::Socket::wait_read : net::Socket::wait_write;
      self->stream.socket().async_wait(what, [self](const error_code& ec) {
        if (!ec) shake(self);
      });
    } else {
      self->stream.close();
    }
  }

  static void read(const Self& self) {
    self->in.reserve(1 << 20);
    self->stream.async_read_some(asio::buffer(self->in.tail(), self->in.room()),
                                 [self](const error_code& ec, std::size_t bytes) {
                                   if (ec || self->api == nullptr) return;
                                   self->in.filled(bytes);
                                   take(self);
                                   if (self->stream.is_open()) read(self);
                                 });
  }

  static void take(const Self& self) {
    while (!self->in.empty()) {
      if (!self->head_done) {
        const http::Fed fed = self->parser.feed_head(self->in.data(), self->head);
        self->in.consume(fed.used);
        if (fed.state != http::Fed::State::done) return;
        self->head_done = true;
      }
      if (!self->parser.done()) {
        const http::Fed fed = self->parser.feed_body(self->in.data(), &self->body);
        self->in.consume(fed.used);
      }
      if (!self->parser.done()) return;
      answer(self);
    }
  }

  static void answer(const Self& self) {
    const http::FieldList& fields = self->head.fields;
    Seen seen{self->head.method,
              self->head.target,
              std::string{fields.find("authorization")},
              std::string{fields.find("content-type")},
              std::string{fields.find("user-agent")},
              std::string{fields.find("host")},
              std::exchange(self->body, {}),
              self->number};
    self->head.clear();
    self->head_done = false;
    self->parser.reset();
    self->api->seen_.push_back(seen);
    const Reply reply = self->api->script_(seen);
    self->out += reply.bytes;
    self->close_after = self->close_after || reply.close;
    write(self);
  }

  static void write(const Self& self) {
    if (self->writing) return;
    if (self->out.empty()) {
      if (self->close_after) {
        self->stream.shutdown_send();
        self->stream.close();
      }
      return;
    }
    self->writing = true;
    self->stream.async_write_some({asio::buffer(self->out), asio::const_buffer{}},
                                  [self](const error_code& ec, std::size_t bytes) {
                                    self->writing = false;
                                    if (ec) return;
                                    self->out.erase(0, bytes);
                                    write(self);
                                  });
  }

  FakeApi* api;  // null: gone
  net::Stream stream;
  std::unique_ptr<net::TlsSession> session{};  // while hands are shaken
  std::size_t number;
  http::RequestParser parser;
  http::RequestHead head{};
  net::ByteBuffer in{};
  std::string body{};
  std::string out{};
  bool head_done = false;
  bool writing = false;
  bool close_after = false;
};

Reply json_reply(std::string_view body, int status, std::string_view more_fields) {
  return {
      "HTTP/1.1 " + std::to_string(status) +
      " Word\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n" + std::string{more_fields} + "\r\n" + std::string{body}};
}

Reply watch_reply(std::string_view first_events) {
  std::string bytes =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  if (!first_events.empty()) bytes += chunk(first_events);
  return {std::move(bytes)};
}

std::string chunk(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string size;
  for (std::size_t left = bytes.size(); left != 0; left /= 16) size.insert(0, 1, kHex[left % 16]);
  if (size.empty()) size = "0";
  return size + "\r\n" + std::string{bytes} + "\r\n";
}

FakeApi::FakeApi(asio::io_context& io, Script script, net::TlsSessions* tls)
    : io_{io},
      acceptor_{io, {asio::ip::address_v4::loopback(), 0}},
      script_{std::move(script)},
      tls_{tls} {
  accept();
}

FakeApi::~FakeApi() {
  error_code ignored;
  acceptor_.close(ignored);
  for (const auto& peer : peers_) {
    peer->api = nullptr;
    peer->stream.close();
  }
  io_.poll();
}

net::Address FakeApi::address() const {
  return {.host = "127.0.0.1", .port = acceptor_.local_endpoint().port(), .path = {}};
}

Access FakeApi::access() const {
  Access access;
  access.address = address();
  access.server_name = "127.0.0.1";
  access.tls = false;
  return access;
}

std::size_t FakeApi::count(std::string_view method, std::string_view target) const {
  return static_cast<std::size_t>(std::count_if(seen_.begin(), seen_.end(), [&](const Seen& each) {
    return each.method == method && each.target.starts_with(target);
  }));
}

void FakeApi::push(std::size_t connection, std::string bytes, bool close) {
  const auto& peer = peers_.at(connection);
  peer->out += bytes;
  peer->close_after = peer->close_after || close;
  Peer::write(peer);
}

void FakeApi::accept() {
  acceptor_.async_accept([this](const error_code& ec, asio::ip::tcp::socket socket) {
    if (ec) return;
    auto peer = std::make_shared<Peer>(*this, net::Socket{std::move(socket)}, peers_.size());
    peers_.push_back(peer);
    if (tls_ != nullptr) {
      peer->session = tls_->make_session(peer->stream.native_handle());
      Peer::shake(peer);
    } else {
      Peer::read(peer);
    }
    accept();
  });
}

bool run_until(asio::io_context& io, const std::function<bool()>& done) {
  while (!done()) {
    if (io.stopped()) io.restart();
    if (io.run_one_for(std::chrono::seconds{10}) == 0) return done();
  }
  return true;
}

}  // namespace sluice::kube::testing
