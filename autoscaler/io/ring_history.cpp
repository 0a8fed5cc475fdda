#include "autoscaler/io/ring_history.h"

#include "autoscaler/io/decision_json.h"

namespace sluice::autoscaler {

using nlohmann::json;

void RingHistory::record(const model::Revision& of, const DecisionRecord& record) {
  decisions_.add(of.id, record);
}

void RingHistory::record_cold_start(const model::Revision& of, TimePoint at, const json& event) {
  if (cold_starts_.size() >= cold_starts_max_) cold_starts_.pop_front();
  cold_starts_.push_back({of.id, at, event});
}

std::vector<json> RingHistory::decisions(const model::Revision& of, TimePoint since) const {
  std::vector<json> list;
  for (const DecisionRecord& record : decisions_.since(of.id, since)) {
    list.push_back(decision_json(record, about(of)));
  }
  return list;
}

std::optional<json> RingHistory::decision_at(const model::Revision& of, TimePoint at) const {
  const auto record = decisions_.at(of.id, at);
  if (!record) return std::nullopt;
  return explained_json(*record, about(of));
}

std::vector<json> RingHistory::cold_starts(const model::Revision& of, TimePoint since) const {
  std::vector<json> list;
  for (auto each = cold_starts_.rbegin(); each != cold_starts_.rend(); ++each) {
    if (list.size() >= kColdStartsShown) break;
    if (each->revision == of.id && each->at >= since) list.push_back(each->event);
  }
  return list;
}

std::optional<json> RingHistory::cold_start_at(const model::Revision& of, TimePoint at) const {
  for (auto each = cold_starts_.rbegin(); each != cold_starts_.rend(); ++each) {
    if (each->revision == of.id && each->at <= at) return each->event;
  }
  return std::nullopt;
}

}  // namespace sluice::autoscaler
