// One coroutine per connection. What a coroutine touches after a wait is held by it: the door's
// state outlives the door until the last one has seen that it is gone.

#include "injector/io/webhook_door.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <cstdint>
#include <set>
#include <utility>

namespace sluice::injector {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Context = std::shared_ptr<asio::ssl::context>;

namespace {

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

// After this many requests a peer has to open a new connection.
constexpr int kRequestsMax = 10'000;

http::response<http::string_body> response_of(const WebhookDoor::Answer& answer, bool keep_alive) {
  http::response<http::string_body> response{static_cast<http::status>(answer.status), 11};
  response.set(http::field::content_type, answer.content_type);
  if (answer.status == 405) response.set(http::field::allow, "POST");
  response.keep_alive(keep_alive);
  response.body() = answer.body;
  response.prepare_payload();
  return response;
}

WebhookDoor::Answer plain(int status, std::string text) {
  return {.status = status, .body = std::move(text) + "\n", .content_type = "text/plain"};
}

WebhookDoor::Answer answer_to(const http::request<http::string_body>& request,
                              const WebhookDoor::Respond& respond) {
  if (request.method() != http::verb::post) return plain(405, "send POST");
  const std::string_view target{request.target().data(), request.target().size()};
  // API servers add ?timeout=5s.
  auto answer = respond(target.substr(0, target.find('?')), request.body());
  return answer ? std::move(*answer) : plain(404, "the paths are /mutate and /validate");
}

std::optional<WebhookDoor::Answer> answer_to(const error_code& failed) {
  if (failed == http::error::body_limit) return plain(413, "the body is larger than 3 MiB");
  if (failed == http::error::header_limit || failed == http::error::buffer_overflow) {
    return plain(431, "the header is larger than 16 KiB");
  }
  const bool by_parser = failed.category() == make_error_code(http::error::body_limit).category();
  if (!by_parser || failed == http::error::end_of_stream ||
      failed == http::error::partial_message) {
    return std::nullopt;  // it left, or stays silent
  }
  return plain(400, "not an HTTP/1.1 request: " + failed.message());
}

}  // namespace

struct WebhookDoor::State {
  struct Session {
    Session(Tcp::socket socket, const Context& its_context)
        : context{its_context}, stream{std::move(socket), *context} {}

    Context context;  // a rotation leaves it to the sessions that use it
    beast::ssl_stream<beast::tcp_stream> stream;
    beast::flat_buffer buffer;
    bool busy = false;  // a request is being read or answered
    // Which wait for a request in the order of their beginning; 0: it does not wait for one.
    std::uint64_t since = 0;
    bool going = false;  // its room is given to another
  };

  State(asio::io_context& io, Limits its_limits, Respond its_respond)
      : acceptor{io}, pause{io}, limits{its_limits}, respond{std::move(its_respond)} {}

  static asio::awaitable<void> accept_all(std::shared_ptr<State> state);
  static asio::awaitable<void> serve(std::shared_ptr<State> state,
                                     std::shared_ptr<Session> session);
  asio::awaitable<bool> serve_one(Session& session);
  static void begin(const std::shared_ptr<State>& state, Tcp::socket socket);
  void make_room();

  [[nodiscard]] bool full() const { return sessions.size() >= limits.connections_max; }

