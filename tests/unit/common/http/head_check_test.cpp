// The strict policy for heads and chunks: what is refused, why, and that it does not depend on how
// the bytes were cut.

#include "common/net/h1/h1_codec.h"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

namespace sluice::http {
namespace {

using State = Fed::State;
using std::string_literals::operator""s;

struct Case {
  std::string bytes;
  std::string_view why;
};

Fed feed(RequestParser& parser, const std::string& bytes, std::size_t step) {
  RequestHead head;
  std::string waiting;
  Fed fed;
  for (std::size_t at = 0; at < bytes.size() && fed.state == State::need_more; at += step) {
    waiting += bytes.substr(at, step);
    fed = parser.feed_head(waiting, head);
    waiting.erase(0, fed.used);
  }
  return fed;
}

void expect_refused(const std::string& bytes, std::string_view why) {
  for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{7}}) {
    RequestParser parser{64 * 1024};
    const Fed fed = feed(parser, bytes, step);
    EXPECT_EQ(fed.state, State::bad) << bytes;
    EXPECT_EQ(fed.why, why) << bytes;
  }
}

TEST(HeadCheck, ThePathOfATargetIsFoundInEachForm) {
  for (const auto& [target, path] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"/a/b?c=/d", "/a/b"},
           {"http://host/a?b", "/a"},
           {"http://user@host/a#b", "/a#b"},
           {"http://host?a=/b", ""},
           {"http://host", ""},
           {"/a?to=http://host/b", "/a"},
           {"a?to=http://host/b", "a"},
           {"*", "*"},
           {"", ""},
       }) {
    EXPECT_EQ(path_of(target), path) << target;
  }
}

TEST(HeadCheck, TheRequestLineOfARefusedHeadIsExtracted) {
  const std::string longer(1000, 'a');
  for (const auto& [bytes, method, target] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"GET /a b HTTP/1.1\r\nHost: h\r\n", "GET", "/a"},
           {"\r\n\r\nG@T /a#b HTTP/9\r\n", "G@T", "/a#b"},
           {"GET /a", "GET", "/a"},
           {"GET \r\n/a ", "GET", ""},
           {"GET /" + longer, "GET", "/" + longer.substr(0, 255)},
           {" /a HTTP/1.1\r\n", "", ""},
           {"/a\r\nGET /b HTTP/1.1\r\n", "", ""},
           {"", "", ""},
       }) {
    RequestHead head;
    head.target = "/before";
    head.fields.add("Host", "before");
    glean_request_line(bytes, head);
    EXPECT_EQ(head.method, method) << bytes;
    EXPECT_EQ(head.target, target) << bytes;
    EXPECT_EQ(head.fields.size(), 0U) << bytes;
  }
}

TEST(HeadCheck, RefusesStartLinesThatTwoReadersCouldReadDifferently) {
  for (const auto& [line, why] : {
           Case{"GET  / HTTP/1.1", "reason=target"},
           Case{" GET / HTTP/1.1", "reason=method"},
           Case{"G(T / HTTP/1.1", "reason=method"},
           Case{"GET", "reason=method"},
           Case{"GET /", "reason=target"},
           Case{"GET x HTTP/1.1", "reason=target"},
           Case{"GET * HTTP/1.1", "reason=target"},
           Case{"GET /a#b HTTP/1.1", "reason=target"},
           Case{"GET /a\tb HTTP/1.1", "reason=target"},
           Case{"GET /a b HTTP/1.1", "reason=version"},
           Case{"GET / HTTP/1.2", "reason=version"},
           Case{"GET / HTTP/2.0", "reason=version"},
           Case{"GET / HTTP/1.1 ", "reason=version"},
           Case{"GET / http/1.1", "reason=version"},
           Case{"GET /\0 HTTP/1.1"s, "reason=nul"},
       }) {
    expect_refused(line + "\r\nHost: h\r\n\r\n", why);
  }
}

TEST(HeadCheck, RefusesFieldLinesThatTwoReadersCouldReadDifferently) {
  for (const auto& [line, why] : {
           Case{"A : b", "reason=space-before-colon"},
           Case{": b", "reason=empty-name"},
           Case{"A", "reason=no-colon"},
           Case{"A(b): c", "reason=field-name"},
           Case{" A: b", "reason=folded-line"},
           Case{"A: b\r\n c", "reason=folded-line"},
           Case{"A: b\r\n\tc", "reason=folded-line"},
           Case{"A: b\nC: d", "reason=bare-lf"},
           Case{"A: b\rC: d", "reason=bare-cr"},
           Case{"A: b\0c"s, "reason=nul"},
           Case{"A: b\x01", "reason=control-character"},
           Case{"A: b\x7f", "reason=control-character"},
       }) {
    expect_refused("GET / HTTP/1.1\r\nHost: h\r\n" + line + "\r\n\r\n", why);
  }
}

