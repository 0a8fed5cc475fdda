#include "common/log/request_log.h"

#include "common/log/go_text.h"

#include <gtest/gtest.h>

namespace sluice::log {
namespace {

using namespace std::chrono_literals;

const LoggedRevision kRevision{"rev", "ns", "svc", "cfg", "pod", "10.0.0.7"};

// A request with something in every field.
class Request {
 public:
  Request() {
    head_.method = "POST";
    head_.target = "/a%20path?q=1&r='x'";
    head_.framing = http::Framing::length;
    head_.content_length = 4;
    head_.fields.add("Host", "app.example.com");
    head_.fields.add("User-Agent", "curl/8 \"quoted\"");
    head_.fields.add("Referer", "http://from/");
    head_.fields.add("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  }

  [[nodiscard]] std::string log(std::string_view text) const {
    const RequestLog log{text};
    const LoggedRequest record{.head = head_,
                               .revision = kRevision,
                               .peer_ip = "192.0.2.1",
                               .status = 201,
                               .latency = 123ms,
                               .response_bytes = 12};
    std::string out;
    if (log.enabled()) log.append(out, record);
    return out;
  }

  [[nodiscard]] http::RequestHead& head() { return head_; }

 private:
  http::RequestHead head_;
};

std::string warning(std::string_view text) {
  return RequestLog{text}.warning();
}

std::string js(std::string_view text) {
  std::string out;
  append_js(out, text);
  return out;
}

std::string json(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

TEST(RequestLog, WritesTheDefaultLine) {
  EXPECT_EQ(Request{}.log(RequestLog::kDefaultTemplate),
            R"({"httpRequest": {"requestMethod": "POST", )"
            R"("requestUrl": "/a%20path?q\u003D1\u0026r\u003D\u0027x\u0027", )"
            R"("requestSize": "4", "status": 201, "responseSize": "12", )"
            R"("userAgent": "curl/8 \"quoted\"", "remoteIp": "192.0.2.1", )"
            R"("serverIp": "10.0.0.7", "referer": "http://from/", "latency": "0.123s", )"
            R"("protocol": "HTTP/1.1"}, "traceId": "0af7651916cd43dd8448eb211c80319c"})"
            "\n");
}

TEST(RequestLog, FillsInEveryField) {
  const Request request;

  EXPECT_EQ(request.log("{{.Request.Method}} {{.Request.URL}} {{.Request.RequestURI}}"),
            "POST /a%20path?q=1&r='x' /a%20path?q=1&r='x'\n");
  EXPECT_EQ(request.log("{{.Request.URL.Path}}|{{.Request.URL.RawQuery}}"), "/a path|q=1&r='x'\n");
  EXPECT_EQ(request.log("{{.Request.Host}} {{.Request.Proto}} {{.Request.ProtoMajor}}."
                        "{{.Request.ProtoMinor}} {{.Request.ContentLength}}"),
            "app.example.com HTTP/1.1 1.1 4\n");
  EXPECT_EQ(request.log("{{.Request.RemoteAddr}} {{.Request.UserAgent}} {{.Request.Referer}}"),
            "192.0.2.1 curl/8 \"quoted\" http://from/\n");
  EXPECT_EQ(request.log("{{.Response.Code}} {{.Response.Size}} {{.Response.Latency}}"),
            "201 12 0.123\n");
  EXPECT_EQ(request.log("{{.Revision.Name}}, {{.Revision.Namespace}}, {{.Revision.Service}}, "
                        "{{.Revision.Configuration}}, {{.Revision.PodName}}, {{.Revision.PodIP}}"),
            "rev, ns, svc, cfg, pod, 10.0.0.7\n");
  EXPECT_EQ(request.log("{{.TraceID}}"), "0af7651916cd43dd8448eb211c80319c\n");
}

TEST(RequestLog, EscapesWhereTheTemplateRequestsIt) {
  EXPECT_EQ(Request{}.log("{{ js .Request.RequestURI }}"), R"(/a%20path?q\u003D1\u0026r\u003D\'x\')"
                                                           "\n");
  EXPECT_EQ(Request{}.log("{{js .Response.Code}}{{js .Revision.Name}}"), "201rev\n");
}

TEST(RequestLog, ReadsHeadersInBothFormsOfKnativesTemplates) {
  Request request;
  request.head().fields.add("X-B3-TraceId", "b3");
  request.head().fields.add("X-Many", "one");
  request.head().fields.add("x-many", "two");

  EXPECT_EQ(request.log(R"({{.Request.Header.Get "X-B3-Traceid"}})"), "b3\n");
  EXPECT_EQ(request.log(R"({{.Request.Header.Get "X-Many"}})"), "one\n");
  EXPECT_EQ(request.log(R"([{{.Request.Header.Get "X-None"}}])"), "[]\n");
  EXPECT_EQ(request.log(R"({{index .Request.Header "X-B3-Traceid"}})"), "[b3]\n");
  EXPECT_EQ(request.log(R"({{ index  .Request.Header `X-Many` }})"), "[one two]\n");
  EXPECT_EQ(request.log(R"({{index .Request.Header "X-None"}})"), "[]\n");
  // Go's server keeps Host apart from the headers.
  EXPECT_EQ(request.log(R"({{index .Request.Header "Host"}})"), "[]\n");
}

TEST(RequestLog, EscapesHeadersWhereTheTemplateRequestsIt) {
  Request request;
  request.head().fields.add("X-Quoted", "a\"b");

  EXPECT_EQ(request.log(R"({{js (.Request.Header.Get "X-Quoted")}})"), "a\\\"b\n");
  EXPECT_EQ(request.log(R"({{js (index .Request.Header "X-Quoted")}})"), "[a\\\"b]\n");
}

TEST(RequestLog, WritesTheDefaultLineForOtherUsesOfHeaders) {
  for (const char* text : {R"({{index .Request.Header}})", R"({{index .Request.Header "A" 0}})",
                           R"({{index .Request.Header A}})", R"({{.Request.Header.Get}})",
                           R"({{.Request.Header.Get "A" "B"}})", R"({{.Request.Header.Get "A}})",
                           R"({{.Request.Header.Values "A"}})", R"({{index .Response "A"}})",
                           R"({{.Request.Header.Get "a\"b"}})", R"({{.Request.Header.Get ""}})",
                           R"({{js (.Request.Header.Get "A"}})"}) {
    EXPECT_NE(warning(text), "") << text;
  }
}

