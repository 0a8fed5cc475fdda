#include "programs/sluice/commands/api_client.h"

#include "common/net/fetch.h"
#include "common/net/h1/h1_client.h"
#include "common/net/host_and_port.h"
#include "common/values/whole_number.h"

#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <cstdint>
#include <memory>
#include <utility>

namespace sluice::commands {
namespace {

constexpr std::size_t kReplyBytesMax = 64U << 20U;

Problem no_answer(const ApiPlace& place, const std::string& why) {
  if (place.is_server()) {
    return {.what = "the server " + place.name + " does not answer: " + why,
            .fix = "--server is the URL of an autoscaler's API, such as http://localhost:8082"};
  }
  return {.what = "engine " + place.name + " does not answer: " + why,
          .fix = "check it with: sluice doctor"};
}

std::string text_of(const ApiPlace& place, const ApiCall& call) {
  std::string text = call.method + " " + call.target + " HTTP/1.1\r\nHost: ";
  text.append(place.is_server() ? place.name : "localhost").append("\r\nUser-Agent: sluice\r\n");
  if (call.method != "GET") {
    if (!place.token.empty())
      text.append("Authorization: Bearer ").append(place.token).append("\r\n");
    text.append("Content-Length: ").append(std::to_string(call.body.size())).append("\r\n");
  }
  return text + "Connection: close\r\n\r\n" + call.body;
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
  const auto parts =
      net::host_and_port(std::string{authority} + (colon == std::string_view::npos ? ":8082" : ""));
  const auto port = parts ? whole_number<std::uint16_t>(parts->port) : std::nullopt;
  if (!port || authority.find_first_of("?#@") != std::string_view::npos) return wrong;
  return ApiPlace{.name = std::string{authority},
                  .at = {.host = parts->host, .port = *port, .path = {}}};
}

ApiClient::ApiClient(ApiPlace place) : place_(std::move(place)) {}

Result<ApiReply, Problem> ApiClient::send(const ApiCall& call) const {
  auto answer = net::fetch_now(
      {.target = place_.at,
       .text = text_of(place_, call),
       .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(call.timeout),
       .body_max = kReplyBytesMax,
       .lookup = net::look_up});
  if (!answer) return no_answer(place_, answer.error().why);
  return ApiReply{.status = answer->head.status, .body = std::move(answer->body)};
}

Result<ApiReply, Problem> ApiClient::hold(const ApiCall& call,
                                          const std::function<bool(std::string_view)>& on_text,
                                          const std::function<void(int)>& on_signal) const {
  using Kind = net::H1Client::Ending::Kind;
  boost::asio::io_context loop{1};
  boost::asio::signal_set signals{loop, SIGINT, SIGTERM, SIGHUP};
  const auto client = std::make_shared<net::H1Client>(loop, nullptr, net::look_up);
  ApiReply reply;
  std::optional<Problem> problem;
  const auto end = [&] {
    boost::system::error_code ignored;
    signals.cancel(ignored);
    client->close();
  };
  signals.async_wait([&](const boost::system::error_code& ec, int number) {
    if (ec) return;
    on_signal(number);
    end();
  });
  const auto on_head = [&](const http::ResponseHead& head) { reply.status = head.status; };
  const auto on_body = [&](std::string_view piece) {
    if (reply.status != 200) {
      reply.body.append(piece.substr(0, kReplyBytesMax - reply.body.size()));
    } else if (!on_text(piece)) {
      end();
    }
  };
  const auto on_end = [&](const net::H1Client::Ending& ending) {
    if (ending.kind == Kind::garbled || reply.status == 0) problem = no_answer(place_, ending.why);
    end();
  };
  net::H1Client::ask(client, place_.at, text_of(place_, call),
                     {.head = on_head, .body = on_body, .ended = on_end});
  loop.run();
  if (problem) return *problem;
  return reply;
}

std::optional<Problem> ApiClient::follow(
    const std::string& target, const std::function<bool(std::string_view)>& on_text) const {
  using Kind = net::H1Client::Ending::Kind;
  boost::asio::io_context loop{1};
  const auto client = std::make_shared<net::H1Client>(loop, nullptr, net::look_up);
  std::optional<Problem> problem;
  bool begun = false;
  const auto on_head = [&](const http::ResponseHead& head) {
    begun = true;
    if (head.status == 200) return;
    problem = Problem{.what = place_.name + " answered with status " + std::to_string(head.status),
                      .fix = "run it again without -f to see why"};
    client->close();
  };
  const auto on_body = [&](std::string_view piece) {
    if (!on_text(piece)) client->close();
  };
  // What has begun ends with the engine, whichever way the engine ends.
  const auto on_end = [&](const net::H1Client::Ending& ending) {
    if (ending.kind == Kind::garbled || !begun) problem = no_answer(place_, ending.why);
  };
  net::H1Client::ask(client, place_.at, text_of(place_, {.target = target}),
                     {.head = on_head, .body = on_body, .ended = on_end});
  loop.run();
  return problem;
}

}  // namespace sluice::commands
