#pragma once

#include "common/time/time_point.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// Who sent requests in the last minute, so that `explain --awake` can name what keeps a service
/// from sleeping. Bounded: the busiest combinations stay, new ones replace the quietest. Steady
/// callers cost no allocation.
class Callers {
 public:
  struct Entry {
    std::string client;
    std::string request;  ///< method and path, without query
    std::int64_t count = 0;
  };

  static constexpr std::size_t kEntriesMax = 64;

  void record(std::string_view client, std::string_view method, std::string_view path,
              TimePoint now);

  /// Entries with requests in the last minute, busiest first.
  [[nodiscard]] std::vector<Entry> last_minute(TimePoint now) const;

 private:
  static constexpr std::size_t kSlices = 7;  // of ten seconds: the present one and a minute before
  static constexpr std::size_t kTextMax = 200;

  struct Row {
    std::uint64_t hash = 0;
    std::string client;
    std::string request;
    std::array<std::int64_t, kSlices> counts{};
    std::array<std::int64_t, kSlices> slices{};  // which ten seconds each count is of
  };

  [[nodiscard]] static std::int64_t sum(const Row& row, std::int64_t slice);

  std::vector<Row> rows_;
};

}  // namespace sluice::local
