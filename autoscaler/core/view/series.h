#pragma once

#include "autoscaler/core/view/latency_window.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::autoscaler {

/// What is known of a service at one time, in the order in which a row has it.
enum class Figure : std::uint8_t {
  ready,
  starting,
  draining,
  want,
  stable,
  panic,
  target,
  rps,
  errors,   ///< requests that ended so
  refused,  ///< requests that the front door did not pass on
  queued,
  in_flight,
  p50_ms,
  p99_ms,
};

inline constexpr std::size_t kFigures = 14;

/// Their names in JSON, in that order.
inline constexpr std::array<std::string_view, kFigures> kFigureNames{
    "ready", "starting", "draining", "want",   "stable",    "panic",  "target",
    "rps",   "errors",   "refused",  "queued", "in_flight", "p50_ms", "p99_ms"};

/// One row of a series.
struct SeriesPoint {
  std::array<float, kFigures> figures{};  ///< NaN: not known
  HeatCounts latency{};

  [[nodiscard]] float& operator[](Figure figure) {
    return figures[static_cast<std::size_t>(figure)];
  }

  [[nodiscard]] float operator[](Figure figure) const {
    return figures[static_cast<std::size_t>(figure)];
  }
};

/// Several points of equal length as one: of levels the last, of requests in flight and queued the
/// most, of errors and refusals the sum, of the rate and of p50 (by requests) the mean, of p99 the
/// highest.
class PointMerge {
 public:
  void add(const SeriesPoint& point);

  /// Of the points so far; absent: there was none.
  [[nodiscard]] std::optional<SeriesPoint> result() const;

 private:
  SeriesPoint merged_;
  double rate_sum_ = 0;
  double median_sum_ = 0;
  double requests_ = 0;
  std::size_t points_ = 0;
};

/// The newest points of one step, packed: figures within 0.05 %, counts of latencies within a
/// sixteenth. A point without requests needs a few bytes.
class PointRing {
 public:
  /// Keeps points of the last `points_max` steps.
  explicit PointRing(std::int64_t points_max) : points_max_{points_max} {}

  /// `index`: the number of its step since the epoch. A second point of one step is ignored; one
  /// of an earlier step, after the clock was set back, begins again. The oldest points make room
  /// when there are more than `bytes_max` bytes.
  void add(std::int64_t index, const SeriesPoint& point, std::size_t bytes_max);

  /// The points of steps from `from` to before `to`, absent where there is none.
  [[nodiscard]] std::vector<std::optional<SeriesPoint>> read(std::int64_t from,
                                                             std::int64_t to) const;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  // Points of steps that follow each other.
  struct Block {
    std::int64_t first = 0;
    std::int64_t points = 0;
    std::vector<std::uint8_t> packed;

    [[nodiscard]] std::size_t bytes() const { return sizeof(Block) + packed.capacity(); }
  };

  void drop_oldest();

  std::int64_t points_max_;
  std::size_t bytes_ = 0;
  std::deque<Block> blocks_;
};

/// A time in whole steps.
struct SeriesRange {
  std::int64_t from = 0;  ///< Unix seconds
  std::int64_t to = 0;
  std::int64_t step_s = 1;
};

/// What was asked of a series, at equal steps.
struct SeriesSlice {
  std::int64_t start_s = 0;  ///< Unix seconds of the first row
  std::int64_t step_s = 1;
  std::vector<std::optional<SeriesPoint>> rows{};  ///< absent: nothing was recorded then
};

/// The series of all services that were awake of late: each second of the last five minutes, each
/// ten seconds of the last six hours. Bounded for each and in all; the services that were asleep
/// longest are forgotten first.
class SeriesBook {
 public:
  static constexpr std::int64_t kSeconds = 300;
  static constexpr std::int64_t kTens = 2160;
  static constexpr std::size_t kBytesMaxEach = 96U << 10U;
  static constexpr std::size_t kBytesMax = 64U << 20U;
  static constexpr std::size_t kSparkPoints = 60;

  explicit SeriesBook(std::size_t bytes_max = kBytesMax) : bytes_max_{bytes_max} {}

  /// The point of the second that begins at `second`.
  void add(const RevisionId& id, std::int64_t second, const SeriesPoint& point);

  void forget(const RevisionId& id);

  [[nodiscard]] bool has(const RevisionId& id) const { return find(id) != nullptr; }

  /// What read() makes rows of when it is asked for these. A part of it, from one of its steps to
  /// another, is read with the same rows.
  [[nodiscard]] static SeriesRange whole_steps(std::int64_t from, std::int64_t to,
                                               std::int64_t step_s);

  /// Rows of `step_s` seconds (1 or more) of what lies between the two Unix seconds: of whole
  /// seconds where it is not older than five minutes and the step is below ten, else of tens, to
  /// which the step is rounded up.
  [[nodiscard]] SeriesSlice read(const RevisionId& id, std::int64_t from, std::int64_t to,
                                 std::int64_t step_s) const;

  /// A figure of the five minutes up to `to` in steps of five seconds; NaN: nothing was recorded.
  [[nodiscard]] std::array<float, kSparkPoints> spark(const RevisionId& id, std::int64_t to,
                                                      Figure figure) const;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    RevisionId id;
    PointRing seconds{kSeconds};
    PointRing tens{kTens};
    PointMerge ten{};  // that is being gathered
    std::int64_t ten_index = 0;

    [[nodiscard]] std::size_t bytes() const {
      return sizeof(Entry) + seconds.bytes() + tens.bytes();
    }
  };

  [[nodiscard]] const Entry* find(const RevisionId& id) const;

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // the one that got a point last in front
  std::unordered_map<RevisionId, std::list<Entry>::iterator> by_id_;
};

}  // namespace sluice::autoscaler
