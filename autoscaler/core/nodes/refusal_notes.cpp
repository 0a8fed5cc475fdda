#include "autoscaler/core/nodes/refusal_notes.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {

std::optional<std::uint64_t> RefusalNotes::note(std::string_view peer, std::string_view reason,
                                                TimePoint now) {
  std::string key{reason};
  key.append(" ").append(peer);
  const auto found = notes_.find(key);
  if (found == notes_.end()) {
    if (notes_.size() >= kMost && !make_room(now)) return std::nullopt;
    notes_.emplace(std::move(key), Note{now, 0});
    return 1;
  }
  Note& note = found->second;
  ++note.since;
  if (now - note.told < kSilence) return std::nullopt;
  note.told = now;
  return std::exchange(note.since, 0);
}

// Looked through once for each time that a note may go, and not for each refusal.
bool RefusalNotes::make_room(TimePoint now) {
  if (now < room_at_) return false;
  std::erase_if(notes_, [now](const auto& each) { return now - each.second.told >= kSilence; });
  TimePoint first = now;
  for (const auto& [key, note] : notes_) first = std::min(first, note.told);
  room_at_ = first + kSilence;
  return notes_.size() < kMost;
}

}  // namespace sluice::autoscaler
