#include "load/core/replay.h"

#include <gtest/gtest.h>

#include "load/core/load_plan.h"
#include <utility>
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

TraceCell recorded(Duration at, const char* method, std::uint64_t count = 1, Duration length = 0s) {
  TraceCell cell;
  cell.at = at;
  cell.length = length;
  cell.count = count;
  cell.method = method;
  return cell;
}

// Passes one cell in a call.
CellReader one_by_one(std::vector<TraceCell> cells) {
  return [cells = std::move(cells), passed = std::size_t{0}](const CellSink& sink) mutable {
    if (passed < cells.size()) sink(cells[passed++]);
    return passed < cells.size();
  };
}

std::vector<PlannedRequest> sent_of(const Replay& replay, std::vector<TraceCell> cells,
                                    std::uint64_t seed = 1) {
  std::vector<PlannedRequest> out;
  ReplaySchedule schedule{replay, seed, one_by_one(std::move(cells))};
  for (; schedule.next(); schedule.take()) out.push_back(*schedule.next());
  return out;
}

std::vector<Duration> times_of(const std::vector<PlannedRequest>& requests) {
  std::vector<Duration> out;
  for (const PlannedRequest& request : requests) out.push_back(request.at);
  return out;
}

TEST(Replay, SendsRecordedRequestsAtTheirTimesInOrder) {
  const auto sent = sent_of({}, {recorded(1500ms, "GET"), recorded(1s, "HEAD"),
                                 recorded(40s, "OPTIONS"), recorded(41s, "")});

  EXPECT_EQ(times_of(sent), (std::vector<Duration>{1s, 1500ms, 40s, 41s}));
  EXPECT_EQ(sent[0].as, SentAs::head);
  EXPECT_EQ(sent[1].as, SentAs::get);
  EXPECT_EQ(sent[2].as, SentAs::options);
  EXPECT_EQ(sent[3].as, SentAs::planned);
}

TEST(Replay, SendsRequestsInOrderWhoseTimesGoBackByLessThanAnHour) {
  const std::vector<TraceCell> cells{recorded(50min, "GET"), recorded(51min, "GET"),
                                     recorded(10min, "GET"), recorded(70min, "GET")};

  EXPECT_EQ(times_of(sent_of({.format = TraceFormat::jsonl}, cells)),
            (std::vector<Duration>{10min, 50min, 51min, 70min}));
}

TEST(Replay, LeavesOutWhatMayChangeSomething) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "CONNECT", "TRACE", "get", "X"}) {
    EXPECT_FALSE(sent_as(method, Methods::safe)) << method;
    EXPECT_EQ(times_of(sent_of({}, {recorded(1s, method), recorded(2s, "GET")})),
              (std::vector<Duration>{2s}))
        << method;
  }
  EXPECT_TRUE(sent_of({}, {recorded(1s, "POST")}).empty());
  EXPECT_TRUE(sent_of({}, {}).empty());
}

TEST(Replay, SendsOtherMethodsThatAreKnownWhereThatIsAsked) {
  const Replay all{.part = {.methods = Methods::all}};
  const std::vector<std::pair<const char*, bool>> methods{
      {"DELETE", false}, {"POST", true}, {"PUT", true}, {"PATCH", true}, {"GET", false}};
  for (const auto& [method, with_body] : methods) {
    const auto sent = sent_of(all, {recorded(1s, method)});
    ASSERT_EQ(sent.size(), 1U) << method;
    EXPECT_EQ(method_of(TargetPlan{}, sent[0].as), method);
    EXPECT_EQ(has_body(sent[0].as), with_body) << method;
  }
  for (const char* method : {"CONNECT", "TRACE", "PROPFIND", "post"}) {
    EXPECT_TRUE(sent_of(all, {recorded(1s, method)}).empty()) << method;
  }
}

