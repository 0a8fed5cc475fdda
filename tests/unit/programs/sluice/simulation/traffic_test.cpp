#include "programs/sluice/simulation/traffic.h"

#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>

#include "load/core/shape.h"
#include <fstream>
#include <string>
#include <vector>

namespace sluice::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TraceTrafficTest : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    const auto path = directory_.path() / "trace";
    std::ofstream{path} << text;
    return path.string();
  }

  /// `at+service` of each request in milliseconds, or what is wrong.
  std::string played(const std::string& text, const std::string& service = {}) {
    auto trace = TraceTraffic::open(file(text), service, 1);
    if (!trace) return trace.error().text();
    std::string all;
    while (const auto next = trace->next()) {
      all += all.empty() ? "" : " ";
      all += std::to_string(next->at / milliseconds{1});
      if (next->service) all += "+" + std::to_string(*next->service / milliseconds{1});
    }
    return trace->problem() ? trace->problem()->text() : all;
  }

 private:
  local::TemporaryDirectory directory_;
};

TEST(ShapeTraffic, LastsAsLongAsItsShapeWithThePauseAtItsEnd) {
  Traffic traffic = of_shape(*loadgen::parse_shape("2:10s, pause 5s"), 1);
  std::mt19937_64 random;
  std::vector<NextArrival> all;
  while (const auto next = traffic(Duration{0}, random)) all.push_back(*next);

  ASSERT_GT(all.size(), 10U);
  EXPECT_EQ(all.back().at, seconds{15});
  EXPECT_FALSE(all.back().comes);
  EXPECT_TRUE(all.front().comes);
  EXPECT_LT(all[all.size() - 2].at, seconds{10});
}

TEST_F(TraceTrafficTest, RequestsComeWhenTheyDidAndTakeWhatTheyTook) {
  EXPECT_EQ(played("at_s,duration_ms\n0.000,20\n1.500,\n2.000,30\n"), "0+20 1500 2000+30");
}

// Goal: a request that took long comes when it began, though its line is far behind those that
// began later. Method: it is in another piece of the file.
TEST_F(TraceTrafficTest, RequestsOfAzure2021ComeInTheOrderOfTheirBegins) {
  std::string text = "app,func,end_timestamp,duration\n";
  const std::string name(100, 'f');
  for (int i = 1000; i < 4000; ++i) text += "a," + name + "," + std::to_string(i) + ",0\n";

  const std::string all = played(text + "a,g,4000,2999.5\n");
  EXPECT_EQ(all.substr(0, all.find(' ', 10)), "1000000+0 1000500+2999500") << all.substr(0, 60);
}

TEST_F(TraceTrafficTest, OfSeveralServicesTheNamedOneComes) {
  const std::string two = "at_s,service\n0.000,a\n1.500,b\n2.000,a\n";

  EXPECT_EQ(played(two), "0 1500 2000");
  EXPECT_EQ(played(two, "b"), "1500");
  EXPECT_NE(played(two, "c").find("has no request of a service c"), std::string::npos);
}

TEST_F(TraceTrafficTest, FunctionsComeOneAfterTheOther) {
  auto functions = FunctionTraces::open(
      file("HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f,http,1,0\no,a,none,http,0,0\n"
           "o,a,g,timer,2,3\n"));
  ASSERT_TRUE(functions);
  std::string all;
  while (auto function = functions->next()) {
    all += function->name;
    Traffic traffic = of_function(*function, functions->length(), 1);
    std::mt19937_64 random;
    while (const auto next = traffic(Duration{0}, random)) {
      all += (next->comes ? " " : " end ") + std::to_string(next->at / std::chrono::minutes{1});
    }
    all += "; ";
  }

  EXPECT_EQ(all, "f 0 end 2; g 0 0 1 1 1 end 2; ");
  EXPECT_FALSE(functions->problem());
}

TEST_F(TraceTrafficTest, AFunctionThatIsNamedComesAlone) {
  const std::string functions =
      "HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f,http,1,0\no,a,g,http,0,1\n";

  EXPECT_EQ(played(functions, "g").find(' '), std::string::npos);
}

TEST_F(TraceTrafficTest, FileThatIsNoTraceIsRefused) {
  EXPECT_NE(played("hello\n"), "");
  EXPECT_FALSE(TraceTraffic::open("/nowhere/trace", "", 1));
}

}  // namespace
}  // namespace sluice::simulation
