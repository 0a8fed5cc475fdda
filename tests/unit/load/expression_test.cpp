#include "load/core/expression.h"

#include <gtest/gtest.h>

#include "load/core/quantity.h"
#include "load/core/target.h"

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

TEST(Expression, ReadsEveryKnownFigure) {
  struct Case {
    const char* text;
    Metric metric;
    double percent;
    Comparison comparison;
    double value;
  };

  for (const Case& expected :
       {Case{"p50 > 250ms", Metric::latency_percentile, 50, Comparison::greater, 0.25},
        Case{"p99.99>=1m30s", Metric::latency_percentile, 99.99, Comparison::greater_equal, 90},
        Case{"max < 1.5s", Metric::latency_max, 0, Comparison::less, 1.5},
        Case{"errors != 0", Metric::errors, 0, Comparison::not_equal, 0},
        Case{"error_rate > 1%", Metric::error_rate, 0, Comparison::greater, 0.01},
        Case{"error_rate>0.01", Metric::error_rate, 0, Comparison::greater, 0.01},
        Case{"cold_start.p95 > 800ms", Metric::cold_start, 95, Comparison::greater, 0.8},
        Case{"replicas.max == 8", Metric::replicas_max, 0, Comparison::equal, 8},
        Case{"p0 > 1ms", Metric::latency_percentile, 0, Comparison::greater, 0.001},
        Case{"mean < 20ms", Metric::latency_mean, 0, Comparison::less, 0.02},
        Case{"service.p99 < 20ms", Metric::service_percentile, 99, Comparison::less, 0.02},
        Case{"lag.p90 < 1ms", Metric::lag_percentile, 90, Comparison::less, 0.001},
        Case{"refused > 0", Metric::refused, 0, Comparison::greater, 0},
        Case{"lost > 0", Metric::lost, 0, Comparison::greater, 0},
        Case{"non_2xx > 0", Metric::non_2xx, 0, Comparison::greater, 0},
        Case{"rate < 190.5", Metric::rate, 0, Comparison::less, 190.5},
        Case{"cold_start.count > 1", Metric::cold_start_count, 0, Comparison::greater, 1},
        Case{"replicas.seconds > 90", Metric::replica_seconds, 0, Comparison::greater, 90},
        Case{"panics > 0", Metric::panics, 0, Comparison::greater, 0},
        Case{"generator != on_time", Metric::generator, 0, Comparison::not_equal, 0},
        Case{"generator == late", Metric::generator, 0, Comparison::equal, 1},
        Case{" time_to_zero <= 75s ", Metric::time_to_zero, 0, Comparison::less_equal, 75}}) {
    const auto read = parse_expression(expected.text);
    ASSERT_TRUE(read) << expected.text;
    EXPECT_EQ(read->metric, expected.metric) << expected.text;
    EXPECT_DOUBLE_EQ(read->percent, expected.percent) << expected.text;
    EXPECT_EQ(read->comparison, expected.comparison) << expected.text;
    EXPECT_DOUBLE_EQ(read->value, expected.value) << expected.text;
  }
}

TEST(Expression, ReadsTheStatusOfAnAnswer) {
  const auto read = parse_expression("status.404 > 0");

  ASSERT_TRUE(read);
  EXPECT_EQ(read->metric, Metric::status);
  EXPECT_EQ(read->status, 404U);
}

TEST(Expression, ReadsTheTargetAndThePhaseOfAFigure) {
  const auto read = parse_expression("pay.status.503@ramp == 0", Use::assertion);

  ASSERT_TRUE(read);
  EXPECT_EQ(read->target, "pay");
  EXPECT_EQ(read->phase, "ramp");
  EXPECT_EQ(read->metric, Metric::status);
  EXPECT_EQ(read->status, 503U);
  EXPECT_EQ(parse_expression("shop.cold_start.p95 < 1s")->target, "shop");
  EXPECT_EQ(parse_expression("service.p99@ramp < 1s")->target, "");

  EXPECT_TRUE(parse_expression("cold_start.p95@ramp < 1s").error().unknown_figure)
      << "the engine's figures have no phase";
  EXPECT_TRUE(parse_expression("p99@ < 1s").error().unknown_figure);
  EXPECT_TRUE(parse_expression(".p99 < 1s").error().unknown_figure);
  EXPECT_EQ(parse_expression("p99 < 1", Use::assertion).error().what,
            "assert 'p99 < 1': '1' is no time");
}

TEST(Expression, RefusesMalformedExpressions) {
  for (const char* text : {"",
                           "p99",
                           "> 1s",
                           "p99 250ms",
                           "p99 > 250",
                           "p99 > ms",
                           "p99 > -1ms",
                           "p-1 > 1s",
                           "status > 1",
                           "status.99 > 1",
                           "status.4xx > 1",
                           "service.max > 1s",
                           "lag > 1ms",
                           "generator == fine",
                           "generator > on_time",
                           "refused > 1%",
                           "p100 > 1s",
                           "p99.999 > 1s",
                           "px > 1s",
                           "errors > 1s",
                           "errors > 1%",
                           "error_rate > 1%%",
                           "replicas.max > many",
                           "cold_start > 1s",
                           "cold_start.max > 1s",
                           "p99 => 1s",
                           "p99 = 1s",
                           "p99 > 1s > 2s",
                           "p99 > 25h",
                           "p99 > 1s; errors > 0"}) {
    EXPECT_FALSE(parse_expression(text)) << text;
  }
  EXPECT_FALSE(parse_expression("p99 > 1" + std::string(500, '0') + "s"));
}

