#include "tests/unit/load/made_runs.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::loadgen {

namespace {

constexpr int kPerSecond = 200;
constexpr double kCellsPerFold = 70;  // of e: each is 1.4 % wide

Duration from_ms(double ms) {
  return from_seconds(ms / 1e3);
}

LatencyCell cell_of(double ms) {
  const double edge = std::floor(std::log(ms) * kCellsPerFold);
  return {from_ms(std::exp(edge / kCellsPerFold)), from_ms(std::exp((edge + 1) / kCellsPerFold)),
          1};
}

}  // namespace

ComparedRun made_run(const MadeService& service, std::mt19937_64& random, int seconds) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit;
  BlockSeries series;
  std::vector<double> all;
  double errors = 0;
  for (int second = 0; second < seconds; ++second) {
    RunBlock block;
    block.length = std::chrono::seconds{1};
    std::map<Duration, LatencyCell> cells;
    for (int i = 0; i < kPerSecond; ++i) {
      const double place = normal(random);
      double ms = service.median_ms * std::exp(service.spread * place);
      constexpr double kSlowest = 1.645;  // 5 % are above
      if (place > kSlowest) ms += service.slower_ms;
      ++block.due;
      ++block.sent;
      if (unit(random) < service.error_rate) ++block.errors;
      const LatencyCell cell = cell_of(ms);
      const auto [known, fresh] = cells.try_emplace(cell.high, cell);
      if (!fresh) ++known->second.count;
      block.max = std::max(block.max, from_ms(ms));
      all.push_back(ms / 1e3);
    }
    for (const auto& [high, cell] : cells) block.latency.push_back(cell);
    errors += static_cast<double>(block.errors);
    series.add(std::chrono::seconds{second}, block);
  }
  std::sort(all.begin(), all.end());
  const auto count = static_cast<double>(all.size());
  const auto at = [&](double percent) {
    return all[static_cast<std::size_t>(std::ceil(percent / 100 * count)) - 1];
  };
  ComparedRun run;
  run.file = "run.json";
  run.histograms = true;
  run.blocks = series.finish();
  run.figures = {at(50), at(90), at(99), at(99.9), all.back(), errors / count, double{kPerSecond}};
  return run;
}

}  // namespace sluice::loadgen
