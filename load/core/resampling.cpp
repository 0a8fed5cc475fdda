#include "load/core/resampling.h"

#include "load/core/portable_math.h"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <span>

namespace sluice::loadgen {

namespace {

using Figures = std::array<std::optional<double>, kResampledFigures>;

constexpr std::array<double, 4> kPercents{50, 90, 99, 99.9};
// Of requests above a percentile.
constexpr double kRareMax = 5;
// With fewer, a figure is too often absent for an estimate.
constexpr std::size_t kDrawnMin = kResamples / 2;

std::size_t index_of(Figure figure) {
  return static_cast<std::size_t>(figure);
}

// The blocks of one run, laid out so that drawing is adding rows.
class Table {
 public:
  explicit Table(const std::vector<RunBlock>& blocks) : blocks_{blocks} {
    RunBlock all;
    for (const RunBlock& block : blocks) add(all, block);
    for (const LatencyCell& cell : all.latency) cells_.push_back(cell);
    counts_.resize(blocks.size() * cells_.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      auto at = cells_.begin();
      for (const LatencyCell& cell : blocks[i].latency) {
        at = std::find_if(at, cells_.end(),
                          [&](const LatencyCell& one) { return one.high == cell.high; });
        counts_[i * cells_.size() + static_cast<std::size_t>(at - cells_.begin())] =
            static_cast<double>(cell.count);
      }
    }
    drawn_.resize(cells_.size());
  }

  [[nodiscard]] std::size_t size() const { return blocks_.size(); }

  [[nodiscard]] double latencies() const {
    return std::accumulate(counts_.begin(), counts_.end(), 0.0);
  }

  // The logarithm of the longest latency of a block.
  [[nodiscard]] std::optional<double> max_of(std::size_t block) const {
    const Duration max = blocks_[block].max;
    return max > Duration::zero() ? std::optional{std::log(to_seconds(max))} : std::nullopt;
  }

  // Of a run that has each block so many times.
  [[nodiscard]] Figures figures(std::span<const std::uint32_t> times) {
    double due = 0;
    double sent = 0;
    double errors = 0;
    double seconds = 0;
    std::fill(drawn_.begin(), drawn_.end(), 0.0);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (times[i] == 0) continue;
      const double weight = times[i];
      due += weight * static_cast<double>(blocks_[i].due);
      sent += weight * static_cast<double>(blocks_[i].sent);
      errors += weight * static_cast<double>(blocks_[i].errors);
      seconds += weight * to_seconds(blocks_[i].length);
      const double* const row = counts_.data() + i * cells_.size();
      for (std::size_t j = 0; j < drawn_.size(); ++j) drawn_[j] += weight * row[j];
    }
    Figures out;
    add_percentiles(out);
    if (due > 0) out[index_of(Figure::error_rate)] = errors / due;
    if (sent > 0) out[index_of(Figure::rate)] = std::log(sent / seconds);
    return out;
  }

  [[nodiscard]] Figures figures() {
    const std::vector<std::uint32_t> once(size(), 1);
    return figures(once);
  }

 private:
  // Between the edges of a cell in a line, since whole cells would hide differences below their
  // width.
  void add_percentiles(Figures& out) const {
    double count = 0;
    for (const double cell : drawn_) count += cell;
    if (count == 0) return;
    std::size_t wanted = 0;
    double seen = 0;
    for (std::size_t j = 0; j < drawn_.size() && wanted < kPercents.size(); ++j) {
      for (; wanted < kPercents.size(); ++wanted) {
        const double rank = kPercents[wanted] / 100 * count;
        if (seen + drawn_[j] < rank) break;
        const double low = static_cast<double>(cells_[j].low.count());
        const double high = static_cast<double>(cells_[j].high.count());
        const double share = drawn_[j] > 0 ? (rank - seen) / drawn_[j] : 1;
        out[wanted] = std::log(std::max(low + (high - low) * share, 1.0));
      }
      seen += drawn_[j];
    }
  }