TEST(RequestLog, WritesTheLengthOfABody) {
  Request request;
  request.head().framing = http::Framing::none;
  EXPECT_EQ(request.log("{{.Request.ContentLength}}"), "0\n");
  request.head().framing = http::Framing::chunked;
  EXPECT_EQ(request.log("{{.Request.ContentLength}}"), "-1\n");
}

TEST(RequestLog, NamesTheProtocolAsGoDoes) {
  Request request;
  request.head().version_minor = 0;
  EXPECT_EQ(request.log("{{.Request.Proto}}"), "HTTP/1.0\n");
  request.head().version_major = 2;
  EXPECT_EQ(request.log("{{.Request.Proto}}"), "HTTP/2.0\n");
}

TEST(RequestLog, EndsEachLineOnce) {
  EXPECT_EQ(Request{}.log("a"), "a\n");
  EXPECT_EQ(Request{}.log("a\n"), "a\n");
  EXPECT_EQ(Request{}.log("{{.Request.Method}}\n"), "POST\n");
}

TEST(RequestLog, IsOffWithoutATemplate) {
  EXPECT_FALSE((RequestLog{""}.enabled()));
  EXPECT_EQ(Request{}.log(""), "");
}

TEST(RequestLog, KeepsServingTheDefaultLineWhenTheTemplateIsNotUnderstood) {
  const std::string usual = Request{}.log(RequestLog::kDefaultTemplate);
  for (const char* text :
       {"{{}}", "{{.Request.Something}}", "{{.Request.Method", "{{index .Request.Header}}",
        "{{.Request.Header.Values \"X\"}}", "{{if .TraceID}}x{{end}}", "{{.TraceID | js}}",
        "{{- .TraceID -}}", "{{/* note */}}", "{{jsx .TraceID}}", "{{js}}", "{{js .Nothing}}",
        "ok {{.Response.Code}} {{range .X}}"}) {
    EXPECT_EQ(Request{}.log(text), usual) << text;
    EXPECT_FALSE(warning(text).empty()) << text;
  }
}

