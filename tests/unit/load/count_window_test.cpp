#include "load/core/count_window.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

// Adds the counts of two functions in the minutes 0 to 9: 1 to 10 of `f`, ten times as many of `g`.
void fill(CountWindow& window) {
  TraceCell cell;
  cell.length = 1min;
  for (const char* name : {"f", "g"}) {
    cell.service = name;
    for (int minute = 0; minute < 10; ++minute) {
      cell.at = minute * 1min;
      cell.count = static_cast<std::uint64_t>((minute + 1) * (cell.service == "f" ? 1 : 10));
      window.add(cell);
    }
  }
}

std::string passed_on(CountWindow& window) {
  std::string text;
  window.pass_on([&text](const TraceCell& cell) {
    EXPECT_EQ(cell.length, 1min);
    text += std::to_string(cell.at / 1min) + cell.service + std::to_string(cell.count) + " ";
  });
  return text;
}

TEST(CountWindow, PutsFunctionsInTheOrderOfTime) {
  CountWindow window{0min};
  fill(window);

  EXPECT_EQ(window.end(), CountWindow::kDay);
  EXPECT_EQ(passed_on(window),
            "0f1 0g10 1f2 1g20 2f3 2g30 3f4 3g40 4f5 4g50 5f6 5g60 6f7 6g70 7f8 7g80 8f9 8g90 9f10 "
            "9g100 ");
}

// Goal: nothing is lost or doubled however little room there is. Method: window after window.
TEST(CountWindow, BecomesShorterWhereThereIsNoRoom) {
  CountWindow whole{0min};
  fill(whole);
  const std::string wanted = passed_on(whole);

  for (const std::size_t room : {1U, 2U, 3U, 7U, 19U, 20U}) {
    std::string got;
    for (Duration from{0}; from < CountWindow::kDay;) {
      CountWindow window{from, room};
      fill(window);
      got += passed_on(window);
      ASSERT_GT(window.end(), from);
      from = window.end();
    }
    EXPECT_EQ(got, wanted) << room;
  }
}

TEST(CountWindow, HasTheServiceTimesOfItsFunctions) {
  CountWindow window{0min};
  TraceCell cell;
  cell.service_times.add(1, 5ms);
  window.add(cell);

  window.pass_on([](const TraceCell& kept) { EXPECT_EQ(kept.service_times.at(0.5), 5ms); });
}

}  // namespace
}  // namespace sluice::loadgen