  const std::vector<RunBlock>& blocks_;  // those of the caller of spread_of
  std::vector<LatencyCell> cells_;
  std::vector<double> counts_;
  std::vector<double> drawn_;
};

// Mean and variance of what is added, in one pass.
class Moments {
 public:
  void add(double value) {
    ++count_;
    const double off = value - mean_;
    mean_ += off / static_cast<double>(count_);
    squares_ += off * (value - mean_);
  }

  [[nodiscard]] std::size_t count() const { return count_; }

  [[nodiscard]] double variance() const {
    return count_ < 2 ? 0 : squares_ / static_cast<double>(count_ - 1);
  }

 private:
  std::size_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

using AllMoments = std::array<Moments, kResampledFigures>;

// How often each of `blocks` is drawn.
std::vector<std::uint32_t> drawn(std::size_t blocks, std::mt19937_64& random) {
  std::vector<std::uint32_t> times(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    ++times[static_cast<std::size_t>(unit_of(random()) * static_cast<double>(blocks))];
  }
  return times;
}

// What is resampled: the baseline and the runs, all drawn at once.
class Draws {
 public:
  Draws(const std::vector<RunBlock>& baseline, const std::vector<std::vector<RunBlock>>& runs)
      : within_(runs.size()) {
    tables_.emplace_back(baseline);
    for (const std::vector<RunBlock>& run : runs) tables_.emplace_back(run);
    for (const Table& table : tables_) {
      paired_ = paired_ && table.size() == baseline.size();
      least_ = std::min(least_, table.size());
    }
  }

  [[nodiscard]] std::size_t least() const { return least_; }

  // Of the run with the fewest.
  [[nodiscard]] double least_latencies() const {
    double least = tables_.front().latencies();
    for (const Table& table : tables_) least = std::min(least, table.latencies());
    return least;
  }

  void draw(std::mt19937_64& random) {
    std::vector<Figures> figures;
    std::vector<std::uint32_t> times = drawn(tables_.front().size(), random);
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (i > 0 && !paired_) times = drawn(tables_[i].size(), random);
      figures.push_back(tables_[i].figures(times));
    }
    for (std::size_t f = 0; f < kResampledFigures; ++f) take(figures, f);
  }

  [[nodiscard]] std::optional<Spread> spread(std::size_t figure) {
    if (differences_[figure].count() < kDrawnMin) return std::nullopt;
    const auto blocks = static_cast<double>(least_);
    // A sample is narrower than what it was drawn from.
    const double widened = blocks / (blocks - 1);
    double inside_each = 0;
    Moments between;
    for (std::size_t i = 0; i < within_.size(); ++i) {
      inside_each += within_[i][figure].variance() * widened;
      if (const auto value = tables_[i + 1].figures()[figure]) between.add(*value);
    }
    return joined_spread(differences_[figure].variance() * widened, inside_each, between);
  }

  // Drawing blocks tells little of a maximum, which is in one of them. But whatever the tail, the
  // logarithm of the maximum of many blocks varies about as that of one block does (both have
  // Gumbel's distribution, and one width).
  [[nodiscard]] std::optional<Spread> spread_of_max() const {
    std::vector<Moments> within(within_.size());
    Moments between;
    Moments differences;
    double apart = 0;  // of blocks that do not belong together
    for (std::size_t i = 0; i < within.size(); ++i) {
      Moments& of_run = within[i];
      std::optional<double> most;
      for (std::size_t b = 0; b < tables_[i + 1].size(); ++b) {
        const auto max = tables_[i + 1].max_of(b);
        if (max) of_run.add(*max);
        most = std::max(most, max);
      }
      if (most) between.add(*most);
      apart += of_run.variance();
    }
    for (std::size_t b = 0; b < tables_.front().size(); ++b) {
      const auto difference = paired_ ? difference_of_max(b) : tables_.front().max_of(b);
      if (difference) differences.add(*difference);
    }
    if (differences.count() < 2 || between.count() < within.size()) return std::nullopt;
    const double alone = apart / static_cast<double>(within.size());
    return joined_spread(differences.variance() + (paired_ ? 0 : alone), apart, between);
  }