TEST(HeadCheck, RefusesAmbiguousLengthsCodingsAndHosts) {
  const std::string host = "Host: h\r\n";
  for (const auto& [fields, why] : {
           Case{host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                "reason=length-and-coding"},
           Case{host + "Content-Length: 18446744073709551616\r\n", "reason=content-length"},
           Case{host + "Content-Length: 9223372036854775808\r\n", "reason=content-length"},
           Case{host + "Content-Length: 0x3\r\n", "reason=content-length"},
           Case{host + "Transfer-Encoding: xchunked\r\n", "reason=transfer-encoding"},
           Case{"", "reason=no-host"},
           Case{host + host, "reason=several-hosts"},
           Case{"Host: a b\r\n", "reason=host"},
           Case{"Host: a,b\r\n", "reason=host"},
           Case{"Host: a/b\r\n", "reason=host"},
       }) {
    expect_refused("POST / HTTP/1.1\r\n" + fields + "\r\n", why);
  }
  for (const std::string length : {"3\r\nContent-Length: 3", "3, 3", "+3", "-3", "3 3", "", "3;"}) {
    RequestParser parser{64 * 1024};
    const std::string bytes =
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + length + "\r\n\r\n";
    EXPECT_EQ(feed(parser, bytes, bytes.size()).state, State::bad) << length;
  }
}

TEST(HeadCheck, AcceptsHeadsThatRealClientsSend) {
  for (const std::string& bytes : {
           "GET / HTTP/1.1\r\nHost:\r\n\r\n"s,
           "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"s,
           "GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n"s,
           "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n"s,
           "GET /a|b?c={\"d\"}&e=\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n"s,
           "GET / HTTP/1.1\r\nhost:h\r\nX: \t a\tb \xe9 \r\nY:\r\n\r\n"s,
           "\r\nGET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"s,
           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999\r\n\r\n"s,
       }) {
    RequestParser parser{64 * 1024};
    EXPECT_EQ(feed(parser, bytes, bytes.size()).state, State::done) << bytes;
    RequestParser slow{64 * 1024};
    EXPECT_EQ(feed(slow, bytes, 1).state, State::done) << bytes;
  }
}

// RFC 9112, 3.2.2 and 3.2.4: one host for who routes, who serves and who logs.
TEST(HeadCheck, TakesTheAuthorityOfAnAbsoluteTargetForTheHost) {
  struct Row {
    std::string start, fields, target, host;
  };

  for (const auto& [start, fields, target, host] : {
           Row{"GET http://inner/a?b HTTP/1.1", "Host: outer\r\n", "/a?b", "inner"},
           Row{"GET HTTPS://inner:8443 HTTP/1.1", "Host: outer\r\n", "/", "inner:8443"},
           Row{"GET http://inner?b=/c HTTP/1.1", "Host: outer\r\n", "/?b=/c", "inner"},
           Row{"GET http://[::1]:80//d HTTP/1.1", "Host:\r\n", "//d", "[::1]:80"},
           Row{"OPTIONS http://inner HTTP/1.1", "Host: outer\r\n", "*", "inner"},
           Row{"OPTIONS http://inner/ HTTP/1.1", "Host: outer\r\n", "/", "inner"},
           Row{"GET http://inner/a HTTP/1.0", "", "/a", "inner"},
           Row{"GET /http://inner/ HTTP/1.1", "Host: outer\r\n", "/http://inner/", "outer"},
           Row{"GET /?to=http://inner/ HTTP/1.1", "Host: outer\r\n", "/?to=http://inner/", "outer"},
       }) {
    RequestParser parser{64 * 1024};
    RequestHead head;
    const std::string bytes = start + "\r\nA: 1\r\n" + fields + "B: 2\r\n\r\n";
    ASSERT_EQ(parser.feed_head(bytes, head).state, State::done) << start;
    EXPECT_EQ(head.target, target) << start;
    EXPECT_EQ(head.fields.get(Known::host), host) << start;
    EXPECT_EQ(head.fields.size(), 3U) << start;
    EXPECT_EQ(head.fields.find("B"), "2") << start;
  }
}