TEST(Replay, OfAPartBeginsWhereThatBegins) {
  const std::vector<TraceCell> cells{recorded(9s, "GET"), recorded(10s, "GET"),
                                     recorded(29s, "GET"), recorded(30s, "GET")};

  EXPECT_EQ(times_of(sent_of({.part = {.from = 10s, .until = 30s}}, cells)),
            (std::vector<Duration>{0s, 19s}));
  EXPECT_EQ(times_of(sent_of({.speed = 2, .part = {.from = 10s}}, cells)),
            (std::vector<Duration>{0s, 9500ms, 10s}));
}

TEST(Replay, IsFasterSlowerAndMoreOften) {
  const std::vector<TraceCell> cells{recorded(1s, "GET"), recorded(30s, "GET")};

  EXPECT_EQ(times_of(sent_of({.speed = 4}, cells)), (std::vector<Duration>{250ms, 7500ms}));
  EXPECT_EQ(times_of(sent_of({.speed = 0.5}, cells)), (std::vector<Duration>{2s, 60s}));
  EXPECT_EQ(times_of(sent_of({.speed = 2, .times = 2}, cells)),
            (std::vector<Duration>{500ms, 500ms, 15s, 15s}));
}

TEST(Replay, SpreadsARoughTimeByTheSeed) {
  const std::vector<TraceCell> cells{recorded(60s, "", 50, 60s)};
  const auto first = times_of(sent_of({}, cells));

  ASSERT_EQ(first.size(), 50U);
  EXPECT_GE(first.front(), 60s);
  EXPECT_LT(first.back(), 120s);
  EXPECT_LT(first.front(), first.back());
  EXPECT_EQ(times_of(sent_of({}, cells)), first);
  EXPECT_NE(times_of(sent_of({}, cells, 2)), first);
}

std::uint64_t skipped_until(Pacer& pacer, Duration until) {
  std::uint64_t count = 0;
  pacer.skip_until(until, [&count](const PlannedRequest&) { ++count; });
  return count;
}

TEST(Pacer, EndsAReplayWithItsTraceOrAtTheCount) {
  LoadPlan plan;
  plan.phases[0].replay.emplace();
  const std::vector<TraceCell> cells{recorded(1s, "GET"), recorded(2s, "HEAD"),
                                     recorded(3s, "GET")};
  Pacer whole{plan, {one_by_one(cells)}};
  LoadPlan short_plan = plan;
  short_plan.count = 2;
  Pacer counted{short_plan, {one_by_one(cells)}};

  EXPECT_EQ(whole.take().as, SentAs::get);
  EXPECT_EQ(whole.take().as, SentAs::head);
  EXPECT_EQ(skipped_until(whole, 1h), 1U);
  EXPECT_FALSE(whole.next());
  EXPECT_EQ(skipped_until(counted, 1h), 2U);
}

TEST(LoadPlan, NamesTheReplay) {
  LoadPlan plan;
  plan.phases[0].replay = Replay{.trace = {"a.csv", {}}, .requests = 1234, .length = 60s};
  plan.duration = 60s;
  EXPECT_EQ(describe(plan), "open loop, replay of a.csv (1 234 requests in 60 s), seed 1");
  EXPECT_NEAR(mean_rate(plan), 20.567, 0.001);

  plan.phases[0].replay->speed = 0.5;
  plan.phases[0].replay->times = 3;
  plan.phases[0].replay->trace.file = std::string(60, 'x') + "\x1b[2J" + std::string(56, 'y');
  plan.count = 7;
  EXPECT_EQ(describe(plan),
            "open loop, replay of …?[2J" + std::string(56, 'y') +
                " (1 234 requests in 60 s), speed 0.5, times 3, 7 requests, seed 1");

  plan.count.reset();
  plan.phases[0].replay = Replay{.trace = {"a.csv", {}},
                                 .part = {.from = 5s, .until = 15s, .methods = Methods::all},
                                 .requests = 10,
                                 .length = 10s};
  EXPECT_EQ(describe(plan),
            "open loop, replay of a.csv (10 requests in 10 s), from 5 s, until 15 s, all methods, "
            "seed 1");

  plan.phases[0].replay->length = 0s;
  EXPECT_EQ(mean_rate(plan), 0);
}

}  // namespace
}  // namespace sluice::loadgen
