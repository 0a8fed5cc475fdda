#pragma once

#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// What may be wrong with a service, the worst first.
inline constexpr std::array<std::string_view, 3> kTroubles{"failing", "panic", "memory"};

/// What a list shows of one service.
struct FleetRow {
  RevisionId id;
  std::string service;
  std::string_view state;                  ///< as state_of(); a text of static lifetime
  std::string_view trouble;                ///< one of kTroubles; empty: none. Likewise
  std::optional<TimePoint> panic_since{};  ///< absent: the mode is stable
  std::int32_t ready = 0;
  std::int32_t starting = 0;
  std::int32_t want = 0;
  double stable = 0;
  double panic = 0;
  double target = 0;
  double rps = 0;  ///< of the last second
  // NaN: not known here.
  double queued = 0;
  double in_flight = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  std::optional<double> last_cold_start_ms{};
  std::string why{};  ///< of the number that is wanted, or why its starts fail

  /// Whether all that is shown is equal.
  [[nodiscard]] bool shows_as(const FleetRow& other) const;
};

/// What is counted over all services.
struct FleetTiles {
  static constexpr std::array<std::string_view, 5> kStates{"asleep", "starting", "awake",
                                                           "draining", "failing"};

  std::array<std::int64_t, kStates.size()> states{};
  std::int64_t services = 0;
  std::array<std::int64_t, kTroubles.size()> troubles{};
  std::int64_t ready = 0;  ///< replicas
  std::int64_t want = 0;
  double rps = 0;
  double queued = 0;     ///< as far as it is known
  double in_flight = 0;  ///< likewise
};

/// Which rows are asked for, and in which order.
struct RowQuery {
  std::string state{};  ///< one of FleetTiles::kStates, or `trouble`; empty: all
  std::string text{};   ///< in the name of the service or of its namespace, in any letter case
  /// `name`, `trouble` (the worst first), or the greatest `rps`, `p99`, `queued` or `ready` first.
  std::string sort{"name"};

  [[nodiscard]] bool knows_state() const;
  [[nodiscard]] bool knows_sort() const;

  [[nodiscard]] bool takes(const FleetRow& row) const;

  /// Rows with a smaller one go first, those with equal ones in the order of their ids.
  [[nodiscard]] double key_of(const FleetRow& row) const;

  /// The order of key_of(), total for different revisions.
  [[nodiscard]] bool goes_first(const FleetRow& left, const FleetRow& right) const;
};

/// The rows of all services with what has changed since when. Decides nothing and reads nothing:
/// who gathers puts rows, who shows takes them.
class FleetRows {
 public:
  /// A row as it was put, and the number of its last change.
  struct Kept {
    FleetRow row;
    std::uint64_t version = 0;
  };

  /// Removals that are remembered; who is further behind has to begin again.
  static constexpr std::size_t kGoneMax = 4096;

  void put(FleetRow row);
  void drop(const RevisionId& id);

  [[nodiscard]] const FleetTiles& tiles() const { return tiles_; }

  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  /// The number of the last change.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// The services in panic.
  [[nodiscard]] const std::set<RevisionId>& panicking() const { return panicking_; }

  /// Null: there is none.
  [[nodiscard]] const Kept* find(const RevisionId& id) const;

  /// At most `most` rows that follow `id` in the order of ids; the first ones of the empty id.
  [[nodiscard]] std::vector<const Kept*> after(const RevisionId& id, std::size_t most) const;

  struct Gone {
    std::uint64_t version = 0;
    RevisionId id;
    std::string service;
  };

  /// What has changed, the earliest change first. Its pointers hold until the next change.
  struct Changes {
    std::vector<const Kept*> rows;
    std::vector<const Gone*> gone;
    std::uint64_t version = 0;  ///< all changes up to this one
  };

  /// Changes after `version`, at most `most` of each kind; absent: not all rows that were dropped
  /// since are remembered.
  [[nodiscard]] std::optional<Changes> changes_since(std::uint64_t version, std::size_t most) const;

 private:
  void count(const FleetRow& row, int sign);

  std::map<RevisionId, Kept> rows_;
  std::map<std::uint64_t, const Kept*> by_version_;
  std::set<RevisionId> panicking_;
  std::deque<Gone> gone_;
  std::uint64_t forgotten_ = 0;  // the last removal that is not in gone_
  std::uint64_t version_ = 0;
  FleetTiles tiles_;
};

/// Finds one page of the rows, some in each call so that none takes long. A row that changes
/// meanwhile is judged as it was when it was looked at.
class RowSearch {
 public:
  /// `rows` outlives this. The page: places `begin` to before `end` of all that match.
  RowSearch(const FleetRows& rows, RowQuery query, std::size_t begin, std::size_t end);

  /// Looks at some more rows; false: the page is whole.
  [[nodiscard]] bool find();

  [[nodiscard]] const std::vector<RevisionId>& page() const { return page_; }

  /// How many rows match; in the order of names they are not counted beyond the one that follows
  /// the page.
  [[nodiscard]] std::size_t matching() const { return matching_; }

 private:
  // One that may be on the page, with the place in ids_ of what it is.
  struct Candidate {
    double key = 0;
    std::uint32_t order = 0;  // by id
    std::uint32_t slot = 0;

    [[nodiscard]] bool operator<(const Candidate& other) const {
      return key != other.key ? key < other.key : order < other.order;
    }
  };

  void take(const FleetRow& row);
  void arrange();

  const FleetRows& rows_;
  RowQuery query_;
  std::size_t begin_;
  std::size_t end_;
  bool by_name_;
  RevisionId reached_{};
  std::size_t matching_ = 0;
  std::vector<Candidate> best_;  // a heap with the last of them in front
  std::vector<RevisionId> ids_;
  std::vector<RevisionId> page_;
};

}  // namespace sluice::autoscaler
