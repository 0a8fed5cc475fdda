// One coroutine per connection. A stream of events has no queue: it keeps the last id it sent and
// takes the rest from the ring, so that a slow reader costs no memory and gets a note of what it
// missed.

#include "common/api/api_server.h"

#include "common/api/api_text.h"
#include "common/api/door_fields.h"
#include "common/net/server/listener.h"
#include "common/net/socket.h"
#include "common/time/clock.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <list>
#include <sys/socket.h>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace sluice::api {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::Socket;
using Stream = beast::basic_stream<asio::generic::stream_protocol>;

namespace {

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

// A stream that has much to say says it in pieces of about this size, so that a slow reader of the
// whole ring holds no more than one.
constexpr std::size_t kPieceBytes = 64U << 10U;

constexpr int kOk = 200;

// After this many requests a peer has to open a new connection.
constexpr int kRequestsMax = 100'000;

std::string_view view_of(beast::string_view text) {
  return {text.data(), text.size()};
}

// Its views stay good as long as `message`, whose body goes.
ApiRequest plain_request(http::request<http::string_body>& message, Proof proof) {
  ApiRequest request;
  request.proof = proof;
  request.change.authority = view_of(message[http::field::host]);
  for (const auto& field : message) {
    request.change.take(view_of(field.name_string()), view_of(field.value()));
  }
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.last_event_id = std::string(message["Last-Event-ID"]);
  request.if_none_match = std::string(message[http::field::if_none_match]);
  request.accept_encoding = std::string(message[http::field::accept_encoding]);
  request.body = std::move(message.body());
  return request;
}

template <class Body>
void add_door_fields(http::response<Body>& response) {
  for (const DoorField& field : door_fields()) {
    response.set(beast::string_view{field.name.data(), field.name.size()},
                 beast::string_view{field.value.data(), field.value.size()});
  }
}

// Whether there is something to read now.
bool has_bytes(Socket& socket) {
  char byte = 0;
  return ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

http::response<http::string_body> whole_response(sluice::http::ApiAnswer answer, bool keep_alive) {
  http::response<http::string_body> response{static_cast<http::status>(answer.status), 11};
  response.set(http::field::content_type, answer.content_type);
  response.set(http::field::cache_control, "no-store");
  add_door_fields(response);
  if (!answer.allow.empty()) {
    response.set(http::field::allow, answer.allow);
  }
  if (answer.status == 503) {
    response.set(http::field::retry_after, "1");
  }
  for (const auto& [name, value] : answer.fields) response.set(name, value);
  response.keep_alive(keep_alive);
  response.body() = std::move(answer.body);
  // A length there is that of the 200 in its place (RFC 9110, 8.6).
  if (response.result() != http::status::not_modified) response.prepare_payload();
  return response;
}

sluice::http::ApiProblem parse_problem(const error_code& failed, std::uint64_t body_max) {
  if (failed == http::error::body_limit) {
    return {413, "too-large", "Too large",
            "the body is larger than " + std::to_string(body_max) + " bytes",
            "send a smaller document"};
  }
  if (failed == http::error::header_limit || failed == http::error::buffer_overflow) {
    return {431, "header-too-large", "Header too large", "the header is larger than 16 KiB",
            "send fewer header fields"};
  }
  return {400, "bad-request", "Bad request", "not an HTTP/1.1 request: " + failed.message(),
          "send HTTP/1.1"};
}

sluice::http::ApiAnswer too_many(const std::string& what, std::size_t max, const char* fix) {
  return sluice::http::problem_answer({503, "too-many-" + what, "Too many " + what,
                                       "the API serves " + std::to_string(max) + " at a time",
                                       fix});
}

}  // namespace

// What outlives a session's coroutine while handlers are on their way. `wake` is the session's
// alarm: news for a waiting stream cancels it.
struct ApiServer::Session {
  Session(Socket socket, Proof shown)
      : stream(std::move(socket)), proof(shown), wake(stream.get_executor()) {}

  void close() {
    error_code ignored;
    stream.socket().close(ignored);
  }

  Stream stream;
  Proof proof;
  asio::steady_timer wake;
  beast::flat_buffer buffer;
  EventRing::Subscription news;  // ended by ~ApiServer at the latest, while the ring is there
  bool peer_gone = false;
  bool reading = true;     // waits for a request, or for the rest of one
  bool streaming = false;  // its answer has no end of its own
  bool waiting = false;    // its answer comes later
  bool leaving = false;    // was closed to make room
};

struct ApiServer::State {
  State(asio::io_context& io, ApiSource& answers, Limits bounds)
      : loop(io), source(&answers), limits(bounds) {}

