// SERVING_READINESS_PROBE of queue-proxy.md 10, its rows 56, 62 and 63, and 15.18.

#include "queue-proxy/io/probe_config.h"

#include <gtest/gtest.h>

namespace sluice::queue_proxy {
namespace {

using namespace std::chrono_literals;
using Kind = ProbeSpec::Kind;

Result<std::vector<ProbeSpec>, Problem> several(const std::string& text) {
  return read_probes(text, {.several = true});
}

// The one probe of `text`; a spec whose refusal says why there is none.
ProbeSpec one(const std::string& text, ProbeReading reading = {}) {
  const auto probes = read_probes(text, reading);
  ProbeSpec spec;
  spec.refusal = probes ? "not one probe" : Problem{probes.error()}.text();
  return probes && probes->size() == 1 ? probes->front() : spec;
}

TEST(ProbeConfig, ReadsTheReferencesExamples) {
  const ProbeSpec tcp =
      one(R"({"tcpSocket":{"port":8080,"host":"127.0.0.1"},"successThreshold":1})");
  EXPECT_EQ(tcp.kind, Kind::tcp);
  EXPECT_EQ(tcp.port, 8080);
  EXPECT_EQ(tcp.period, Duration{0});

  const auto both = several(
      R"([{"httpGet":{"path":"/h","port":8080,"host":"127.0.0.1","scheme":"HTTP"},"periodSeconds":5,)"
      R"("timeoutSeconds":1,"successThreshold":1},{"grpc":{"port":9000,"service":""}}])");
  ASSERT_TRUE(both);
  ASSERT_EQ(both->size(), 2U);
  EXPECT_EQ(both->at(0).kind, Kind::http);
  EXPECT_EQ(both->at(0).path, "/h");
  EXPECT_EQ(both->at(0).period, Duration{5s});
  EXPECT_EQ(both->at(0).timeout, Duration{1s});
  EXPECT_EQ(both->at(1).kind, Kind::grpc);
  EXPECT_EQ(both->at(1).port, 9000);
}

TEST(ProbeConfig, MeansHttpWhenAProbeNamesNoScheme) {
  const ProbeSpec probe = one(R"({"httpGet":{"path":"ready","port":"8080"},"successThreshold":3})");

  EXPECT_EQ(probe.kind, Kind::http);
  EXPECT_EQ(probe.port, 8080);
  EXPECT_EQ(probe.path, "/ready");
  EXPECT_EQ(probe.success_threshold, 3);
}

TEST(ProbeConfig, AcceptsBothSchemesInAnyCaseAndNoOther) {
  EXPECT_EQ(one(R"({"httpGet":{"port":1,"scheme":"https"}})").kind, Kind::https);
  EXPECT_EQ(one(R"({"httpGet":{"port":1,"scheme":"Http"}})").kind, Kind::http);
  EXPECT_EQ(one(R"({"httpGet":{"port":1,"scheme":""}})").kind, Kind::http);
  EXPECT_EQ(one(R"({"httpGet":{"port":1,"scheme":"ftp"}})").kind, Kind::none);
}

TEST(ProbeConfig, DetectsHttp2InCleartextOnly) {
  const ProbeReading reading{.detect_http2 = true};
  EXPECT_TRUE(one(R"({"httpGet":{"port":1}})", reading).detect_http2);
  EXPECT_FALSE(one(R"({"httpGet":{"port":1,"scheme":"HTTPS"}})", reading).detect_http2);
  EXPECT_FALSE(one(R"({"httpGet":{"port":1}})").detect_http2);
}

TEST(ProbeConfig, KeepsHeadersApartFromTheHost) {
  const ProbeSpec probe = one(
      R"({"httpGet":{"port":1,"httpHeaders":[{"name":"HOST","value":"a.b"},{"name":"X-A","value":"1"},)"
      R"({"name":"Content-Length","value":"9"},{"name":"x-b","value":""}]}})");

  EXPECT_EQ(probe.host_header, "a.b");
  const std::vector<std::pair<std::string, std::string>> expected{{"X-A", "1"}, {"x-b", ""}};
  EXPECT_EQ(probe.headers, expected);
}

TEST(ProbeConfig, EscapesCharactersThatAUrlMayNotHold) {
  EXPECT_EQ(one(R"({"httpGet":{"port":1,"path":"/a b?c=d#e"}})").path, "/a%20b?c=d");
  EXPECT_EQ(one(R"({"httpGet":{"port":1,"path":"\u00e9"}})").path, "/%C3%A9");
  EXPECT_EQ(one(R"({"httpGet":{"port":1}})").path, "/");
}

TEST(ProbeConfig, TakesNullForAbsent) {
  const ProbeSpec probe =
      one(R"({"httpGet":null,"tcpSocket":{"port":1,"host":null},"periodSeconds":null})");

  EXPECT_EQ(probe.kind, Kind::tcp);
  EXPECT_EQ(probe.host, "127.0.0.1");
}

TEST(ProbeConfig, ExecAndNothingNeverPass) {
  EXPECT_EQ(one(R"({"exec":{"command":["true"]}})").refusal, "exec probe not supported");
  EXPECT_EQ(one(R"({"periodSeconds":1})").refusal, "no probe found");
  EXPECT_EQ(one(R"({"exec":{}})").kind, Kind::none);
}

TEST(ProbeConfig, DistinguishesAnArrayFromAnObject) {
  EXPECT_FALSE(read_probes(R"([{"tcpSocket":{"port":1}}])", {}));
  EXPECT_FALSE(several(R"({"tcpSocket":{"port":1}})"));
  const auto nothing = several("[]");
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->empty());
}

TEST(ProbeConfig, RefusesProbesThatCannotWork) {
  for (const char* text : {
           "{",
           "null",
           "1",
           R"("x")",
           R"({"tcpSocket":1})",
           R"({"tcpSocket":{}})",
           R"({"tcpSocket":{"port":0}})",
           R"({"tcpSocket":{"port":65536}})",
           R"({"tcpSocket":{"port":1.5}})",
           R"({"tcpSocket":{"port":"http"}})",
           R"({"tcpSocket":{"port":" 80"}})",
           R"({"tcpSocket":{"port":18446744073709551615}})",
           R"({"tcpSocket":{"port":1,"host":"example.com"}})",
           R"({"tcpSocket":{"port":1,"host":"127.0.0.1\u0000x"}})",
           R"({"tcpSocket":{"port":1},"periodSeconds":"1"})",
           R"({"tcpSocket":{"port":1},"periodSeconds":-1})",
           R"({"tcpSocket":{"port":1},"timeoutSeconds":3000000000})",
           R"({"grpc":{"port":1,"service":7}})",
           R"({"httpGet":{"port":1,"path":"/a\r\nX: 1"}})",
           R"({"httpGet":{"port":1,"path":"/a\u0000"}})",
           R"({"httpGet":{"port":1,"path":7}})",
           R"({"httpGet":{"port":1,"httpHeaders":{}}})",
           R"({"httpGet":{"port":1,"httpHeaders":["a"]}})",
           R"({"httpGet":{"port":1,"httpHeaders":[{"value":"x"}]}})",
           R"({"httpGet":{"port":1,"httpHeaders":[{"name":"a b","value":"x"}]}})",
           R"({"httpGet":{"port":1,"httpHeaders":[{"name":"a:","value":"x"}]}})",
           R"({"httpGet":{"port":1,"httpHeaders":[{"name":"a","value":"x\ny"}]}})",
           R"({"httpGet":{"port":1,"httpHeaders":[{"name":"host","value":"x\r"}]}})",
       }) {
    const auto probes = read_probes(text, {});
    ASSERT_FALSE(probes) << text;
    const Problem problem = probes.error();
    EXPECT_TRUE(problem.text().starts_with("SERVING_READINESS_PROBE")) << problem.text();
  }
}

TEST(ProbeConfig, IsBounded) {
  EXPECT_FALSE(read_probes(std::string(300 * 1024, ' ') + R"({"tcpSocket":{"port":1}})", {}));
  EXPECT_FALSE(read_probes(std::string(100'000, '['), {}));
  std::string many = "[";
  for (int i = 0; i < 100; ++i) many += R"({"tcpSocket":{"port":1}},)";
  many.back() = ']';
  EXPECT_FALSE(several(many));
}

}  // namespace
}  // namespace sluice::queue_proxy
