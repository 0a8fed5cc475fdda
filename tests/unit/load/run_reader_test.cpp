#include "load/core/run_reader.h"

#include <gtest/gtest.h>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kReport = R"({
  "schema": 1, "name": "shop", "started_at": "2026-11-27T10:00:00Z", "length_s": 14.0,
  "plan": {"loop": "open", "connections": 9876, "seed": 7, "protocol": "h2", "url": "http://a.localhost:8080/x?y=1",
           "segments": [{"rate": 2, "for_s": 5}, {"rate": 4, "for_s": 5}]},
  "requests": {"sent": 30, "answered": 29},
  "errors": {"total": 1, "rate": 0.05},
  "latency_ms": {"p50": 20.5, "p90": 30, "p99": 40, "p99_9": 41, "max": 4.2e1},
  "generator": {"late": true, "rate_achieved": 3, "interrupted": false},
  "targets": [{"name": "one", "url": "http://b/", "requests": {"sent": 7}}],
  "scaling": {"replicas_max": 2, "replicas_seconds": 24.5, "cold_start_ms": {"p95": 800},
              "time_to_zero_s": null},
  "seconds": [{"at_s": 0, "target": "one", "sent": 10, "errors": 1, "max_ms": 42},
              {"at_s": 0, "target": "two", "sent": 5, "errors": 0, "max_ms": 41},
              {"at_s": 1, "target": "one", "sent": 10, "errors": 0, "max_ms": 30},
              {"at_s": 1, "target": "two", "sent": 5, "errors": 0, "max_ms": 20}],
  "environment": {"host": "h", "kernel": "k", "cpu": "c", "command": "sluice load"}
})";

Result<ComparedRun, Problem> read(std::string_view text, std::size_t piece = 1U << 20U) {
  RunReader reader;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (auto problem = reader.feed(text.substr(0, piece))) return *std::move(problem);
  }
  return reader.finish();
}

std::string problem_of(std::string_view text) {
  const auto run = read(text);
  return run ? "" : run.error().what;
}

std::optional<double> figure(const ComparedRun& run, Figure figure) {
  return run.figures[static_cast<std::size_t>(figure)];
}

TEST(RunReader, FiguresAreThoseOfTheReport) {
  const auto run = read(kReport);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->name, "shop");
  EXPECT_EQ(run->machine, "h, k, c");
  EXPECT_TRUE(run->late);
  EXPECT_FALSE(run->interrupted);
  EXPECT_DOUBLE_EQ(*figure(*run, Figure::p50), 0.0205);
  EXPECT_DOUBLE_EQ(*figure(*run, Figure::max), 0.042);
  EXPECT_DOUBLE_EQ(*figure(*run, Figure::error_rate), 0.05);
  EXPECT_DOUBLE_EQ(*figure(*run, Figure::rate), 3);
  EXPECT_DOUBLE_EQ(*figure(*run, Figure::cold_start), 0.8);
  EXPECT_DOUBLE_EQ(*figure(*run, Figure::replicas_max), 2);
  EXPECT_DOUBLE_EQ(*figure(*run, Figure::replica_seconds), 24.5);
  EXPECT_EQ(figure(*run, Figure::time_to_zero), std::nullopt);
}

TEST(RunReader, RowsOfSeveralTargetsAreOneSecond) {
  const auto run = read(kReport);
  ASSERT_EQ(run->blocks.size(), 2U);
  EXPECT_EQ(run->blocks[0].sent, 15U);
  EXPECT_EQ(run->blocks[0].errors, 1U);
  EXPECT_EQ(run->blocks[0].max, 42ms);
  EXPECT_EQ(run->blocks[0].length, 1s);
  EXPECT_EQ(run->blocks[1].length, 1s);
}

