#include "common/net/h1/h1_codec.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

using State = Fed::State;

State head_state(std::string_view bytes, std::size_t limit = 64 * 1024) {
  RequestParser parser{limit};
  RequestHead head;
  return parser.feed_head(bytes, head).state;
}

TEST(RequestParser, ReadsAHeadThatComesByteByByte) {
  const std::string_view bytes = "POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n";
  RequestParser parser{64 * 1024};
  RequestHead head;
  std::string waiting;
  State state = State::need_more;

  for (const char c : bytes) {
    ASSERT_EQ(state, State::need_more);
    waiting += c;
    const Fed fed = parser.feed_head(waiting, head);
    waiting.erase(0, fed.used);
    state = fed.state;
  }

  EXPECT_EQ(state, State::done);
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/a?b=c");
  EXPECT_EQ(head.path(), "/a");
  EXPECT_EQ(head.framing, Framing::length);
  EXPECT_EQ(head.content_length, 3U);
  EXPECT_FALSE(parser.done());
}

TEST(RequestParser, RefusesHeadsThatTwoReadersCouldReadDifferently) {
  const std::string start = "POST / HTTP/1.1\r\n";
  const std::string host = "Host: h\r\n";
  for (const std::string& fields : {
           host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
           host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
           host + "Content-Length: 3\r\nContent-Length: 4\r\n",
           host + "Content-Length: -1\r\n",
           host + "Content-Length: 3, 4\r\n",
           host + "Transfer-Encoding: gzip, chunked\r\n",
           host + "Transfer-Encoding: chunked, gzip\r\n",
           host + "Transfer-Encoding: identity\r\n",
           host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           std::string{},
           host + "Host: i\r\n",
       }) {
    EXPECT_EQ(head_state(start + fields + "\r\n"), State::bad) << fields;
  }
}

TEST(RequestParser, TakesOldRequestsWithoutHostAndWithoutChunks) {
  EXPECT_EQ(head_state("GET / HTTP/1.0\r\n\r\n"), State::done);
  EXPECT_EQ(head_state("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), State::bad);
  EXPECT_EQ(head_state("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), State::bad);
}

TEST(RequestParser, ReportsWhetherTheConnectionStaysOpen) {
  const auto stays = [](std::string_view bytes) {
    RequestParser parser{1024};
    RequestHead head;
    EXPECT_EQ(parser.feed_head(bytes, head).state, State::done);
    return head.keep_alive;
  };

  EXPECT_TRUE(stays("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_FALSE(stays("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(stays("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(stays("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(RequestParser, BoundsTheHead) {
  const std::string long_field = "X: " + std::string(2000, 'x');

  EXPECT_EQ(head_state("GET / HTTP/1.1\r\nHost: h\r\n" + long_field + "\r\n\r\n", 1024),
            State::too_large);
  EXPECT_EQ(head_state("GET / HTTP/1.1\r\nHost: h\r\n" + long_field, 1024), State::too_large);
  EXPECT_EQ(head_state("GET /" + std::string(2000, 'x'), 1024), State::too_large);
}

TEST(RequestParser, RelaysChunksUnchangedWhereverTheyAreCut) {
  const std::string body = "5;a=b\r\nhello\r\n3\r\nyou\r\n0\r\nX-Sum: 1\r\n\r\n";
  for (std::size_t cut = 0; cut <= body.size(); ++cut) {
    RequestParser parser{1024};
    RequestHead head;
    parser.feed_head("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", head);
    std::string decoded;
    const Fed first = parser.feed_body(std::string_view{body}.substr(0, cut), &decoded);
    ASSERT_NE(first.state, State::bad) << cut;
    const std::string rest = body.substr(first.used) + "GET / HTTP/1.1\r\n";

    std::size_t used = first.used;
    if (first.state != State::done) used += parser.feed_body(rest, &decoded).used;

    EXPECT_TRUE(parser.done()) << cut;
    EXPECT_EQ(used, body.size()) << cut;
    EXPECT_EQ(decoded, "helloyou") << cut;
  }
}

TEST(RequestParser, RefusesBrokenChunks) {
  for (const std::string_view body : {"x\r\n", "5\r\nhelloyou\r\n", "-1\r\n", "\r\n"}) {
    RequestParser parser{1024};
    RequestHead head;
    parser.feed_head("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", head);

    EXPECT_EQ(parser.feed_body(body, nullptr).state, State::bad) << body;
  }
}

TEST(RequestParser, StopsAtTheEndOfItsMessage) {
  const std::string_view bytes = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET";
  RequestParser parser{1024};
  RequestHead head;

  const std::size_t used = parser.feed_head(bytes, head).used;
  const Fed body = parser.feed_body(bytes.substr(used), nullptr);

  EXPECT_EQ(body.state, State::done);
  EXPECT_EQ(bytes.substr(used + body.used), "GET");
}

TEST(ResponseParser, FindsNoBodyWhereThereIsNone) {
  const auto done_after_head = [](std::string_view bytes, bool to_head) {
    ResponseParser parser{1024};
    ResponseHead head;
    parser.reset(to_head);
    EXPECT_EQ(parser.feed_head(bytes, head).state, State::done);
    return parser.done();
  };

  EXPECT_TRUE(done_after_head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true));
  EXPECT_TRUE(done_after_head("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true));
  EXPECT_TRUE(done_after_head("HTTP/1.1 204 No Content\r\n\r\n", false));
  EXPECT_TRUE(done_after_head("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false));
  EXPECT_TRUE(done_after_head("HTTP/1.1 103 Early Hints\r\n\r\n", false));
  EXPECT_FALSE(done_after_head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false));
}

TEST(ResponseParser, TakesTheCloseAsEndOnlyWithoutOtherFraming) {
  const auto ends_at_close = [](std::string_view head_bytes, std::string_view body) {
    ResponseParser parser{1024};
    ResponseHead head;
    parser.feed_head(head_bytes, head);
    if (!body.empty()) parser.feed_body(body, nullptr);
    return parser.finish_at_close();
  };

  EXPECT_TRUE(ends_at_close("HTTP/1.1 200 OK\r\n\r\n", "abc"));
  EXPECT_FALSE(ends_at_close("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "abc"));
  EXPECT_FALSE(ends_at_close("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\nabc"));
  EXPECT_FALSE(ends_at_close("HTTP/1.1 200", ""));
}

}  // namespace
}  // namespace sluice::http
