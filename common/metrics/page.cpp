#include "common/metrics/page.h"

#include "common/base/check.h"

#include <charconv>
#include <limits>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <unordered_map>

namespace sluice::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

prometheus::MetricType type_of(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return prometheus::MetricType::Counter;
    case MetricType::gauge:
      return prometheus::MetricType::Gauge;
    case MetricType::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

double number_of(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class Collected final : public Families {
 public:
  void family(std::string_view name, MetricType type, std::string_view help) override {
    const auto [place, first] = places_.try_emplace(std::string{name}, families_.size());
    if (first) families_.push_back({place->first, std::string{help}, type_of(type), {}});
    family_ = &families_[place->second];
    CHECK(family_->type == type_of(type));
  }

  void histogram(const Labels& labels, const HistogramView& histogram) override {
    ClientMetric::Histogram& filled = series(labels).histogram;
    filled.sample_sum = histogram.sum;
    filled.bucket.reserve(histogram.counts.size());
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
      filled.sample_count += histogram.counts[i];
      filled.bucket.push_back({filled.sample_count, i < histogram.bounds.size()
                                                        ? number_of(histogram.bounds[i])
                                                        : std::numeric_limits<double>::infinity()});
    }
  }

  [[nodiscard]] std::vector<MetricFamily> take() { return std::move(families_); }

 private:
  void add(const Labels& labels, double number) override {
    ClientMetric& metric = series(labels);
    (family_->type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) =
        number;
  }

  ClientMetric& series(const Labels& labels) {
    ClientMetric& metric = family_->metric.emplace_back();
    metric.label.reserve(labels.pairs().size());
    for (const auto& [name, value] : labels.pairs()) {
      metric.label.push_back({std::string{name}, value});
    }
    return metric;
  }

  std::vector<MetricFamily> families_;
  std::unordered_map<std::string, std::size_t> places_;  // in families_, by name
  MetricFamily* family_ = nullptr;                       // of families_: the one begun last
};

}  // namespace

std::vector<MetricFamily> Page::Collect() const {
  Collected collected;
  write_(collected);
  return collected.take();
}

void Page::operator()(std::string& out) const {
  out += prometheus::TextSerializer{}.Serialize(Collect());
}

}  // namespace sluice::metrics