  Tcp::acceptor acceptor;
  asio::steady_timer pause;  // until there is room for a connection again
  Limits limits;
  Respond respond;
  Context context;
  std::set<std::shared_ptr<Session>> sessions;
  std::uint64_t waits = 0;  // for a request, so far
  bool stopping = false;
};

asio::awaitable<void> WebhookDoor::State::accept_all(std::shared_ptr<State> state) {
  while (!state->stopping) {
    if (state->full()) {
      // No connection is closed before a new one arrives.
      const auto [closed] = co_await state->acceptor.async_wait(Tcp::acceptor::wait_read, kToken);
      if (closed) break;
      if (!state->full()) continue;
      state->make_room();
      state->pause.expires_at(asio::steady_timer::time_point::max());
      co_await state->pause.async_wait(kToken);
      continue;
    }
    auto [failed, socket] = co_await state->acceptor.async_accept(kToken);
    if (state->stopping || failed == asio::error::operation_aborted) break;
    if (failed) {  // out of descriptors: the connection waits in the backlog
      state->pause.expires_after(std::chrono::milliseconds{100});
      co_await state->pause.async_wait(kToken);
      continue;
    }
    begin(state, std::move(socket));
  }
}

// API servers keep connections that they may never use again; those would keep others out.
void WebhookDoor::State::make_room() {
  std::shared_ptr<Session> longest;
  for (const auto& session : sessions) {
    if (session->since == 0 || session->going) continue;
    if (!longest || session->since < longest->since) longest = session;
  }
  if (!longest) return;
  longest->going = true;
  beast::get_lowest_layer(longest->stream).cancel();
}

void WebhookDoor::State::begin(const std::shared_ptr<State>& state, Tcp::socket socket) {
  if (!state->context) return;  // the socket closes
  auto session = std::make_shared<Session>(std::move(socket), state->context);
  state->sessions.insert(session);
  asio::co_spawn(state->acceptor.get_executor(), serve(state, session),
                 [state, session](const std::exception_ptr&) {
                   // An exception here is out of memory: it ends this session alone.
                   beast::get_lowest_layer(session->stream).close();
                   state->sessions.erase(session);
                   state->pause.cancel();
                 });
}

asio::awaitable<void> WebhookDoor::State::serve(std::shared_ptr<State> state,
                                                std::shared_ptr<Session> session) {
  beast::tcp_stream& tcp = beast::get_lowest_layer(session->stream);
  tcp.expires_after(state->limits.request);
  const auto [failed] =
      co_await session->stream.async_handshake(asio::ssl::stream_base::server, kToken);
  if (failed) co_return;
  for (int served = 0; served < kRequestsMax && !state->stopping; ++served) {
    const bool more = co_await state->serve_one(*session);
    if (!more) break;
  }
  if (session->going) co_return;  // who waits for its room does not wait for its farewell
  tcp.expires_after(std::chrono::seconds{1});
  co_await session->stream.async_shutdown(kToken);
}

asio::awaitable<bool> WebhookDoor::State::serve_one(Session& session) {
  beast::tcp_stream& tcp = beast::get_lowest_layer(session.stream);
  http::request_parser<http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(limits.head_max));
  parser.body_limit(limits.body_max);
  parser.eager(true);
  tcp.expires_after(limits.idle);
  session.since = ++waits;
  if (full()) pause.cancel();  // a newcomer may have found no room
  const auto [silent, begun] =
      co_await http::async_read_some(session.stream, session.buffer, parser, kToken);
  session.since = 0;
  session.busy = true;
  error_code failed = silent;
  if (!failed && !parser.is_done()) {
    tcp.expires_after(limits.request);
    const auto [broken, size] =
        co_await http::async_read(session.stream, session.buffer, parser, kToken);
    failed = broken;
  }
  std::optional<Answer> answer;
  const bool whole = !failed;
  if (whole) {
    answer = answer_to(parser.get(), respond);
  } else {
    answer = answer_to(failed);
  }
  if (!answer) co_return false;
  const bool keep_alive = whole && parser.get().keep_alive() && !stopping && !session.going;
  http::response<http::string_body> response = response_of(*answer, keep_alive);
  tcp.expires_after(limits.request);
  const auto [unsent, written] = co_await http::async_write(session.stream, response, kToken);
  session.busy = false;
  co_return !unsent && keep_alive;
}

WebhookDoor::WebhookDoor(asio::io_context& io, Limits limits, Respond respond)
    : state_{std::make_shared<State>(io, limits, std::move(respond))} {}

WebhookDoor::~WebhookDoor() {
  stop();
  state_->respond = [](std::string_view, const std::string&) { return std::optional<Answer>{}; };
  for (const auto& session : state_->sessions) beast::get_lowest_layer(session->stream).close();
}

Result<net::Address, Problem> WebhookDoor::listen(const net::Address& address) {
  if (address.is_unix())
    return Problem{"a webhook cannot listen on a Unix socket", "use host:port"};
  const auto problem = [&](const error_code& failed) {
    return Problem{"cannot listen on " + address.text() + ": " + failed.message(),
                   "free the port or set SLUICE_WEBHOOK_ADDRESS"};
  };
  error_code failed;
  // Without a host both families are served by one socket, where the kernel has IPv6.
  const bool any = address.host.empty();
  auto host = any ? asio::ip::address{asio::ip::address_v6::any()}
                  : asio::ip::make_address(address.host, failed);
  if (failed) return problem(failed);
  Tcp::acceptor& acceptor = state_->acceptor;
  acceptor.open(host.is_v6() ? Tcp::v6() : Tcp::v4(), failed);
  if (failed && any) {
    host = asio::ip::address_v4::any();
    acceptor.open(Tcp::v4(), failed);
  }
  if (!failed && host.is_v6()) acceptor.set_option(asio::ip::v6_only(!any), failed);
  if (!failed) acceptor.set_option(Tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind({host, address.port}, failed);
  if (!failed) acceptor.listen(128, failed);
  if (failed) return problem(failed);
  net::Address bound = address;
  bound.port = acceptor.local_endpoint(failed).port();
  asio::co_spawn(acceptor.get_executor(), State::accept_all(state_),
                 [](const std::exception_ptr&) {});
  return bound;
}

Result<bool, Problem> WebhookDoor::serve_with(const net::TlsPair& pair) {
  const auto problem = [](const char* what, const error_code& failed) {
    return Problem{std::string{what} + failed.message(), "give a certificate and its key as PEM"};
  };
  error_code failed;
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->use_certificate_chain(asio::buffer(pair.certificate), failed);
  if (failed) return problem("the certificate cannot be used: ", failed);
  context->use_private_key(asio::buffer(pair.key), asio::ssl::context::pem, failed);
  if (failed) return problem("the key cannot be used: ", failed);
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    return Problem{"certificate and key do not match", "give a matching pair"};
  }
  state_->context = std::move(context);
  return true;
}

bool WebhookDoor::has_certificate() const {
  return state_->context != nullptr;
}

void WebhookDoor::stop() {
  if (std::exchange(state_->stopping, true)) return;
  error_code ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
  for (const auto& session : state_->sessions) {
    if (!session->busy) beast::get_lowest_layer(session->stream).cancel();
  }
}

std::size_t WebhookDoor::connections() const {
  return state_->sessions.size();
}

}  // namespace sluice::injector
