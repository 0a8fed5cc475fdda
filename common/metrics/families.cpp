#include "common/metrics/families.h"

namespace sluice::metrics {

// Not in the header: the sidecar has labels in many places, and its size counts.
Labels::Labels() = default;
Labels::~Labels() = default;
Labels::Labels(const Labels& other) = default;
Labels::Labels(Labels&& other) noexcept = default;
Labels& Labels::operator=(const Labels& other) = default;
Labels& Labels::operator=(Labels&& other) noexcept = default;

Labels::Labels(std::initializer_list<Label> labels) {
  pairs_.reserve(labels.size());
  for (const Label& label : labels) {
    if (!label.value.empty()) pairs_.push_back({label.name, std::string{label.value}});
  }
}

Labels Labels::with(const Labels& other) const {
  Labels all{*this};
  all.pairs_.insert(all.pairs_.end(), other.pairs_.begin(), other.pairs_.end());
  return all;
}

void Families::add_single(std::string_view name, MetricType type, std::string_view help,
                          double number) {
  family(name, type, help);
  add({}, number);
}

}  // namespace sluice::metrics
