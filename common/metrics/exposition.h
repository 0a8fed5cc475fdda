#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace sluice::metrics {

/// One label of a series; its value is any text.
struct Label {
  std::string_view name;
  std::string_view value;
};

/// Labels as they stand between the braces, values escaped: `method="GET",code="200"`. Those
/// without a value are left out: to Prometheus they are the same.
[[nodiscard]] std::string label_text(std::initializer_list<Label> labels);

enum class MetricType : std::uint8_t { counter, gauge, histogram };

/// The counts of one histogram series. `counts` has one more than `bounds`: the last is what lies
/// above all of them. Counts are not cumulative.
struct HistogramView {
  std::span<const std::string_view> bounds;  ///< as text, rising
  std::span<const std::uint64_t> counts;
  double sum = 0;
};

/// Writes metric families in Prometheus' text format 0.0.4: a family, then its series.
class Exposition {
 public:
  /// Appends to `out`, which outlives the writer.
  explicit Exposition(std::string& out) : out_{out} {}

  /// `name` is a view of a text that lives as long as the family is written.
  void family(std::string_view name, MetricType type, std::string_view help);

  /// One series of the family; `labels` as label_text makes them.
  void value(std::string_view labels, double number);
  void count(std::string_view labels, std::uint64_t number);
  void histogram(std::string_view labels, const HistogramView& histogram);

 private:
  void begin(std::string_view suffix, std::string_view labels, std::string_view bound = {});
  void append(double number);
  void append(std::uint64_t number);

  std::string& out_;
  std::string_view name_;
};

}  // namespace sluice::metrics