TEST(HeadCheck, RefusesAnAbsoluteTargetWithoutASoundAuthority) {
  for (const std::string target :
       {"http:///a", "http://", "http://?a", "http://user@inner/", "http://a,b/", "http://a\\b/"}) {
    expect_refused("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n", "reason=target");
  }
  expect_refused("GET http://inner/ HTTP/1.1\r\nHost: h\r\nHost: inner\r\n\r\n",
                 "reason=several-hosts");
  expect_refused("GET http://inner/ HTTP/1.1\r\n\r\n", "reason=no-host");
}

TEST(HeadCheck, FindsABadOctetAnywhereInAValue) {
  for (std::size_t place = 0; place < 24; ++place) {
    for (const char octet : {'\0', '\x01', '\x1f', '\x7f'}) {
      std::string value(24, 'v');
      value[place] = octet;
      expect_refused("GET / HTTP/1.1\r\nHost: h\r\na: " + value + "\r\n\r\n",
                     octet == '\0' ? "reason=nul" : "reason=control-character");
    }
  }
}

TEST(HeadCheck, AcceptsTabsAndNonAsciiOctetsAnywhereInAValue) {
  for (std::size_t place = 0; place < 24; ++place) {
    for (const char octet : {'\t', '\x80', '\xa0', '\xff'}) {
      std::string value(26, 'v');
      value[place + 1] = octet;
      const std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\na: " + value + "\r\n\r\n";
      RequestParser parser{64 * 1024};
      EXPECT_EQ(feed(parser, bytes, bytes.size()).state, State::done) << place;
    }
  }
}

TEST(HeadCheck, NamesTheLimitThatAHeadExceeds) {
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 20; ++i) many += "a:\r\n";
  RequestParser few_fields{64 * 1024, 20};
  const Fed fields = feed(few_fields, many + "\r\n", many.size());
  EXPECT_EQ(fields.state, State::too_large);
  EXPECT_EQ(fields.why, "limit=header-fields");

  RequestParser few_bytes{64};
  const Fed bytes = feed(few_bytes, many, 10);
  EXPECT_EQ(bytes.state, State::too_large);
  EXPECT_EQ(bytes.why, "limit=header-bytes");
}