TEST(RequestLog, ReportsNoProblemOfAGoodTemplate) {
  EXPECT_EQ(warning(RequestLog::kDefaultTemplate), "");
  EXPECT_EQ(warning("plain } text }} {{.Response.Code}}"), "");
}

TEST(RequestLog, KeepsAPathFromEndingItsLine) {
  Request request;
  request.head().target = "/a%0Ab%7F%zz%4";
  EXPECT_EQ(request.log("{{.Request.URL.Path}}"), "/a%0Ab%7F%zz%4\n");
}

// C1 controls steer terminals as ESC does; marks of direction show a line in another order.
TEST(RequestLog, EscapesTerminalControlCharacters) {
  Request request;
  request.head().target = "/a%C2%9B31m%E2%80%AEb%E2%80%8Bc%EF%BB%BFd\u061c\xff";
  EXPECT_EQ(request.log("{{.Request.URL.Path}}"), "/a?31m?b?c?d??\n");
  EXPECT_EQ(request.log("{{js .Request.URL.Path}}"),
            "/a\\u009B31m\\u202Eb\\u200Bc\\uFEFFd\\u061C\\uFFFD\n");
}

TEST(GoText, EscapesForJavaScriptAsGoDoes) {
  EXPECT_EQ(js("a'b\"c\\d<e>f&g=h"), R"(a\'b\"c\\d\u003Ce\u003Ef\u0026g\u003Dh)");
  EXPECT_EQ(js(std::string_view{"\0\x1f\x7f", 3}), "\\u0000\\u001F\x7f");
  EXPECT_EQ(js("é\u00a0\u00ad\u200b\u2028\U0001F600\U000E0001\ue000"),
            "é\\u00A0\\u00AD\\u200B\\u2028\U0001F600\\uE0001\\uE000");
  EXPECT_EQ(js("bad\xff\xc3(\xe2\x82"), "bad\\uFFFD\\uFFFD(\\uFFFD\\uFFFD");
}

TEST(GoText, EscapesForJsonSoThatItAlwaysIsJson) {
  EXPECT_EQ(json("a'b\"c\\d<"), R"(a\u0027b\"c\\d\u003C)");
  EXPECT_EQ(json("bad\xff\xc3(\xe2\x82"), "bad\\uFFFD\\uFFFD(\\uFFFD\\uFFFD");
  EXPECT_EQ(json("\U000E0001\n"), "\\uFFFD\\u000A");
}

TEST(GoText, PrintsNumbersAsGoDoes) {
  const auto print = [](double number) {
    std::string out;
    append_go_float(out, number);
    return out;
  };
  EXPECT_EQ(print(0), "0");
  EXPECT_EQ(print(0.123), "0.123");
  EXPECT_EQ(print(3), "3");
  EXPECT_EQ(print(1e-4), "0.0001");
  EXPECT_EQ(print(0.00009), "9e-05");
  EXPECT_EQ(print(1.5e-9), "1.5e-09");
  EXPECT_EQ(print(100'000), "100000");
  EXPECT_EQ(print(1'234'567.5), "1.2345675e+06");
}

TEST(TraceId, IsTheSecondFieldOfTraceparentElseB3ElseNothing) {
  const auto id = [](const char* parent, const char* b3) {
    http::FieldList fields;
    if (parent != nullptr) fields.add("Traceparent", parent);
    if (b3 != nullptr) fields.add("X-B3-TraceId", b3);
    return std::string{trace_id(fields)};
  };

  EXPECT_EQ(id("00-aaaa-bbbb-01", "cccc"), "aaaa");
  EXPECT_EQ(id("00-aaaa", nullptr), "aaaa");
  EXPECT_EQ(id("00", "cccc"), "cccc");
  EXPECT_EQ(id("00", nullptr), "");
  EXPECT_EQ(id(nullptr, "cccc"), "cccc");
  EXPECT_EQ(id(nullptr, nullptr), "");
}

}  // namespace
}  // namespace sluice::log
