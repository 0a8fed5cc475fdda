#include "load/run_load.h"

#include "tests/unit/load/scripted_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace sluice::loadgen {
namespace {

// Goal: the whole verb, from flags to exit status, against an engine of a few lines.
// Method: the engine runs on a thread of its own; run_load owns the test's.
class RunLoadTest : public ::testing::Test {
 protected:
  RunLoadTest() : server_{loop_, answer}, thread_{[this] { loop_.run(); }} {}

  ~RunLoadTest() override {
    boost::asio::post(loop_, [this] { server_.stop(); });
    thread_.join();
  }

  static ScriptedServer::Reply answer(std::string_view head) {
    if (head.starts_with("GET /_sluice/api/v1/services")) {
      return {ScriptedServer::ok(R"({"items":[{"name":"app","url":"http://app.localhost",
                "replicas":[{"id":"a","state":"ready"}]}]})"),
              {}};
    }
    if (head.starts_with("GET /_sluice/api/v1/live?view=fleet&rows=/app ")) {
      return {
          "HTTP/1.1 200 OK\r\n\r\nevent: replica\n"
          "data: {\"service\":\"app\",\"id\":\"b\",\"state\":\"ready\"}\n\n",
          {}};
    }
    if (head.find("Host: gone.localhost") != std::string_view::npos) {
      return {"HTTP/1.1 404 Not Found\r\nSluice-Error: unknown-host\r\nContent-Length: 0\r\n\r\n",
              {}};
    }
    if (head.find("Host: silent.localhost") != std::string_view::npos) return {};
    return {ScriptedServer::ok("fine"), {}};
  }

  // The exit status; the report goes to report_.
  int run(const std::string& host, std::vector<std::string> flags) {
    flags.insert(flags.begin(), host + ":" + std::to_string(server_.port()));
    testing::internal::CaptureStdout();
    const int status = run_load(flags);
    report_ = testing::internal::GetCapturedStdout();
    return status;
  }

  bool reports(const std::string& text) const { return report_.find(text) != std::string::npos; }

  boost::asio::io_context loop_{1};
  ScriptedServer server_;
  std::thread thread_;
  std::string report_;
};

TEST_F(RunLoadTest, ReportsReplicasOfTheEngineItLoads) {
  EXPECT_EQ(run("app.localhost", {"-c", "2", "-n", "20"}), 0);

  EXPECT_TRUE(reports("20 sent, 20 answered")) << report_;
  EXPECT_TRUE(reports("  scaling                     replicas 2, no cold start")) << report_;
}

TEST_F(RunLoadTest, ReportsNoScalingWithoutAnEngine) {
  EXPECT_EQ(run("other.localhost", {"-c", "1", "-n", "1"}), 0);

  EXPECT_FALSE(reports("scaling")) << report_;
}

TEST_F(RunLoadTest, ExitsByTheVerdict) {
  EXPECT_EQ(run("app.localhost", {"-c", "1", "-n", "1", "--fail-if", "errors > 0"}), 0);
  EXPECT_EQ(run("app.localhost", {"-c", "1", "-n", "1", "--fail-if", "replicas.max >= 2"}), 4);
  EXPECT_EQ(run("other.localhost", {"-c", "1", "-n", "1", "--fail-if", "replicas.max > 9"}), 1);
  EXPECT_EQ(run("app.localhost", {"--no-such-flag"}), 2);
}

TEST_F(RunLoadTest, FailsWhenSluiceRefusedEverything) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run("gone.localhost", {"-c", "1", "-n", "3", "--fail-if", "errors > 0"}), 69);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("refused all 3 requests"),
            std::string::npos);

  EXPECT_EQ(run("gone.localhost", {"-c", "1", "-n", "3", "--fail-if", "status.404 > 0"}), 4);
}

TEST_F(RunLoadTest, FailsWhenNothingWasAnsweredInTime) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run("silent.localhost", {"-c", "1", "-n", "1", "--timeout", "50ms"}), 69);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("within the timeout"), std::string::npos);
  EXPECT_FALSE(reports("LATE")) << report_;
}

TEST_F(RunLoadTest, ExitsOneForAFigureThatDoesNotExist) {
  EXPECT_EQ(run("app.localhost", {"-c", "1", "-n", "1", "--fail-if", "no_such > 1"}), 1);
  EXPECT_EQ(report_, "") << "nothing was sent";
}

TEST_F(RunLoadTest, PrintsOneJsonObjectForPrograms) {
  EXPECT_EQ(run("app.localhost", {"-c", "1", "-n", "3", "--reuse", "never", "-o", "json"}), 0);

  EXPECT_EQ(report_.rfind("{\n  \"schema\": 1,", 0), 0U) << report_;
  EXPECT_TRUE(reports("\"answered\": 3,")) << report_;
  EXPECT_TRUE(reports("\"reuse\": 1,\n")) << report_;
  EXPECT_TRUE(reports("\"replicas_max\": 2")) << report_;
}

