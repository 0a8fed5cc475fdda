// One coroutine per connection. A stream of events holds no queue of its own: it remembers the last
// id it sent and takes the rest from the ring, so that a slow reader costs no memory and is told
// what it missed.

#include "programs/sluice/engine/api_server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/engine/api_routes.h"
#include "programs/sluice/engine/engine_api.h"
#include "programs/sluice/engine/event_ring.h"
#include <algorithm>
#include <list>
#include <set>
#include <sys/stat.h>
#include <utility>

namespace sluice::local {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using Protocol = asio::local::stream_protocol;
using Stream = beast::basic_stream<Protocol>;

namespace {

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

// A peer that goes on past this many requests opens a new connection.
constexpr int kRequestsMax = 100'000;

ApiRequest plain_request(http::request<http::string_body>&& message, Proof proof) {
  ApiRequest request;
  request.proof = proof;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.last_event_id = std::string(message["Last-Event-ID"]);
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

http::response<http::string_body> whole_response(const sluice::http::ApiAnswer& answer,
                                                 bool keep_alive) {
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
  response.keep_alive(keep_alive);
  response.body() = answer.body;
  response.prepare_payload();
  return response;
}

ApiProblem parse_problem(const error_code& failed, std::uint64_t body_max) {
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

// Empty for an event that the stream does not carry.
std::string sse_text(const Event& event, Proof proof) {
  const auto data = event_data(event, proof);
  if (!data) {
    return {};
  }
  return "id: " + std::to_string(event.id) + "\nevent: " + event.type + "\ndata: " + *data + "\n\n";
}

}  // namespace

// What outlives a session's coroutine while handlers are on their way. `wake` is the session's
// alarm: whoever has news for a waiting stream cancels it.
struct ApiServer::Session {
  Session(Protocol::socket socket, Proof shown)
      : stream(std::move(socket)), proof(shown), wake(stream.get_executor()) {}

  Stream stream;
  Proof proof;
  asio::steady_timer wake;
  beast::flat_buffer buffer;
  EventRing::Subscription news;  // ended by ~ApiServer at the latest, while the ring is there
  bool peer_gone = false;
  bool streaming = false;
};

// One socket that is listened on.
struct ApiServer::Entrance {
  Entrance(asio::io_context& io, Proof shown) : acceptor(io), proof(shown) {}

  Protocol::acceptor acceptor;
  Proof proof;  // of each client that comes in here
  std::filesystem::path path;
};

struct ApiServer::State {
  State(asio::io_context& io, EngineApi& engine, const Clock& time, Limits bounds)
      : loop(io), api(&engine), clock(&time), limits(bounds) {}

  asio::io_context& loop;
  std::list<std::shared_ptr<Entrance>> entrances;
  EngineApi* api;      // null once the server is gone
  const Clock* clock;  // borrowed from the engine, used only while api is not null
  Limits limits;
  bool stopping = false;
  std::set<std::shared_ptr<Session>> sessions;

  static asio::awaitable<void> accept_all(std::shared_ptr<State> state,
                                          std::shared_ptr<Entrance> entrance);
  static asio::awaitable<void> serve(std::shared_ptr<State> state,
                                     std::shared_ptr<Session> session);
  asio::awaitable<bool> serve_one(const std::shared_ptr<State>& self,
                                  const std::shared_ptr<Session>& session);
  asio::awaitable<bool> write_whole(Session& session, const sluice::http::ApiAnswer& answer,
                                    bool keep_alive, bool head);
  asio::awaitable<void> shut_down(const std::shared_ptr<Session>& session);
  asio::awaitable<void> stream_out(const std::shared_ptr<Session>& session,
                                   const ApiAnswer& answer);
  asio::awaitable<bool> write_text(Session& session, const std::string& text);
  asio::awaitable<bool> wait_for_news(Session& session);
  void watch_peer(const std::shared_ptr<Session>& session);
  void begin(const std::shared_ptr<State>& self, Protocol::socket socket, Proof proof);
  [[nodiscard]] bool full(Proof proof) const;
};

asio::awaitable<void> ApiServer::State::accept_all(std::shared_ptr<State> state,
                                                   std::shared_ptr<Entrance> entrance) {
  asio::steady_timer pause(state->loop);
  while (!state->stopping) {
    auto [failed, socket] = co_await entrance->acceptor.async_accept(kToken);
    if (state->stopping || failed == asio::error::operation_aborted) {
      break;
    }
    if (failed) {
      // Out of descriptors: the connection waits in the backlog.
      pause.expires_after(std::chrono::milliseconds{100});
      co_await pause.async_wait(kToken);
      continue;
    }
    state->begin(state, std::move(socket), entrance->proof);
  }
}

// Each proof has its own places: others on the machine do not keep the engine's user out.
bool ApiServer::State::full(Proof proof) const {
  const auto taken = std::count_if(sessions.begin(), sessions.end(), [proof](const auto& session) {
    return session->proof == proof;
  });
  return static_cast<std::size_t>(taken) >= limits.connections_max;
}

void ApiServer::State::begin(const std::shared_ptr<State>& self, Protocol::socket socket,
                             Proof proof) {
  auto session = std::make_shared<Session>(std::move(socket), proof);
  if (full(proof)) {
    // A short answer fits the empty socket buffer: no need to wait for it.
    const auto text = whole_response(
        sluice::http::problem_answer(
            {503, "too-many-connections", "Too many connections",
             "the API serves " + std::to_string(limits.connections_max) + " at a time",
             "close some: event streams and logs -f hold one each"}),
        false);
    std::string head =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
        "Content-Type: application/problem+json\r\n" +
        std::string(door_lines()) + "Content-Length: " + std::to_string(text.body().size()) +
        "\r\n\r\n" + text.body();
    error_code ignored;
    session->stream.socket().non_blocking(true, ignored);
    session->stream.socket().write_some(asio::buffer(head), ignored);
    return;
  }
  sessions.insert(session);
  asio::co_spawn(loop, serve(self, session), [self, session](const std::exception_ptr&) {
    // An exception here is out of memory or a library's surprise: it ends this session alone.
    error_code ignored;
    session->stream.socket().close(ignored);
    self->sessions.erase(session);
  });
}

asio::awaitable<void> ApiServer::State::serve(std::shared_ptr<State> state,
                                              std::shared_ptr<Session> session) {
  for (int served = 0; served < kRequestsMax && !state->stopping; ++served) {
    const bool more = co_await state->serve_one(state, session);
    if (!more) {
      break;
    }
  }
  error_code ignored;
  session->stream.socket().shutdown(Protocol::socket::shutdown_both, ignored);
}

asio::awaitable<bool> ApiServer::State::serve_one(const std::shared_ptr<State>& self,
                                                  const std::shared_ptr<Session>& session) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(limits.header_bytes_max);
  // No spec comes through the front door, where anybody on the machine may send a body.
  const std::uint64_t body_max =
      session->proof == Proof::socket ? limits.body_bytes_max : limits.door_body_bytes_max;
  parser.body_limit(body_max);
  session->stream.expires_after(limits.idle);
  const auto [failed, size] =
      co_await http::async_read(session->stream, session->buffer, parser, kToken);
  if (self->api == nullptr) {
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
  const bool keep_alive = parser.get().keep_alive() && !stopping;
  const bool head = parser.get().method() == http::verb::head;
  const ApiRequest request = plain_request(parser.release(), session->proof);
  const ApiAnswer answer = answer_request(*api, request, clock->now());
  if (answer.kind == ApiAnswerKind::whole || head) {
    const bool written = co_await write_whole(*session, answer, keep_alive, head);
    co_return written&& keep_alive;
  }
  if (answer.kind == ApiAnswerKind::shutdown) {
    co_await shut_down(session);
  } else {
    co_await stream_out(session, answer);
  }
  co_return false;
}

asio::awaitable<bool> ApiServer::State::write_whole(Session& session,
                                                    const sluice::http::ApiAnswer& answer,
                                                    bool keep_alive, bool head) {
  http::response<http::string_body> response = whole_response(answer, keep_alive);
  if (head) {
    response.body().clear();
  }
  session.stream.expires_after(limits.idle);
  const auto [failed, size] = co_await http::async_write(session.stream, response, kToken);
  co_return !failed;
}

asio::awaitable<void> ApiServer::State::shut_down(const std::shared_ptr<Session>& session) {
  // The result may come after this session is gone: both ends hold it.
  const auto result = std::make_shared<std::optional<ShutdownResult>>();
  session->streaming = true;
  api->begin_shutdown([result, session](const ShutdownResult& ended) {
    *result = ended;
    session->wake.cancel();
  });
  watch_peer(session);
  while (!result->has_value() && !session->peer_gone && api != nullptr) {
    session->wake.expires_after(limits.idle);
    co_await session->wake.async_wait(kToken);
  }
  if (result->has_value()) {
    ApiAnswer answer;
    answer.body = nlohmann::json{{"stopped", (*result)->stopped}, {"cut", (*result)->cut}}.dump();
    answer.body += "\n";
    co_await write_whole(*session, answer, false, false);
  }
}

// A stream's client sends nothing more: bytes or an end from it both mean that it is done.
void ApiServer::State::watch_peer(const std::shared_ptr<Session>& session) {
  session->stream.expires_never();
  session->stream.socket().async_wait(Protocol::socket::wait_read, [session](const error_code&) {
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

asio::awaitable<void> ApiServer::State::stream_out(const std::shared_ptr<Session>& session,
                                                   const ApiAnswer& answer) {
  const bool sse = answer.kind == ApiAnswerKind::events;
  session->streaming = true;
  http::response<http::empty_body> head{http::status::ok, 11};
  head.set(http::field::content_type, answer.content_type);
  head.set(http::field::cache_control, "no-store");
  add_door_fields(head);
  head.keep_alive(false);
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer{head};
  session->stream.expires_after(limits.idle);
  const auto [failed, size] =
      co_await http::async_write_header(session->stream, serializer, kToken);
  if (failed || api == nullptr) {
    co_return;
  }
  session->news = api->events().subscribe(
      answer.filter,
      [waiting = session.get()](const std::shared_ptr<const Event>&) { waiting->wake.cancel(); });
  watch_peer(session);
  std::uint64_t seen = answer.after;
  std::string text = sse ? ": sluice events\n\n" : answer.body;
  while (true) {
    const bool written = co_await write_text(*session, text);
    if (!written || session->peer_gone || stopping || api == nullptr) {
      break;
    }
    const EventRing::Backlog backlog = api->events().after(seen, answer.filter);
    text.clear();
    if (sse && backlog.missed > 0) {
      text = ": missed " + std::to_string(backlog.missed) + " events\n\n";
    }
    for (const auto& event : backlog.events) {
      text += sse ? sse_text(*event, answer.proof) : log_line_of(*event);
    }
    seen = api->events().last_id();
    if (text.empty()) {
      const bool woken = co_await wait_for_news(*session);
      text = !woken && sse ? ": still here\n\n" : "";
    }
  }
  session->news = {};
  const auto last = http::make_chunk_last();
  session->stream.expires_after(limits.idle);
  co_await asio::async_write(session->stream, last, kToken);
}

ApiServer::ApiServer(asio::io_context& loop, EngineApi& api, const Clock& clock, Limits limits)
    : state_(std::make_shared<State>(loop, api, clock, limits)) {}

ApiServer::~ApiServer() {
  stop();
  state_->api = nullptr;
  for (const auto& session : state_->sessions) {
    error_code ignored;
    session->news = {};
    session->stream.socket().close(ignored);
  }
}

std::optional<Problem> ApiServer::listen(const std::filesystem::path& socket_path, Proof proof) {
  error_code failed;
  const auto problem = [&] {
    return Problem{.what = "cannot listen on " + socket_path.string() + ": " + failed.message(),
                   .fix = "make the directory writable, or set XDG_RUNTIME_DIR"};
  };
  std::error_code ignored;
  std::filesystem::remove(socket_path, ignored);
  const auto entrance = std::make_shared<Entrance>(state_->loop, proof);
  Protocol::acceptor& acceptor = entrance->acceptor;
  acceptor.open(Protocol(), failed);
  if (!failed) {
    acceptor.bind(Protocol::endpoint(socket_path.string()), failed);
  }
  if (!failed) {
    ::chmod(socket_path.c_str(), 0600);
    acceptor.listen(128, failed);
  }
  if (failed) {
    return problem();
  }
  entrance->path = socket_path;
  state_->entrances.push_back(entrance);
  asio::co_spawn(state_->loop, State::accept_all(state_, entrance),
                 [](const std::exception_ptr&) {});
  return std::nullopt;
}

void ApiServer::stop() {
  if (std::exchange(state_->stopping, true)) {
    return;
  }
  error_code ignored;
  for (const auto& entrance : state_->entrances) {
    entrance->acceptor.close(ignored);
    std::error_code failed;
    std::filesystem::remove(entrance->path, failed);
  }
  for (const auto& session : state_->sessions) {
    if (session->streaming) {
      session->wake.cancel();
    } else {
      session->stream.socket().shutdown(Protocol::socket::shutdown_receive, ignored);
    }
  }
}

std::size_t ApiServer::connections() const {
  return state_->sessions.size();
}

}  // namespace sluice::local
