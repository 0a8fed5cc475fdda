#include "load/core/scaling_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::loadgen {

namespace {

constexpr auto kQueued = static_cast<std::size_t>(Scaling::queued);
constexpr Duration kLeastGap = std::chrono::milliseconds{10};

// The values of a later row, with the most that was queued in either.
void join(ScalingRow& row, const ScalingValues& later) {
  const double queued = std::fmax(row.values[kQueued], later[kQueued]);
  row.values = later;
  row.values[kQueued] = queued;
}

// NaN is equal to NaN here.
bool same(const ScalingValues& a, const ScalingValues& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

}  // namespace

ScalingValues unknown_scaling() {
  ScalingValues values{};
  values.fill(std::numeric_limits<double>::quiet_NaN());
  return values;
}

void ScalingRows::set(Duration at, Scaling what, double value) {
  now_[static_cast<std::size_t>(what)] = value;
  note(std::max(at, Duration::zero()));
}

void ScalingRows::begin() {
  rows_.clear();
  gap_ = Duration::zero();
  note(Duration::zero());
}

void ScalingRows::note(Duration at) {
  if (!rows_.empty() && same(rows_.back().values, now_)) return;
  if (!rows_.empty() && at - rows_.back().at < std::max(gap_, kLeastGap)) {
    join(rows_.back(), now_);
    return;
  }
  if (rows_.size() == kMost) {
    for (std::size_t i = 0; i < kMost / 2; ++i) {
      ScalingRow row = rows_[2 * i];
      join(row, rows_[2 * i + 1].values);
      rows_[i] = row;
    }
    rows_.resize(kMost / 2);
    gap_ = 2 * (rows_.back().at - rows_.front().at) / static_cast<std::int64_t>(kMost);
  }
  rows_.push_back({at, now_});
}

double ScalingRows::queued_max() const {
  double most = std::numeric_limits<double>::quiet_NaN();
  for (const ScalingRow& row : rows_) most = std::fmax(most, row.values[kQueued]);
  return most;
}

ScalingRows ScalingRows::merged(std::span<const ScalingRows* const> parts) {
  if (parts.size() == 1) return *parts.front();

  struct Step {
    Duration at;
    std::size_t part;
    const ScalingValues* values;
  };

  std::vector<Step> steps;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const ScalingRow& row : parts[i]->rows_) steps.push_back({row.at, i, &row.values});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.at < b.at; });
  std::vector<ScalingValues> latest(parts.size(), unknown_scaling());
  ScalingRows out;
  for (const Step& step : steps) {
    latest[step.part] = *step.values;
    out.now_ = unknown_scaling();
    for (const ScalingValues& values : latest) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i == static_cast<std::size_t>(Scaling::target) || std::isnan(values[i])) continue;
        out.now_[i] = std::isnan(out.now_[i]) ? values[i] : out.now_[i] + values[i];
      }
    }
    out.note(step.at);
  }
  return out;
}

}  // namespace sluice::loadgen