TEST_F(RunLoadTest, SendsATraceAndReportsWhatWasLeftOut) {
  const std::string path = testing::TempDir() + "run-load-trace.csv";
  std::ofstream{path} << "at_s,method\n0,GET\n0.05,POST\n0.1,GET\nx,GET\n";

  EXPECT_EQ(run("app.localhost", {"--replay", path, "--times", "2", "--json", "-"}), 0);

  EXPECT_TRUE(reports("\"answered\": 4,")) << report_;
  EXPECT_TRUE(reports("\"left_out\":1,")) << report_;
  EXPECT_FALSE(reports("segments")) << report_;

  EXPECT_EQ(run("app.localhost", {"--replay", path}), 0);

  EXPECT_TRUE(reports("(2 requests in 110 ms), seed 1 ")) << report_;
  EXPECT_TRUE(reports("  trace                       csv, times of 10 ms, spread")) << report_;
  EXPECT_TRUE(reports("  left out                    1 request of the trace")) << report_;
  EXPECT_TRUE(reports("  skipped                     1 line without a valid time")) << report_;

  std::ofstream{path, std::ios::app} << std::string(70'000, 'x');
  EXPECT_EQ(run("app.localhost", {"--replay", path}), 2);
  std::filesystem::remove(path);
}

TEST_F(RunLoadTest, RunsAScenarioOfSeveralTargetsAndPhases) {
  const std::string port = std::to_string(server_.port());
  const std::string path = testing::TempDir() + "run-load-scenario.yaml";
  const auto write = [&](const std::string& assertions) {
    std::ofstream{path} << "name: demo\narrivals: uniform\ntargets:\n"
                           "  app: {url: 'http://app.localhost:" +
                               port +
                               "/{n}'}\n"
                               "  other: {url: 'http://other.localhost:" +
                               port +
                               "'}\n"
                               "phases:\n"
                               "  - {name: one, for: 200ms, rate: 50, mix: {app: 1}}\n"
                               "  - {name: two, for: 200ms, rate: 100}\n"
                               "assert: [" +
                               assertions + "]\n";
  };
  const auto run_file = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--file", path});
    testing::internal::CaptureStdout();
    const int status = run_load(flags);
    report_ = testing::internal::GetCapturedStdout();
    return status;
  };

  write("errors == 0, app.errors@two == 0, app.replicas.max == 2, generator != other");
  EXPECT_EQ(run_file({}), 78) << "a state that the generator does not have";
  write("errors == 0, app.errors@two == 0, app.replicas.max == 2, p50@one < 10s, lag.p99 < 10s");
  const int status = run_file({"-o", "json", "--fail-if", "other.errors > 0"});
  // That the generator is on time is asserted too, and a busy machine can hold it up.
  EXPECT_EQ(status, reports("\"late\": true") ? 4 : 0) << report_;
  EXPECT_TRUE(reports("\"name\": \"demo\"")) << report_;
  EXPECT_TRUE(reports("\"expression\":\"app.errors@two == 0\"")) << report_;
  EXPECT_TRUE(reports("\"holds\":true")) << report_;

  write("other.errors > 0");
  EXPECT_EQ(run_file({}), 4);
  EXPECT_TRUE(reports("FAILED                      other.errors > 0: 0")) << report_;
  EXPECT_TRUE(reports("phase one                   10 sent, 10 answered")) << report_;
  EXPECT_TRUE(reports("target app                  20 sent, 20 answered")) << report_;
  EXPECT_TRUE(reports("target other                10 sent, 10 answered")) << report_;

  EXPECT_EQ(run_file({"--check"}), 0);
  EXPECT_TRUE(reports("phase two               200 ms + 200 ms    100/s")) << report_;
  EXPECT_FALSE(reports("answered")) << report_;
  std::filesystem::remove(path);
}

TEST_F(RunLoadTest, ARunIsComparedWithItsBaseline) {
  const std::string first = testing::TempDir() + "first.json";
  const std::vector<std::string> plan{"--rate", "100", "-d", "300ms"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), plan.begin(), plan.end());
    return more;
  };
  ASSERT_EQ(run("app.localhost", with({"--json", first})), 0) << report_;

  // A busy machine can make it slower.
  const int status =
      run("app.localhost", with({"--baseline", first, "--tolerance", "1000%", "-o", "json"}));
  EXPECT_EQ(status, reports("\"verdict\": \"worse\"") ? 4 : 0) << report_;
  EXPECT_TRUE(reports("\"compare\": {")) << report_;
  (void)run("app.localhost", with({"--baseline", first}));
  EXPECT_TRUE(reports("now this run")) << report_;
  EXPECT_TRUE(reports("95 % interval")) << report_;

  EXPECT_EQ(run("app.localhost", {"--rate", "50", "-d", "300ms", "--baseline", first}), 78);
  EXPECT_EQ(report_, "") << "no request is sent for a comparison that cannot be";
  EXPECT_EQ(run("app.localhost", with({"--baseline", first + ".gone"})), 78);
  EXPECT_EQ(run("app.localhost", with({"--tolerance", "5%"})), 2);
  EXPECT_EQ(run("app.localhost", with({"--baseline", first, "--tolerance", "x"})), 2);
  std::filesystem::remove(first);
}

}  // namespace
}  // namespace sluice::loadgen