 private:
  // `inside` is the variance of the difference as far as blocks show it, `inside_each` the sum of
  // those of the runs, each alone; `between` has a value of each run.
  [[nodiscard]] Spread joined_spread(double inside, double inside_each,
                                     const Moments& between) const {
    const double freedom = static_cast<double>(least_) - 1;
    const auto runs = static_cast<double>(within_.size());
    if (runs < 2) return {std::sqrt(inside), freedom};
    const double outside = std::max(0.0, between.variance() - inside_each / runs) *
                           variance_beside_median(within_.size());
    if (inside + outside == 0) return {0, freedom};
    const double both = (inside + outside) * (inside + outside);
    return {std::sqrt(inside + outside),
            both / (inside * inside / freedom + outside * outside / (runs - 1))};
  }

  [[nodiscard]] std::optional<double> difference_of_max(std::size_t block) const {
    std::vector<double> values;
    for (const Table& table : tables_) {
      const auto max = table.max_of(block);
      if (!max) return std::nullopt;
      values.push_back(*max);
    }
    const double baseline = values.front();
    values.erase(values.begin());
    return median(std::move(values)) - baseline;
  }

  void take(const std::vector<Figures>& figures, std::size_t f) {
    std::vector<double> values;
    for (const Figures& of_run : figures) {
      if (!of_run[f]) return;
      values.push_back(*of_run[f]);
    }
    const double baseline = values.front();
    values.erase(values.begin());
    for (std::size_t i = 0; i < values.size(); ++i) within_[i][f].add(values[i]);
    differences_[f].add(median(std::move(values)) - baseline);
  }

  std::vector<Table> tables_;  // the baseline, then the runs
  bool paired_ = true;
  std::size_t least_ = BlockSeries::kMost;
  AllMoments differences_;
  std::vector<AllMoments> within_;  // by run
};

}  // namespace

std::array<std::optional<Spread>, kResampledFigures> spread_of(
    const std::vector<RunBlock>& baseline, const std::vector<std::vector<RunBlock>>& runs,
    std::uint64_t seed) {
  Draws draws{baseline, runs};
  std::array<std::optional<Spread>, kResampledFigures> out;
  if (draws.least() < 2) return out;
  std::mt19937_64 random{seed};
  for (std::size_t i = 0; i < kResamples; ++i) draws.draw(random);
  for (std::size_t f = 0; f < kResampledFigures; ++f) out[f] = draws.spread(f);
  const std::optional<Spread> max = draws.spread_of_max();
  out[index_of(Figure::max)] = max;
  // A percentile with few requests above it is as uncertain as the maximum, which draws hide.
  for (std::size_t f = 0; f < kPercents.size(); ++f) {
    const bool rare = draws.least_latencies() * (1 - kPercents[f] / 100) < kRareMax;
    if (rare && out[f] && max && max->deviation > out[f]->deviation) out[f] = max;
  }
  return out;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double variance_beside_median(std::size_t runs) {
  // The variance of a median of three or more is about pi / 2 times that of a mean.
  return 1 + (runs < 3 ? 1 : std::numbers::pi / 2) / static_cast<double>(runs);
}

double student_95(double freedom) {
  // The quantile of 97.5 %, in lines between these.
  struct Point {
    double inverse;
    double factor;
  };

  constexpr std::array<Point, 11> kPoints{{{0, 1.960},
                                           {1.0 / 60, 2.000},
                                           {1.0 / 20, 2.086},
                                           {1.0 / 10, 2.228},
                                           {1.0 / 7, 2.365},
                                           {1.0 / 5, 2.571},
                                           {1.0 / 4, 2.776},
                                           {1.0 / 3, 3.182},
                                           {1.0 / 2, 4.303},
                                           {1.0 / 1.5, 6.0},
                                           {1, 12.706}}};
  const double inverse = std::clamp(1 / freedom, 0.0, 1.0);
  for (std::size_t i = 1; i < kPoints.size(); ++i) {
    if (inverse > kPoints[i].inverse) continue;
    const Point& from = kPoints[i - 1];
    const Point& to = kPoints[i];
    return from.factor +
           (to.factor - from.factor) * (inverse - from.inverse) / (to.inverse - from.inverse);
  }
  return kPoints.back().factor;
}

}  // namespace sluice::loadgen
