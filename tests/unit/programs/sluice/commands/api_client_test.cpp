// The client of the verbs, against a server of one answer on a Unix socket.

#include "programs/sluice/commands/api_client.h"

#include "common/net/socket.h"
#include "tests/unit/common/files/scratch_directory.h"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace sluice::commands {
namespace {

class ApiClientTest : public ::testing::Test {
 protected:
  ~ApiClientTest() override {
    ::shutdown(listener_, SHUT_RDWR);
    if (server_.joinable()) server_.join();
    ::close(listener_);
  }

  /// Sends `answer` to the first request, then closes; an empty one: when the client does.
  void serve(std::string answer) {
    const net::Endpoint endpoint = net::endpoint_of(place_.at);
    ASSERT_EQ(::bind(listener_, static_cast<const sockaddr*>(endpoint.data()),
                     static_cast<socklen_t>(endpoint.size())),
              0);
    ASSERT_EQ(::listen(listener_, 1), 0);
    server_ = std::thread{[this, answer = std::move(answer)] {
      const int peer = ::accept(listener_, nullptr, nullptr);
      char block[4096];
      const bool mute = answer.empty();
      do {
        const ssize_t got = ::read(peer, block, sizeof block);
        if (got <= 0) break;
        request_.append(block, static_cast<std::size_t>(got));
      } while (mute || request_.find("\r\n\r\n") == std::string::npos);
      (void)::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(peer);
    }};
  }

  const std::string& request() {
    server_.join();
    return request_;
  }

  files::ScratchDirectory directory_;
  ApiPlace place_{.name = "shop",
                  .at = {.host = {}, .port = 0, .path = (directory_.path() / "own.sock").string()}};
  int listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string request_;
  std::thread server_;
};

TEST_F(ApiClientTest, ReturnsTheWholeResponse) {
  serve("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok");
  const auto reply =
      ApiClient{place_}.send({.method = "PUT", .target = "/api/v1/services/a", .body = "{}"});

  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  EXPECT_EQ(reply->status, 202);
  EXPECT_EQ(reply->body, "ok");
  EXPECT_EQ(request(),
            "PUT /api/v1/services/a HTTP/1.1\r\nHost: localhost\r\nUser-Agent: sluice\r\n"
            "Content-Length: 2\r\nConnection: close\r\n\r\n{}");
}

TEST_F(ApiClientTest, ShowsATokenWithChangesAlone) {
  place_.token = "secret";
  serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(ApiClient{place_}.send({.target = "/api/v1/services"}).has_value());

  EXPECT_EQ(request().find("secret"), std::string::npos);
}

TEST_F(ApiClientTest, ShowsATokenWithAChange) {
  place_.token = "secret";
  serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(ApiClient{place_}.send({.method = "POST", .target = "/api/v1/a"}).has_value());

  EXPECT_NE(request().find("\r\nAuthorization: Bearer secret\r\n"), std::string::npos);
}

TEST_F(ApiClientTest, NamesTheEngineThatDoesNotAnswerAndTheReason) {
  const auto reply = ApiClient{place_}.send({.target = "/"});

  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().text(),
            "engine shop does not answer: cannot connect: No such file or directory; check it "
            "with: sluice doctor");
  const auto problem = ApiClient{place_}.follow("/", [](std::string_view) { return true; });
  EXPECT_EQ(problem, reply.error());
}

TEST_F(ApiClientTest, WaitsNoLongerThanTheCallAllows) {
  serve("");
  const auto reply =
      ApiClient{place_}.send({.target = "/", .timeout = std::chrono::milliseconds{5}});

  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().what, "engine shop does not answer: no answer in time");
}

TEST_F(ApiClientTest, FollowsUntilTheEngineEnds) {
  serve("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n4\r\n two\r\n");
  std::string seen;
  const auto problem = ApiClient{place_}.follow("/logs", [&seen](std::string_view text) {
    seen += text;
    return true;
  });

  EXPECT_FALSE(problem) << problem->text();
  EXPECT_EQ(seen, "one two");
}

TEST_F(ApiClientTest, FollowsUntilTheReaderHasEnough) {
  serve("HTTP/1.1 200 OK\r\n\r\none");
  int pieces = 0;
  const auto problem = ApiClient{place_}.follow("/logs", [&pieces](std::string_view) {
    ++pieces;
    return false;
  });

  EXPECT_FALSE(problem) << problem->text();
  EXPECT_EQ(pieces, 1);
}

TEST_F(ApiClientTest, ReportsAStreamThatCannotBeFollowed) {
  serve("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  const auto problem = ApiClient{place_}.follow("/logs", [](std::string_view) { return true; });

  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->text(), "shop answered with status 404; run it again without -f to see why");
}

}  // namespace
}  // namespace sluice::commands
