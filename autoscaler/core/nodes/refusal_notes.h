#pragma once

#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// Which of many refusals are worth a line: of each peer and reason the first, and after an hour of
/// silence the next one, with how many there were. When there are too many of them to keep,
/// those whose hour is over make room; until then others are only counted.
class RefusalNotes {
 public:
  static constexpr std::size_t kMost = 1'000;
  static constexpr Duration kSilence = std::chrono::hours{1};

  /// One more. If it is worth a line: how many like it there were since the last line, itself
  /// included.
  [[nodiscard]] std::optional<std::uint64_t> note(std::string_view peer, std::string_view reason,
                                                  TimePoint now);

  [[nodiscard]] std::size_t size() const { return notes_.size(); }

 private:
  struct Note {
    TimePoint told{};
    std::uint64_t since = 0;
  };

  [[nodiscard]] bool make_room(TimePoint now);

  std::map<std::string, Note, std::less<>> notes_;  // by reason and peer
  TimePoint room_at_ = TimePoint::min();            // no note can go before
};

}  // namespace sluice::autoscaler