  asio::io_context& loop;
  Clock clock;
  std::list<std::unique_ptr<net::Listener>> doors;
  ApiSource* source;  // null once the server is gone
  Limits limits;
  bool stopping = false;
  std::list<std::shared_ptr<Session>> sessions;  // in the order in which they came

  static asio::awaitable<void> serve(std::shared_ptr<State> state,
                                     std::shared_ptr<Session> session);
  asio::awaitable<bool> serve_one(const std::shared_ptr<State>& self,
                                  const std::shared_ptr<Session>& session);
  asio::awaitable<bool> write_whole(Session& session, sluice::http::ApiAnswer answer,
                                    bool keep_alive, bool head);
  asio::awaitable<bool> collect(ApiAnswer& answer);
  asio::awaitable<bool> collect_later(const std::shared_ptr<Session>& session, ApiAnswer& answer);
  asio::awaitable<void> stream_out(const std::shared_ptr<Session>& session,
                                   const ApiAnswer& answer);
  asio::awaitable<bool> write_head(Session& session, const ApiAnswer& answer);
  asio::awaitable<bool> write_text(Session& session, const std::string& text);
  asio::awaitable<bool> wait_for_news(Session& session);
  void watch_peer(const std::shared_ptr<Session>& session);
  void begin(const std::shared_ptr<State>& self, Socket socket, Proof proof);
  [[nodiscard]] bool make_room(Proof proof);
  [[nodiscard]] std::size_t streams(Proof proof) const;
};

// Each proof has its own places: others on the machine do not keep the program's user out. One that
// merely holds a connection keeps no other out.
bool ApiServer::State::make_room(Proof proof) {
  std::size_t taken = 0;
  Session* idle = nullptr;
  for (const auto& session : sessions) {
    if (session->proof != proof || session->leaving) continue;
    ++taken;
    if (idle == nullptr && session->reading) idle = session.get();
  }
  if (taken < limits.connections_max) return true;
  if (idle == nullptr) return false;
  idle->leaving = true;
  idle->close();
  return true;
}

std::size_t ApiServer::State::streams(Proof proof) const {
  return static_cast<std::size_t>(
      std::count_if(sessions.begin(), sessions.end(), [proof](const auto& session) {
        return session->proof == proof && (session->streaming || session->waiting);
      }));
}

void ApiServer::State::begin(const std::shared_ptr<State>& self, Socket socket, Proof proof) {
  auto session = std::make_shared<Session>(std::move(socket), proof);
  if (!make_room(proof)) {
    // A short answer fits the empty socket buffer: no need to wait for it.
    const std::string body = too_many("connections", limits.connections_max,
                                      "close some: event streams and logs -f hold one each")
                                 .body;
    std::string head =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
        "Content-Type: application/problem+json\r\n" +
        std::string(door_lines()) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
        body;
    error_code ignored;
    session->stream.socket().non_blocking(true, ignored);
    session->stream.socket().write_some(asio::buffer(head), ignored);
    return;
  }
  sessions.push_back(session);
  asio::co_spawn(loop, serve(self, session), [self, session](const std::exception_ptr&) {
    // An exception here is out of memory or a library's surprise: it ends this session alone.
    session->close();
    self->sessions.remove(session);
  });
}

asio::awaitable<void> ApiServer::State::serve(std::shared_ptr<State> state,
                                              std::shared_ptr<Session> session) {
  // One that came while the doors closed is answered too.
  int served = 0;
  bool more = true;
  while (more && served < kRequestsMax) {
    more = co_await state->serve_one(state, session);
    more = more && !state->stopping;
    ++served;
  }
  error_code ignored;
  session->stream.socket().shutdown(Socket::shutdown_both, ignored);
}

asio::awaitable<bool> ApiServer::State::serve_one(const std::shared_ptr<State>& self,
                                                  const std::shared_ptr<Session>& session) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(limits.header_bytes_max);
  // No spec comes through the front door, where any user of the machine may send a body.
  const std::uint64_t body_max =
      session->proof == Proof::socket ? limits.body_bytes_max : limits.door_body_bytes_max;
  parser.body_limit(body_max);
  session->stream.expires_after(limits.idle);
  session->reading = true;
  const auto [failed, size] =
      co_await http::async_read(session->stream, session->buffer, parser, kToken);
  session->reading = false;
  if (self->source == nullptr || session->leaving) {
    co_return false;
  }
  if (failed) {
    // Only what the parser objects to is answered; a peer that left or stays silent is not.
    if (failed.category() == make_error_code(http::error::body_limit).category() &&
        failed != http::error::end_of_stream && failed != http::error::partial_message) {
      const auto refused = sluice::http::problem_answer(parse_problem(failed, body_max));
      co_await write_whole(*session, refused, false, false);
    }
    co_return false;
  }
  const bool keep_alive = parser.get().keep_alive();
  const bool head = parser.get().method() == http::verb::head;
  http::request<http::string_body> message = parser.release();
  const ApiRequest request = plain_request(message, session->proof);
  ApiAnswer answer = source->answer(request);
  if (answer.parts) {
    const bool whole = co_await collect(answer);
    if (!whole) co_return false;
  }
  if (!head && answer.later) {
    const bool whole = co_await collect_later(session, answer);
    if (!whole) co_return false;
  }
  if (!head && answer.stream && streams(session->proof) < limits.streams_max) {
    co_await stream_out(session, answer);
    co_return false;
  }
  sluice::http::ApiAnswer whole = std::move(static_cast<sluice::http::ApiAnswer&>(answer));
  if (!head && answer.stream) {
    whole = too_many("streams", limits.streams_max, "close some: each reader holds one");
  }
  const bool keeps = keep_alive && !stopping;
  const bool written = co_await write_whole(*session, std::move(whole), keeps, head);
  co_return written&& keeps;
}

