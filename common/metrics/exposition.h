#pragma once

#include "common/metrics/families.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::metrics {

/// Writes metric families in Prometheus' text format 0.0.4, byte for byte as prometheus-cpp does
/// but for the text of bounds, which is the histogram's own.
class Exposition final : public Families {
 public:
  /// Appends to `out`, which outlives the writer.
  explicit Exposition(std::string& out) : out_{out} {}

  void family(std::string_view name, MetricType type, std::string_view help) override;
  void histogram(const Labels& labels, const HistogramView& histogram) override;

 private:
  void add(const Labels& labels, double number) override;
  void begin(std::string_view suffix, std::string_view labels, std::string_view bound = {});
  void append(double number);
  void append(std::uint64_t number);

  std::string& out_;
  std::string_view name_;
};

}  // namespace sluice::metrics
