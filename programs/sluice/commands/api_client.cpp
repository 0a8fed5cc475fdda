#include "programs/sluice/commands/api_client.h"

#include <boost/asio/io_context.hpp>
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
using Stream = beast::basic_stream<asio::local::stream_protocol>;

namespace {

constexpr std::uint64_t kReplyBytesMax = 64U << 20U;
constexpr std::size_t kPieceBytes = 16U << 10U;

Problem no_answer(const std::filesystem::path& socket_path, const error_code& failed) {
  const std::string engine = socket_path.parent_path().filename().string();
  return {.what = "engine " + engine + " does not answer: " + failed.message(),
          .fix = "check it with: sluice doctor"};
}

http::request<http::string_body> request_of(const ApiCall& call) {
  http::request<http::string_body> request{http::string_to_verb(call.method), call.target, 11};
  request.set(http::field::host, "localhost");
  request.set(http::field::user_agent, "sluice");
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

ApiClient::ApiClient(std::filesystem::path socket_path) : socket_path_(std::move(socket_path)) {}

Result<ApiReply, Problem> ApiClient::send(const ApiCall& call) const {
  asio::io_context loop(1);
  Stream stream(loop);
  stream.expires_after(call.timeout);
  const asio::local::stream_protocol::endpoint engine(socket_path_.string());
  const auto request = request_of(call);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kReplyBytesMax);
  error_code failed = finish(loop, [&](auto done) { stream.async_connect(engine, done); });
  if (!failed) {
    failed = finish(loop, [&](auto done) { http::async_write(stream, request, done); });
  }
  // An engine that refuses a connection answers before it is asked, and closes.
  if (!failed || failed == asio::error::broken_pipe) {
    failed = finish(loop, [&](auto done) { http::async_read(stream, buffer, parser, done); });
  }
  if (failed) {
    return no_answer(socket_path_, failed);
  }
  return ApiReply{.status = static_cast<int>(parser.get().result_int()),
                  .body = std::move(parser.get().body())};
}

std::optional<Problem> ApiClient::follow(
    const std::string& target, const std::function<bool(std::string_view)>& on_text) const {
  asio::io_context loop(1);
  asio::local::stream_protocol::socket socket(loop);
  error_code failed;
  socket.connect(asio::local::stream_protocol::endpoint(socket_path_.string()), failed);
  if (!failed) {
    http::write(socket, request_of({.target = target}), failed);
  }
  beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(boost::none);
  if (!failed || failed == asio::error::broken_pipe) {
    http::read_header(socket, buffer, parser, failed);
  }
  if (!failed && parser.get().result() != http::status::ok) {
    const std::string engine = socket_path_.parent_path().filename().string();
    return Problem{.what = "engine " + engine + " answered with status " +
                           std::to_string(parser.get().result_int()),
                   .fix = "run it again without -f to see why"};
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
    return no_answer(socket_path_, failed);
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
