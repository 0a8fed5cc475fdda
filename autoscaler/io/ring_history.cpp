#include "autoscaler/io/ring_history.h"

#include "common/json/write.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace sluice::autoscaler {

using nlohmann::json;

json RingHistory::Decision::shown(const About& of) const {
  return decision_json(record, of);
}

// Found from the newest back, so that what is too old ends the search.
template <class Entry>
class RingHistory::Records final : public KeptRecords {
 public:
  enum class Order : bool { oldest_first, newest_first };

  Records(const NumberedRing<Entry>& ring, About of, TimePoint since, std::size_t most, Order order)
      : ring_{ring},
        of_{std::move(of)},
        since_{since},
        most_{most},
        order_{order},
        before_{ring.end()} {}

  [[nodiscard]] bool find() override {
    for (int i = 0; i < kLooks; ++i) {
      const Entry* const entry = numbers_.size() < most_ ? ring_.find(before_ - 1) : nullptr;
      if (entry == nullptr || entry->at() < since_) return false;
      --before_;
      if (entry->revision == of_.id) numbers_.push_back(before_);
    }
    return true;
  }

  [[nodiscard]] std::size_t count() const override { return numbers_.size(); }

  void write(std::string& out, std::size_t place) override {
    const bool reversed = order_ == Order::oldest_first;
    const Entry* const entry = ring_.find(numbers_[reversed ? count() - 1 - place : place]);
    if (entry != nullptr) out += json_line(entry->shown(of_));
  }

 private:
  static constexpr int kLooks = 200;  // of a call: some 20 us

  const NumberedRing<Entry>& ring_;
  About of_;
  TimePoint since_;
  std::size_t most_;
  Order order_;
  std::uint64_t before_;  // all from here on were looked at
  std::vector<std::uint64_t> numbers_;
};

template <class Entry>
const Entry* RingHistory::newest(const NumberedRing<Entry>& ring, const RevisionId& of,
                                 TimePoint at) {
  for (std::uint64_t before = ring.end(); before > ring.begin(); --before) {
    const Entry* const entry = ring.find(before - 1);
    if (entry->revision == of && entry->at() <= at) return entry;
  }
  return nullptr;
}

void RingHistory::record(const model::Revision& of, const DecisionRecord& record) {
  decisions_.add({of.id, record});
}

void RingHistory::record_cold_start(const model::Revision& of, TimePoint at, const json& event) {
  cold_starts_.add({of.id, at, event});
}

std::unique_ptr<KeptRecords> RingHistory::decisions(const model::Revision& of,
                                                    TimePoint since) const {
  using Found = Records<Decision>;
  return std::make_unique<Found>(decisions_, about(of), since,
                                 std::numeric_limits<std::size_t>::max(),
                                 Found::Order::oldest_first);
}

std::optional<json> RingHistory::decision_at(const model::Revision& of, TimePoint at) const {
  const Decision* const found = newest(decisions_, of.id, at);
  if (found == nullptr) return std::nullopt;
  return explained_json(found->record, about(of));
}

std::unique_ptr<KeptRecords> RingHistory::cold_starts(const model::Revision& of,
                                                      TimePoint since) const {
  using Found = Records<ColdStart>;
  return std::make_unique<Found>(cold_starts_, about(of), since, kColdStartsShown,
                                 Found::Order::newest_first);
}

std::optional<json> RingHistory::cold_start_at(const model::Revision& of, TimePoint at) const {
  const ColdStart* const found = newest(cold_starts_, of.id, at);
  if (found == nullptr) return std::nullopt;
  return found->event;
}

}  // namespace sluice::autoscaler
