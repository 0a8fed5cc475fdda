#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::metrics {

/// One label of a series; its value is any text.
struct Label {
  std::string_view name;  ///< lives as long as the program
  std::string_view value;
};

/// The labels of a series, with values of their own. One without a value is left out: to
/// Prometheus they are the same.
class Labels {
 public:
  struct Pair {
    std::string_view name;
    std::string value;
  };

  Labels();
  Labels(std::initializer_list<Label> labels);
  ~Labels();
  Labels(const Labels& other);
  Labels(Labels&& other) noexcept;
  Labels& operator=(const Labels& other);
  Labels& operator=(Labels&& other) noexcept;

  /// These, then `other`.
  [[nodiscard]] Labels with(const Labels& other) const;

  [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  std::vector<Pair> pairs_;
};

enum class MetricType : std::uint8_t { counter, gauge, histogram };

/// The counts of one histogram series. `counts` has one more than `bounds`: the last is what lies
/// above all of them. Counts are not cumulative.
struct HistogramView {
  std::span<const std::string_view> bounds;  ///< as text, rising
  std::span<const std::uint64_t> counts;
  double sum = 0;
};

/// Takes metrics at a scrape: a family, then its series. The sidecar has a form that writes text
/// (Exposition), all other programs have prometheus-cpp's (Page).
class Families {
 public:
  virtual ~Families() = default;

  /// Series that follow belong to this family. `name` lives until the last of them.
  virtual void family(std::string_view name, MetricType type, std::string_view help) = 0;

  virtual void histogram(const Labels& labels, const HistogramView& histogram) = 0;

  template <class Number>
  requires std::is_arithmetic_v<Number>

  void value(const Labels& labels, Number number) { add(labels, static_cast<double>(number)); }

  /// A family whose only series has no labels.
  template <class Number>
  requires std::is_arithmetic_v<Number>

  void counter(std::string_view name, std::string_view help, Number number) {
    add_single(name, MetricType::counter, help, static_cast<double>(number));
  }

  template <class Number>
  requires std::is_arithmetic_v<Number>

  void gauge(std::string_view name, std::string_view help, Number number) {
    add_single(name, MetricType::gauge, help, static_cast<double>(number));
  }

 private:
  virtual void add(const Labels& labels, double number) = 0;
  void add_single(std::string_view name, MetricType type, std::string_view help, double number);
};

}  // namespace sluice::metrics
