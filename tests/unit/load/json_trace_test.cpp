#include "load/core/json_trace.h"

#include "tests/unit/load/trace_reading.h"

#include <gtest/gtest.h>

#include "load/core/json_text.h"
#include <string>
#include <utility>
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

TraceOptions with_fields(const char* text) {
  auto fields = JsonFields::parse(text);
  EXPECT_TRUE(fields) << text;
  TraceOptions options;
  if (fields) options.fields = *std::move(fields);
  return options;
}

constexpr const char* kKnative =
    R"({"httpRequest": {"requestMethod": "POST", "requestUrl": "/a\u0026b", "requestSize": "64", )"
    R"("status": 200, "responseSize": "2", "userAgent": "x", "latency": "1.25e-01s", )"
    R"("protocol": "HTTP/1.1"}, "traceId": ""})";

TEST(JsonTrace, ReadsTheRequestLogOfKnativeWithTheTimeOfItsCollector) {
  const std::string text = std::string{"2026-11-20T14:03:12.125Z "} + kKnative + "\n" +
                           "2026-11-20T14:03:12.200Z {\"severity\":\"INFO\"}\n" +
                           "2026-11-20T14:03:13.125Z stdout F " + kKnative + "\n";
  const Read out = read_in_every_cut(text);

  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.cells, "0+0 x1 POST /a&b 125ms 200 64B; 1000+0 x1 POST /a&b 125ms 200 64B");
  EXPECT_EQ(out.facts.origin, TimePoint{1'795'183'392s});
  EXPECT_EQ(out.facts.written_by, "Knative");
  EXPECT_EQ(out.skipped(), "1 line without a request of HTTP (the first: 2)");

  const std::string inside{kKnative};
  EXPECT_EQ(read(inside.substr(0, inside.size() - 1) + R"(,"time":"2026-11-20T14:03:12.125Z"})")
                .facts.origin,
            TimePoint{1'795'183'392s});
}

// Each row: a line of a log, whose it is, and what is read.
TEST(JsonTrace, ReadsTheLogsOfEnvoyCaddyAndTraefik) {
  struct Row {
    const char* line;
    const char* log;
    const char* cells;
  };

  const std::vector<Row> rows{
      {R"({"start_time":"2026-11-20T14:03:12.061Z","method":"GET","path":"/e","protocol":"HTTP/1.1",)"
       R"("response_code":200,"bytes_received":3,"bytes_sent":9,"duration":7,"authority":"e.example",)"
       R"("upstream_cluster":"outbound|80||e"})",
       "Envoy", "0+0 x1 outbound|80||e e.example GET /e 7ms 200 3B"},
      {R"({"level":"info","ts":1795183392.5241024,"logger":"http.log.access","msg":"handled request",)"
       R"("request":{"remote_ip":"::1","method":"GET","host":"c.example","uri":"/c?d","headers":{}},)"
       R"("bytes_read":0,"duration":0.0125,"size":10900,"status":404})",
       "Caddy", "0+0 x1 c.example GET /c?d 12.5ms 404 0B"},
      {R"({"DownstreamStatus":502,"Duration":2500000,"RequestContentSize":5,"RequestHost":"t.example",)"
       R"("RequestMethod":"PUT","RequestPath":"/t","ServiceName":"t@docker",)"
       R"("StartUTC":"2026-11-20T14:03:12.061234567Z","time":"2026-11-20T14:03:12Z"})",
       "Traefik", "0+0 x1 t@docker t.example PUT /t 2.5ms 502 5B"},
      {R"({"time":"2026-11-20T14:03:12Z","method":"GET","path":"/p","duration_ms":3})", "",
       "0+1000 x1 GET /p 3ms"},
      {R"({"at_s":1.5,"service":"s"})", "", "1500+100 x1 s"}};

  for (const Row& row : rows) {
    const Read out = read_in_every_cut(std::string{row.line} + "\n");
    EXPECT_EQ(out.cells, row.cells) << out.problem;
    EXPECT_EQ(out.facts.written_by, row.log);
    EXPECT_EQ(out.facts.format, TraceFormat::jsonl);
  }
}

TEST(JsonTrace, PassesOverLinesBeforeTheFirstRequest) {
  const Read out = read_in_every_cut(
      "{\"level\":\"info\",\"msg\":\"starting\"}\n{\"time\":\"2026-11-20T14:03:12.000Z\"}\n");

  EXPECT_EQ(out.cells, "0+0 x1");
  EXPECT_EQ(out.skipped(), "1 line without a request of HTTP (the first: 1)");
}

TEST(JsonTrace, ReadsTheFieldsThatAreGiven) {
  const Read out = read_in_every_cut(
      R"({"when":{"s":1795183392},"req":{"m":"GET","u":"https://me:secret@x.example/y#z"},"took":250})"
      "\n"
      R"({"when":{"s":1795183393},"req":{"m":"GET","u":"/"},"took":null})"
      "\n",
      with_fields("time=when.s,method=req.m,path=req.u,duration_us=took"));

  EXPECT_EQ(out.cells, "0+1000 x1 x.example GET /y 0.25ms; 1000+1000 x1 GET /") << out.problem;
}

TEST(JsonTrace, CountsWhatItCannotUse) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {R"({"t":"2026-11-20T14:03:12.000Z")", "other fields"},
      {"plain text", "other fields"},
      {R"(soon {"t":1795183392.000})", "other fields"},
      {R"({"d":1})", "valid time"},
      {R"({"t":"soon"})", "valid time"},
      {R"({"t":{"s":1795183392}})", "valid time"},
      {R"({"t":1795183392.000,"d":-1})", "a figure"},
      {R"({"t":1795183392.000,"d":"long"})", "a figure"},
      {R"({"t":1795183392.000,"m":"G T"})", "without a request"},
      {R"({"t":1795183392.000,"p":"/a\nb"})", "without a request"},
      {"{\"t\":1795183392.000,\"p\":\"/a\xff\\n\"}", ""}};

  for (const auto& [line, why] : rows) {
    const Read out = read_in_every_cut(std::string{"{\"t\":1795183392.000,\"m\":\"GET\"}\n"} + line,
                                       with_fields("time=t,duration_s=d,method=m,path=p"));
    EXPECT_TRUE(out.cells.starts_with("0+0 x1 GET")) << line;
    EXPECT_NE(out.skipped().find(why), std::string::npos) << line << ": " << out.skipped();
  }
}

TEST(JsonTrace, ReferencesFieldsForALogOfAnotherKind) {
  EXPECT_EQ(read_in_every_cut("{\"when\":1}\n").problem,
            "no request in it: 1 line without a request of HTTP (the first: 1); say where the time "
            "is, with --fields time=MEMBER,… of sluice trace convert");
}

TEST(JsonText, IsAStringWithoutItsEscapes) {
  EXPECT_EQ(json_text(R"("a\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00")"),
            "a\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(json_text("\"\""), "");
  EXPECT_EQ(json_text("1.5e3"), "1.5e3");
  EXPECT_EQ(json_text("true"), "true");
  for (const char* text : {"", "null", "{}", "[1]", "\"", "\"a", R"("\x")", R"("\u12")",
                           R"("\ud83d")", R"("\ud83d\u0041")", R"("\udc00")", R"("a\")"}) {
    EXPECT_EQ(json_text(text), std::nullopt) << text;
  }
}

TEST(JsonFields, RefusesWhatNamesNoTimeOrNoField) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {"", "'' is no field; write it like time=ts,"},
      {"time", "'time' is no field"},
      {"time=", "'time=' is no field"},
      {"when=ts", "'when=ts' is no field"},
      {"path=p", "no field has the time; add time=MEMBER"},
      {"time=a,path=p,time=b", "a name is there twice; give each name once"}};

  for (const auto& [text, wanted] : rows) {
    const auto fields = JsonFields::parse(text);
    ASSERT_FALSE(fields) << text;
    EXPECT_TRUE(fields.error().text().starts_with(wanted)) << fields.error().text();
  }
  std::string many = "time=t";
  for (int i = 0; i < 32; ++i) many += ",path=p";
  EXPECT_FALSE(JsonFields::parse(many));
}

}  // namespace
}  // namespace sluice::loadgen
