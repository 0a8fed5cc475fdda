#include "programs/sluice/commands/api_client.h"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <array>
#include <utility>

namespace sluice::commands {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using Protocol = asio::generic::stream_protocol;
using Stream = beast::basic_stream<Protocol>;

namespace {

constexpr std::uint64_t kReplyBytesMax = 64U << 20U;
constexpr std::size_t kPieceBytes = 16U << 10U;

Problem no_answer(const ApiPlace& place, const error_code& failed) {
  if (place.is_server()) {
    return {.what = "the server " + place.name + " does not answer: " + failed.message(),
            .fix = "--server is the URL of an autoscaler's API, such as http://localhost:8082"};
  }
  return {.what = "engine " + place.name + " does not answer: " + failed.message(),
          .fix = "look at it with: sluice doctor"};
}

// The first address of a server that has several.
Protocol::endpoint endpoint_of(const ApiPlace& place, asio::io_context& loop, error_code& failed) {
  if (!place.is_server()) return asio::local::stream_protocol::endpoint{place.socket.string()};
  const auto found = asio::ip::tcp::resolver{loop}.resolve(place.host, place.port, failed);
  if (failed) return {};
  return found.begin()->endpoint();
}

http::request<http::string_body> request_of(const ApiPlace& place, const ApiCall& call) {
  http::request<http::string_body> request{http::string_to_verb(call.method), call.target, 11};
  request.set(http::field::host, place.is_server() ? place.name : "localhost");
  request.set(http::field::user_agent, "sluice");
  if (!place.token.empty() && call.method != "GET") {
    request.set(http::field::authorization, "Bearer " + place.token);
  }
  request.keep_alive(false);
  request.body() = call.body;
  request.prepare_payload();
  return request;
}

// Runs one asynchronous step to its end.
template <class Start>
error_code finish(asio::io_context& loop, Start&& start) {
  error_code result;
  start([&result](const error_code& failed, auto&&...) { result = failed; });
  loop.restart();
  loop.run();
  return result;
}

}  // namespace

Result<ApiPlace, Problem> parse_server(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  const Problem wrong{"--server: " + std::string{url} + " is not the URL of a server",
                      "give http://HOST:PORT, such as http://localhost:8082"};
  if (!url.starts_with(kScheme)) return wrong;
  std::string_view authority = url.substr(kScheme.size());
  while (authority.ends_with('/')) authority.remove_suffix(1);
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  ApiPlace place;
  place.host = authority.substr(0, colon);
  place.port = colon == std::string_view::npos ? "8082" : authority.substr(colon + 1);
  if (place.host.starts_with('[') && place.host.ends_with(']')) {
    place.host = place.host.substr(1, place.host.size() - 2);
  }
  const bool digits = place.port.find_first_not_of("0123456789") == std::string::npos;
  if (place.host.empty() || place.port.empty() || !digits ||
      authority.find_first_of("/?#@ ") != std::string_view::npos) {
    return wrong;
  }
  place.name = authority;
  return place;
}

ApiClient::ApiClient(ApiPlace place) : place_(std::move(place)) {}

Result<ApiReply, Problem> ApiClient::send(const ApiCall& call) const {
  asio::io_context loop(1);
  Stream stream(loop);
  stream.expires_after(call.timeout);
  const auto request = request_of(place_, call);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kReplyBytesMax);
  error_code failed;
  const Protocol::endpoint engine = endpoint_of(place_, loop, failed);
  if (!failed) failed = finish(loop, [&](auto done) { stream.async_connect(engine, done); });
  if (!failed) {
    failed = finish(loop, [&](auto done) { http::async_write(stream, request, done); });
  }
  // An engine that refuses a connection answers before it is asked, and closes.
  if (!failed || failed == asio::error::broken_pipe) {
    failed = finish(loop, [&](auto done) { http::async_read(stream, buffer, parser, done); });
  }
  if (failed) {
    return no_answer(place_, failed);
  }
  return ApiReply{.status = static_cast<int>(parser.get().result_int()),
                  .body = std::move(parser.get().body())};
}

std::optional<Problem> ApiClient::follow(
    const std::string& target, const std::function<bool(std::string_view)>& on_text) const {
  asio::io_context loop(1);
  Protocol::socket socket(loop);
  error_code failed;
  const Protocol::endpoint engine = endpoint_of(place_, loop, failed);
  if (!failed) socket.connect(engine, failed);
  if (!failed) http::write(socket, request_of(place_, {.target = target}), failed);
  beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(boost::none);
  if (!failed || failed == asio::error::broken_pipe) {
    http::read_header(socket, buffer, parser, failed);
  }
  if (!failed && parser.get().result() != http::status::ok) {
    return Problem{
        .what = place_.name + " answered with status " + std::to_string(parser.get().result_int()),
        .fix = "ask again without -f to see why"};
  }
  std::array<char, kPieceBytes> piece{};
  while (!failed && !parser.is_done()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    http::read_some(socket, buffer, parser, failed);
    if (failed == http::error::need_buffer) {
      failed = {};
    }
    const std::size_t size = piece.size() - parser.get().body().size;
    if (size > 0 && !on_text({piece.data(), size})) {
      return std::nullopt;
    }
  }
  if (failed && failed != http::error::end_of_stream && failed != http::error::partial_message) {
    return no_answer(place_, failed);
  }
  return std::nullopt;
}

std::string url_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  return out;
}

}  // namespace sluice::commands
