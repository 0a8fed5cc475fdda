#include "platform/knative/core/shadow_book.h"

namespace sluice::autoscaler {

std::optional<ShadowBook::Pair> ShadowBook::compare(const RevisionId& id, std::int32_t ours,
                                                    std::optional<std::int32_t> theirs,
                                                    TimePoint now) {
  if (!theirs) return std::nullopt;
  Entry& entry = entries_[id];
  entry.pair.ours = ours;
  entry.pair.theirs = *theirs;
  const bool same = ours == *theirs;
  if (now - entry.counted >= kPace || now < entry.counted) {
    entry.counted = now;
    ++(same ? counts_.agreements : counts_.differences);
  }
  if (same) {
    entry.pair.differ_since.reset();
    entry.told = false;
    return std::nullopt;
  }
  if (!entry.pair.differ_since || now < *entry.pair.differ_since) entry.pair.differ_since = now;
  if (entry.told || now - *entry.pair.differ_since <= kLasting) return std::nullopt;
  entry.told = true;
  return entry.pair;
}

const ShadowBook::Pair* ShadowBook::find(const RevisionId& id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.pair;
}

}  // namespace sluice::autoscaler