TEST(RunReader, LatenciesOfTargetsAreAddedByBuckets) {
  const auto run = read(R"({"schema": 1, "requests": {"sent": 4}, "seconds": [
      {"at_s": 0, "for_s": 2, "sent": 3, "not_sent": 2, "errors": 2, "histogram": "98 1x2"},
      {"at_s": 0, "for_s": 2, "sent": 1, "histogram": "99"}]})");
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->histograms);
  ASSERT_EQ(run->blocks.size(), 1U);
  EXPECT_EQ(run->blocks[0].length, 2s);
  EXPECT_EQ(run->blocks[0].due, 6U);
  EXPECT_EQ(run->blocks[0].latency, (std::vector<LatencyCell>{{97us, 98us, 1}, {98us, 99us, 3}}));
}

TEST(RunReader, AHistogramThatWasChangedIsRefused) {
  EXPECT_NE(problem_of(R"({"schema": 1, "requests": {"sent": 4}, "seconds": [
                           {"at_s": 0, "histogram": "98 -1"}]})")
                .find("a histogram of its seconds"),
            std::string::npos);
}

TEST(RunReader, APlanIsWhatWasSentAndWhenWithoutHostsAndLimits) {
  const auto run = read(kReport);
  EXPECT_EQ(run->plan.at("plan.url"), std::vector<std::string>{"http://…/x?y=1"});
  EXPECT_EQ(run->plan.at("plan.seed"), std::vector<std::string>{"7"});
  EXPECT_EQ(run->plan.at("plan.protocol"), std::vector<std::string>{"h2"});
  EXPECT_EQ(run->plan.at("plan.segments[].rate"), (std::vector<std::string>{"2", "4"}));
  EXPECT_FALSE(run->plan.contains("plan.connections"));
}

TEST(RunReader, PiecesOfAnySizeAreTheSameRun) {
  const auto whole = read(kReport);
  for (const std::size_t piece : {1U, 7U, 64U}) {
    const auto run = read(kReport, piece);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->figures, whole->figures);
    EXPECT_EQ(run->plan, whole->plan);
    EXPECT_EQ(run->blocks, whole->blocks);
  }
}

TEST(RunReader, AReportThatWasCutIsRefused) {
  for (const std::size_t length : {std::size_t{1}, kReport.size() / 2, kReport.size() - 1}) {
    EXPECT_NE(problem_of(kReport.substr(0, length)).find("ends in the middle"), std::string::npos);
  }
  EXPECT_NE(problem_of("").find("ends in the middle"), std::string::npos);
}

TEST(RunReader, WhatIsNoReportIsRefused) {
  EXPECT_EQ(problem_of("{}"), "it is no report of sluice load");
  EXPECT_EQ(problem_of(R"({"schema": 1})"), "it is no report of sluice load");
  EXPECT_EQ(problem_of(R"([{"schema": 1}])"), "it is no report of sluice load");
  EXPECT_EQ(problem_of("{HTTP/1.1"), "byte 2: it is not JSON from there on");
}

TEST(RunReader, AnUnknownSchemaIsRefused) {
  EXPECT_EQ(problem_of(R"({"schema": 2, "requests": {"sent": 1}})"),
            "it is a report of schema 2, which this sluice does not know");
}

TEST(RunReader, SecondsWithoutATimeAreRefused) {
  EXPECT_EQ(problem_of(R"({"schema": 1, "requests": {"sent": 1}, "seconds": [{"sent": 1}]})"),
            "a row of its seconds has no time");
}

TEST(RunReader, FiguresThatAreNoNumbersAreAbsent) {
  const auto run = read(
      R"({"schema": 1, "requests": {"sent": 1}, "latency_ms": {"p50": "x", "p90": -1, "p99": null},
          "seconds": [{"at_s": 0, "sent": 1e300, "max_ms": 1e300}]})");
  ASSERT_TRUE(run);
  EXPECT_EQ(figure(*run, Figure::p50), std::nullopt);
  EXPECT_EQ(figure(*run, Figure::p90), std::nullopt);
  EXPECT_EQ(figure(*run, Figure::p99), std::nullopt);
}

TEST(RunReader, TextsSteerNoTerminal) {
  const auto run = read(R"({"schema": 1, "name": "a\u001b[31m", "requests": {"sent": 1}})");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->name, "a?[31m");
}

}  // namespace
}  // namespace sluice::loadgen