TEST(Expression, NamesAnUnknownFigure) {
  const auto read = parse_expression("p99th > 1s");

  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("'p99th'"), std::string::npos);
  EXPECT_FALSE(read.error().fix.empty());
}

TEST(Expression, MarksAFigureThatDoesNotExist) {
  EXPECT_TRUE(parse_expression("no_such_figure > 1").error().unknown_figure);
  EXPECT_TRUE(parse_expression("status.4xx > 1").error().unknown_figure);
  EXPECT_FALSE(parse_expression("p99 > 1").error().unknown_figure);
  EXPECT_FALSE(parse_expression("p99").error().unknown_figure);
  EXPECT_EQ(parse_expression("eror_rate > 1%").error().text(),
            "--fail-if 'eror_rate > 1%': unknown figure 'eror_rate'; did you mean 'error_rate'?");
}

TEST(Expression, NamesItselfAndTheValueThatDoesNotFitIt) {
  EXPECT_EQ(parse_expression("p99 > 3").error().what, "--fail-if 'p99 > 3': '3' is no time");
  EXPECT_EQ(parse_expression("errors > x").error().what,
            "--fail-if 'errors > x': 'x' is no number");
}

TEST(Expression, ComparesByItsOperator) {
  const auto holds_for = [](const char* text, double actual) {
    return holds(*parse_expression(text), actual);
  };

  EXPECT_TRUE(holds_for("errors > 1", 2));
  EXPECT_FALSE(holds_for("errors > 1", 1));
  EXPECT_TRUE(holds_for("errors >= 1", 1));
  EXPECT_TRUE(holds_for("errors < 1", 0));
  EXPECT_TRUE(holds_for("errors <= 1", 1));
  EXPECT_TRUE(holds_for("errors == 1", 1));
  EXPECT_TRUE(holds_for("errors != 1", 0));
}

TEST(Quantity, ReadsAndRefusesDurations) {
  EXPECT_EQ(*parse_duration("1h2m3s4ms5us6ns", "x"), 1h + 2min + 3s + 4ms + 5us + 6ns);
  EXPECT_EQ(*parse_duration("0s", "x"), 0s);
  for (const char* text : {"", "s", "30", "1d", "-1s", "1 s", "1..5s", "1e3s", "25h", "1s2"}) {
    EXPECT_FALSE(parse_duration(text, "x")) << text;
  }
}

TEST(Quantity, PrintsReadableText) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(12'003), "12 003");
  EXPECT_EQ(grouped(1'234'567), "1 234 567");
  EXPECT_EQ(spoken(60s), "60 s");
  EXPECT_EQ(spoken(63ms), "63 ms");
  EXPECT_EQ(spoken(1500ms), "1.5 s");
  EXPECT_EQ(milliseconds(66'345us), "66.3");
  EXPECT_EQ(milliseconds(52us), "0.05");
}

TEST(Target, SplitsUrls) {
  struct Case {
    const char* url;
    const char* host;
    std::uint16_t port;
    const char* path;
    const char* authority;
  };

  for (const Case& expected :
       {Case{"http://app.localhost:8080", "app.localhost", 8080, "/", "app.localhost:8080"},
        Case{"app.localhost:8080", "app.localhost", 8080, "/", "app.localhost:8080"},
        Case{"localhost/at?u=http://b", "localhost", 80, "/at?u=http://b", "localhost"},
        Case{"[::1]:81", "::1", 81, "/", "[::1]:81"},
        Case{"http://App.Example/a?b=1#c", "app.example", 80, "/a?b=1", "App.Example"},
        Case{"http://127.0.0.1?q", "127.0.0.1", 80, "/?q", "127.0.0.1"},
        Case{"https://a/b", "a", 443, "/b", "a"},
        Case{"http://[::1]:81/", "::1", 81, "/", "[::1]:81"}}) {
    const auto target = parse_target(expected.url);
    ASSERT_TRUE(target) << expected.url;
    EXPECT_EQ(target->host, expected.host);
    EXPECT_EQ(target->port, expected.port);
    EXPECT_EQ(target->path, expected.path);
    EXPECT_EQ(target->authority, expected.authority);
  }
}

TEST(Target, RefusesUrlsItCannotServe) {
  for (const char* url :
       {"", "https://", "ftp://app", "http://", "http://:80", "http://a:0", "http://a:65536",
        "http://a:b", "http://u@a", "http://a/b c", "http://a/\r\nX: y", "http://[::1", "http://[]",
        "http://[::1]x", "http:/a", ":80", "/path"}) {
    EXPECT_FALSE(parse_target(url)) << url;
  }
  EXPECT_FALSE(parse_target("http://a/" + std::string(9000, 'a')));
}

TEST(Target, IsUnderTlsWithHttps) {
  EXPECT_TRUE(parse_target("https://a:80")->tls);
  EXPECT_FALSE(parse_target("http://a:443")->tls);
  EXPECT_FALSE(parse_target("a")->tls);
}

TEST(Target, RecognizesLoopbackNames) {
  EXPECT_TRUE(parse_target("http://localhost")->is_localhost());
  EXPECT_TRUE(parse_target("http://a.b.LOCALHOST")->is_localhost());
  EXPECT_FALSE(parse_target("http://notlocalhost")->is_localhost());
}

TEST(Target, RefusesHeadersWithALineBreak) {
  EXPECT_TRUE(is_header("X-Name", "any value, even é"));
  EXPECT_FALSE(is_header("X Name", "v"));
  EXPECT_FALSE(is_header("", "v"));
  EXPECT_FALSE(is_header("X", "a\r\nB: c"));
}

}  // namespace
}  // namespace sluice::loadgen