TEST(HeadCheck, BoundsTheEmptyLinesBeforeARequest) {
  expect_refused("\r\n\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "reason=empty-lines");
}

TEST(HeadCheck, RefusesMalformedResponses) {
  for (const std::string& bytes : {
           "HTTP/1.1 20 OK\r\n\r\n"s,
           "HTTP/2.0 200 OK\r\n\r\n"s,
           "HTTP/1.1 099 X\r\n\r\n"s,
           "ICY 200 OK\r\n\r\n"s,
           "HTTP/1.1 200 OK\nA: b\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nA : b\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\n B: c\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"s,
       }) {
    ResponseParser parser{64 * 1024};
    ResponseHead head;
    EXPECT_EQ(parser.feed_head(bytes, head).state, State::bad) << bytes;
  }
}

TEST(ChunkReader, RefusesMalformedChunksAndNamesTheReason) {
  const std::string last = "0\r\n";
  for (const auto& [body, why] : {
           Case{"\r\n", "reason=chunk-size"},
           Case{"0x5\r\nhello\r\n", "reason=chunk-size"},
           Case{"+5\r\nhello\r\n", "reason=chunk-size"},
           Case{" 5\r\nhello\r\n", "reason=chunk-size"},
           Case{"5 \r\nhello\r\n", "reason=chunk-size"},
           Case{"5\nhello\r\n", "reason=chunk-size"},
           Case{"5\rhello\r\n", "reason=chunk-size"},
           Case{"00000000000000005\r\nhello\r\n", "reason=chunk-size"},
           Case{"5\r\nhello0\r\n", "reason=chunk-end"},
           Case{"5\r\nhello\n0\r\n", "reason=chunk-end"},
           Case{"5;a\nb\r\nhello\r\n", "reason=chunk-extension"},
           Case{"5;" + std::string(300, 'x') + "\r\nhello\r\n", "limit=chunk-extension"},
           Case{last + "A : b\r\n\r\n", "reason=trailer-name"},
           Case{last + "A: b\r\n c\r\n\r\n", "reason=trailer-name"},
           Case{last + ": b\r\n\r\n", "reason=empty-name"},
           Case{last + "A: b\nC: d\r\n\r\n", "reason=trailer-value"},
           Case{last + "A: b\0\r\n\r\n"s, "reason=trailer-value"},
           Case{last + "A: b\rC\r\n\r\n", "reason=bare-cr"},
           Case{last + "Content-Length: 3\r\n\r\n", "reason=trailer-field"},
           Case{last + "transfer-encoding: chunked\r\n\r\n", "reason=trailer-field"},
           Case{last + "Host: other\r\n\r\n", "reason=trailer-field"},
           Case{last + "K-Original-Host: other\r\n\r\n", "reason=trailer-field"},
           Case{last + "A: " + std::string(20'000, 'x') + "\r\n\r\n", "limit=trailer-bytes"},
       }) {
    for (const std::size_t step : {body.size(), std::size_t{1}}) {
      ChunkReader reader;
      Fed fed;
      for (std::size_t at = 0; at < body.size() && fed.state == State::need_more; at += step) {
        fed = reader.feed(body.substr(at, step), nullptr);
      }
      EXPECT_EQ(fed.state, State::bad) << body;
      EXPECT_EQ(fed.why, why) << body;
    }
  }
}

TEST(ChunkReader, UsesEveryByteItIsGivenSoThatNothingIsHeldBack) {
  ChunkReader reader;
  std::string content;

  EXPECT_EQ(reader.feed("5;a=\"b\"\r\nhello\r\n", &content).used, 16U);
  EXPECT_EQ(reader.feed("00A", &content).used, 3U);
  EXPECT_EQ(reader.feed("\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\nGET", &content).used, 29U);

  EXPECT_TRUE(reader.done());
  EXPECT_EQ(content, "hello0123456789");
  EXPECT_EQ(reader.content_bytes(), 15U);
}

TEST(ChunkReader, BoundsTheCostOfManySmallExtensions) {
  ChunkReader reader;
  Fed fed;
  int chunks = 0;
  while (fed.state == State::need_more && ++chunks < 10'000) {
    fed = reader.feed("1;" + std::string(100, 'x') + "\r\na\r\n", nullptr);
  }
  EXPECT_EQ(fed.state, State::bad);
  EXPECT_LT(chunks, 200);
}

// What of a body is passed on when at most `step` bytes arrive at a time; `bad` when it is none.
std::string relayed(std::string_view bytes, std::size_t step) {
  ChunkReader reader;
  std::string passed;
  std::size_t at = 0;
  std::size_t given = 0;
  while (!reader.done()) {
    if (at == given) {
      if (given == bytes.size()) return passed + " (unended)";
      given = std::min(bytes.size(), given + step);
    }
    const Fed fed = reader.relay(bytes.substr(at, given - at));
    if (fed.state == State::bad) return "bad";
    EXPECT_TRUE(fed.used == 0 || fed.dropped == 0);
    EXPECT_GT(fed.used + fed.dropped, 0U);
    passed.append(bytes.substr(at, fed.used));
    at += fed.used + fed.dropped;
  }
  return passed;
}

TEST(ChunkReader, RelaysABodyWithoutItsExtensions) {
  const std::string plain = "5\r\nhe;lo\r\n00A\r\n01;3456789\r\n0\r\nX-Sum: 1;2\r\n\r\n";
  const std::string extended =
      "5;a=\"b;c\"\r\nhe;lo\r\n00A;\r\n01;3456789\r\n0;last\r\nX-Sum: 1;2\r\n\r\n";
  for (const std::size_t step : {extended.size(), std::size_t{1}, std::size_t{3}, std::size_t{7}}) {
    EXPECT_EQ(relayed(extended, step), plain) << step;
    EXPECT_EQ(relayed(plain, step), plain) << step;
  }
}

TEST(ChunkReader, ChecksAnExtensionThatItDoesNotRelay) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{1000}}) {
    EXPECT_EQ(relayed("5;a\nb\r\nhello\r\n", step), "bad");
    EXPECT_EQ(relayed("5;" + std::string(300, 'x') + "\r\nhello\r\n", step), "bad");
    EXPECT_EQ(relayed("5;a\rb\r\nhello\r\n", step), "bad");
    EXPECT_EQ(relayed(";a\r\nhello\r\n", step), "bad");
  }
}

}  // namespace
}  // namespace sluice::http