asio::awaitable<bool> ApiServer::State::write_whole(Session& session,
                                                    sluice::http::ApiAnswer answer, bool keep_alive,
                                                    bool head) {
  http::response<http::string_body> response = whole_response(std::move(answer), keep_alive);
  if (head) {
    response.body().clear();
  }
  session.stream.expires_after(limits.idle);
  const auto [failed, size] = co_await http::async_write(session.stream, response, kToken);
  co_return !failed;
}

// False when the source has gone meanwhile.
asio::awaitable<bool> ApiServer::State::collect(ApiAnswer& answer) {
  while (true) {
    const TimePoint end = clock.now() + limits.turn;
    bool more = answer.parts(answer.body);
    while (more && clock.now() < end) more = answer.parts(answer.body);
    co_await asio::post(loop, asio::use_awaitable);
    if (source == nullptr || !more) co_return source != nullptr;
  }
}

// False when the client is gone. A connection that is kept is not watched on.
asio::awaitable<bool> ApiServer::State::collect_later(const std::shared_ptr<Session>& session,
                                                      ApiAnswer& answer) {
  // The answer may come after this session is gone: both ends hold it.
  const auto result = std::make_shared<std::optional<sluice::http::ApiAnswer>>();
  session->waiting = true;
  answer.later([result, session](sluice::http::ApiAnswer whole) {
    *result = std::move(whole);
    session->wake.cancel();
  });
  watch_peer(session);
  while (!result->has_value() && !session->peer_gone && source != nullptr) {
    session->wake.expires_after(limits.idle);
    co_await session->wake.async_wait(kToken);
  }
  session->waiting = false;
  if (!result->has_value() || source == nullptr || session->leaving) co_return false;
  error_code ignored;
  session->stream.socket().cancel(ignored);
  // A stream follows nothing but a good beginning.
  if ((*result)->status != kOk) answer.stream.reset();
  static_cast<sluice::http::ApiAnswer&>(answer) = std::move(**result);
  co_return true;
}

// A peer that waits for an answer may send its next request, which stays unread; one that has ended
// its side is gone, as is the client of a stream, which has nothing more to send.
void ApiServer::State::watch_peer(const std::shared_ptr<Session>& session) {
  session->stream.expires_never();
  session->stream.socket().async_wait(Socket::wait_read, [session](const error_code& failed) {
    if (failed == asio::error::operation_aborted) return;
    if (!session->streaming && has_bytes(session->stream.socket())) return;
    session->peer_gone = true;
    session->wake.cancel();
  });
}

// False when the heartbeat came first.
asio::awaitable<bool> ApiServer::State::wait_for_news(Session& session) {
  session.wake.expires_after(limits.heartbeat);
  const auto [cancelled] = co_await session.wake.async_wait(kToken);
  co_return cancelled == asio::error::operation_aborted;
}

