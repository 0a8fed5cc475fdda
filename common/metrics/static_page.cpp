#include "common/metrics/static_page.h"

#include "common/base/check.h"
#include "common/metrics/exposition.h"

#include <deque>
#include <unordered_map>

namespace sluice::metrics {
namespace {

/// Writes each family to a text of its own, wherever its series come from.
class Collected final : public Families {
 public:
  void family(std::string_view name, MetricType type, std::string_view help) override {
    const auto [place, first] = places_.try_emplace(std::string{name}, nullptr);
    if (first) {
      place->second = &families_.emplace_back(type);
      place->second->writer.family(place->first, type, help);
    }
    family_ = place->second;
    CHECK(family_->type == type);
  }

  void histogram(const Labels& labels, const HistogramView& histogram) override {
    family_->writer.histogram(labels, histogram);
  }

  void append_to(std::string& out) const {
    for (const Family& family : families_) out += family.text;
  }

 private:
  struct Family {
    explicit Family(MetricType of) : type{of} {}

    MetricType type;
    std::string text;
    Exposition writer{text};
  };

  void add(const Labels& labels, double number) override { family_->writer.value(labels, number); }

  std::deque<Family> families_;  // in the order of their beginnings; none ever moves
  std::unordered_map<std::string, Family*> places_;  // of families_, by name, which they borrow
  Family* family_ = nullptr;                         // the one begun last
};

}  // namespace

void StaticPage::operator()(std::string& out) const {
  Collected collected;
  write_(collected);
  collected.append_to(out);
}

}  // namespace sluice::metrics
