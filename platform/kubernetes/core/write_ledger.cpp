#include "platform/kubernetes/core/write_ledger.h"

#include <functional>

namespace sluice::autoscaler {

WriteLedger::Verdict WriteLedger::judge(const std::string& object, std::string_view body,
                                        TimePoint now) const {
  const auto found = written_.find(object);
  if (found == written_.end()) return Verdict::send;
  const bool same = found->second.body == std::hash<std::string_view>{}(body);
  if (found->second.flying) return same ? Verdict::on_its_way : Verdict::outdated;
  if (same && now - found->second.answered < kPatience) return Verdict::on_its_way;
  return Verdict::send;
}

bool WriteLedger::unseen(const std::string& object, TimePoint now) const {
  const auto found = written_.find(object);
  if (found == written_.end()) return false;
  return found->second.flying || now - found->second.answered < kPatience;
}

void WriteLedger::sent(const std::string& object, std::string_view body) {
  written_.insert_or_assign(object, Written{std::hash<std::string_view>{}(body), true, {}});
}

void WriteLedger::answered(const std::string& object, bool ok, TimePoint now) {
  const auto found = written_.find(object);
  if (found == written_.end()) return;
  if (!ok) {
    written_.erase(found);
    return;
  }
  found->second.flying = false;
  found->second.answered = now;
}

void WriteLedger::seen(const std::string& object) {
  const auto found = written_.find(object);
  if (found != written_.end() && !found->second.flying) written_.erase(found);
}

void WriteLedger::forget_settled(TimePoint now) {
  std::erase_if(written_, [now](const auto& each) {
    return !each.second.flying && now - each.second.answered >= kPatience;
  });
}

}  // namespace sluice::autoscaler