asio::awaitable<bool> ApiServer::State::write_text(Session& session, const std::string& text) {
  if (text.empty()) {
    co_return true;
  }
  const auto chunk = http::make_chunk(asio::buffer(text));
  session.stream.expires_after(limits.idle);
  const auto [failed, size] = co_await asio::async_write(session.stream, chunk, kToken);
  session.stream.expires_never();
  co_return !failed;
}

asio::awaitable<bool> ApiServer::State::write_head(Session& session, const ApiAnswer& answer) {
  http::response<http::empty_body> head{http::status::ok, 11};
  head.set(http::field::content_type, answer.content_type);
  head.set(http::field::cache_control, "no-store");
  add_door_fields(head);
  head.keep_alive(false);
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer{head};
  session.stream.expires_after(limits.idle);
  const auto [failed, size] = co_await http::async_write_header(session.stream, serializer, kToken);
  co_return !failed;
}

asio::awaitable<void> ApiServer::State::stream_out(const std::shared_ptr<Session>& session,
                                                   const ApiAnswer& answer) {
  const ApiStream& wanted = *answer.stream;
  session->streaming = true;
  const bool begun = co_await write_head(*session, answer);
  if (!begun || source == nullptr) {
    co_return;
  }
  session->news = source->events().subscribe(
      wanted.filter,
      [waiting = session.get()](const std::shared_ptr<const Event>&) { waiting->wake.cancel(); });
  if (wanted.states) {
    wanted.states->on_news([waiting = session.get()] { waiting->wake.cancel(); });
  }
  watch_peer(session);
  std::uint64_t seen = wanted.after;
  std::string text = wanted.sse && answer.body.empty() ? ": sluice events\n\n" : answer.body;
  while (true) {
    const bool written = co_await write_text(*session, text);
    if (!written || session->peer_gone || stopping || source == nullptr) {
      break;
    }
    const EventRing::Backlog backlog = source->events().after(seen, wanted.filter);
    text.clear();
    if (wanted.sse && backlog.missed > 0) {
      text = wanted.missed_text.empty()
                 ? ": missed " + std::to_string(backlog.missed) + " events\n\n"
                 : wanted.missed_text;
    }
    std::uint64_t taken = source->events().last_id();
    for (const auto& event : backlog.events) {
      text += wanted.text_of(*event);
      if (text.size() < kPieceBytes) continue;
      taken = event->id;
      break;
    }
    seen = taken;
    if (wanted.states) text += wanted.states->take();
    if (text.empty()) {
      const bool woken = co_await wait_for_news(*session);
      text = !woken && wanted.sse ? ": still here\n\n" : "";
    }
  }
  session->news = {};
  const auto last = http::make_chunk_last();
  session->stream.expires_after(limits.idle);
  co_await asio::async_write(session->stream, last, kToken);
}

ApiServer::ApiServer(asio::io_context& loop, ApiSource& source, Limits limits)
    : state_(std::make_shared<State>(loop, source, limits)) {}

ApiServer::~ApiServer() {
  stop();
  state_->source = nullptr;
  for (const auto& session : state_->sessions) {
    session->news = {};
    session->close();
  }
}

Result<net::Address, Problem> ApiServer::listen(const net::Address& address, Proof proof) {
  auto door = std::make_unique<net::Listener>(
      state_->loop, [weak = std::weak_ptr<State>{state_}, proof](Socket socket) {
        const auto state = weak.lock();
        if (state == nullptr) return;
        net::prepare(socket);
        state->begin(state, std::move(socket), proof);
      });
  auto bound = door->open(address);
  if (!bound) return bound;
  if (address.is_unix()) ::chmod(address.path.c_str(), 0600);
  state_->doors.push_back(std::move(door));
  return bound;
}

void ApiServer::stop() {
  if (std::exchange(state_->stopping, true)) {
    return;
  }
  for (const auto& door : state_->doors) door->close();
  for (const auto& session : state_->sessions) {
    if (session->streaming || session->waiting) {
      session->wake.cancel();
    } else {
      error_code ignored;
      session->stream.socket().shutdown(Socket::shutdown_receive, ignored);
    }
  }
}

std::size_t ApiServer::connections() const {
  return state_->sessions.size();
}

}  // namespace sluice::api
