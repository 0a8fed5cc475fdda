#pragma once

#include "common/time/time_point.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// A text that says why requests failed, with the time of the first, since the start of the run.
struct ErrorSample {
  Duration at{0};
  std::string text;

  friend bool operator==(const ErrorSample&, const ErrorSample&) = default;
};

/// The first texts of errors that differ: a report has room for a few.
class ErrorSamples {
 public:
  static constexpr std::size_t kMost = 5;

  void add(Duration at, const std::string& text) {
    if (samples_.size() == kMost) return;
    for (const ErrorSample& sample : samples_) {
      if (sample.text == text) return;
    }
    samples_.push_back({at, text});
  }

  [[nodiscard]] const std::vector<ErrorSample>& all() const { return samples_; }

  /// The first text; empty: nothing failed.
  [[nodiscard]] std::string first() const {
    return samples_.empty() ? std::string{} : samples_.front().text;
  }

 private:
  std::vector<ErrorSample> samples_;
};

}  // namespace sluice::loadgen
