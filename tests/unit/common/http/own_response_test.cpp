#include "common/http/own_response.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

std::string written(const OwnResponse& response, bool to_head = false, bool keep_alive = true) {
  std::string out;
  write_own_response(out, response, to_head, keep_alive);
  return out;
}

TEST(OwnResponse, NamesItsCauseAndRetryAfter) {
  EXPECT_EQ(written(response_for(Error::queue_full)),
            "HTTP/1.1 503 Service Unavailable\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Sluice-Error: queue-full\r\n"
            "Retry-After: 1\r\n"
            "Content-Length: 27\r\n\r\n"
            "pending request queue full\n");
}

TEST(OwnResponse, NamesTheReasonOfARedirect) {
  EXPECT_TRUE(written(plain_response(308, {})).starts_with("HTTP/1.1 308 Permanent Redirect\r\n"));
}

TEST(OwnResponse, HasTheReferencesTexts) {
  EXPECT_EQ(response_for(Error::queue_wait).body, "context deadline exceeded\n");
  EXPECT_EQ(response_for(Error::deadline_exceeded).body, "request timeout");
  EXPECT_EQ(response_for(Error::deadline_exceeded).status, 504);
  EXPECT_EQ(response_for(Error::upstream_reset).body, "EOF\n");
  EXPECT_EQ(response_for(Error::upstream_reset).status, 502);
}

TEST(OwnResponse, TakesDetailAndFacts) {
  const OwnResponse response =
      response_for(Error::deadline_exceeded, "activator request timeout", "timer=max; limit=5s");

  EXPECT_EQ(response.body, "activator request timeout");
  EXPECT_EQ(response.sluice_error, "timeout; timer=max; limit=5s");
}

TEST(OwnResponse, ClosesAfterARequestThatCannotBeReadToItsEnd) {
  EXPECT_TRUE(response_for(Error::bad_request).close);
  EXPECT_TRUE(response_for(Error::too_large).close);
  EXPECT_FALSE(response_for(Error::queue_full).close);
}

TEST(OwnResponse, HasItsLengthButNoBodyForHead) {
  EXPECT_EQ(
      written(plain_response(200, "hello"), true),
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\r\n");
}

TEST(OwnResponse, AnnouncesThatItCloses) {
  EXPECT_EQ(written(plain_response(200, ""), false, false),
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST(OwnResponse, UsesProblemJsonForErrorsOnly) {
  const OwnResponse problem = as_problem_json(response_for(Error::upstream_connect, "a \"b\"\n"));

  EXPECT_EQ(problem.content_type, "application/problem+json");
  EXPECT_EQ(problem.body,
            "{\"type\":\"urn:sluice:upstream\",\"title\":\"Bad Gateway\",\"status\":502,"
            "\"detail\":\"a \\\"b\\\"\"}\n");
  EXPECT_EQ(as_problem_json(plain_response(200, "x")).body, "x");
}

std::string lines_of(const HeaderBlock& block) {
  std::string out;
  for (std::size_t i = 0; i < block.size(); ++i) {
    out.append(block.at(i).name).append("=").append(block.at(i).value).append("\n");
  }
  return out;
}

TEST(OwnResponse, IsABlockOfHttp2) {
  HeaderBlock block;
  write_own_block(block, response_for(Error::queue_full));

  EXPECT_EQ(lines_of(block),
            ":status=503\n"
            "content-type=text/plain; charset=utf-8\n"
            "x-content-type-options=nosniff\n"
            "sluice-error=queue-full\n"
            "retry-after=1\n"
            "content-length=27\n");
}

TEST(OwnResponse, AnswersGrpcInOneBlockWithItsTextEncoded) {
  HeaderBlock block;
  write_grpc_block(block, response_for(Error::upstream_reset, "50% \xc3\xa4\nEOF\n", "at=here"));

  EXPECT_EQ(lines_of(block),
            ":status=200\n"
            "content-type=application/grpc\n"
            "grpc-status=14\n"
            "grpc-message=50%25 %C3%A4%0AEOF\n"
            "sluice-error=upstream; at=here\n");
}

TEST(OwnResponse, AnswersGrpcWithARetryPause) {
  HeaderBlock block;
  write_grpc_block(block, response_for(Error::draining));

  EXPECT_NE(lines_of(block).find("retry-after=1\n"), std::string::npos);
}

}  // namespace
}  // namespace sluice::http
