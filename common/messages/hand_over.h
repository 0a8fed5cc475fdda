#pragma once

#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Twins of the messages between an autoscaler that ends and the one that holds its buckets next:
// what it knew of each revision, so that the other goes on as if nothing had happened.
// common/proto/hand_over_codec.h turns them into bytes and back.
namespace sluice::proto {

/// The protocol both ends speak. A peer with another number is refused.
inline constexpr std::uint32_t kHandOverProtocol = 1;

/// The path that both ends give to common/rpc: a stream of TakeRequest up, of TakeReply down.
inline constexpr const char* kHandOverMethod = "/sluice.v1.HandOver/Take";

/// Most revisions in one message, and the bytes at which a message is full.
inline constexpr std::size_t kHandedMax = 200;
inline constexpr std::size_t kHandOverFullBytes = std::size_t{3} << 20U;

/// Longest window, in buckets, and longest memory of a scale-down delay, in slots.
inline constexpr std::size_t kHandedBucketsMax = 3'600;
inline constexpr std::size_t kHandedSlotsMax = 3'600;

/// A window of averages, ring and sums.
struct HandedWindow {
  Duration window{};
  std::optional<std::int64_t> first{};  ///< bucket of the oldest value
  std::optional<std::int64_t> last{};   ///< bucket of the newest value
  double total = 0;                     ///< the running sum, with what rounding has left in it
  /// Of the buckets up to `last`, oldest first; those before were zero. Empty: no ring.
  std::vector<double> values{};

  friend bool operator==(const HandedWindow&, const HandedWindow&) = default;
};

/// The memory of a scale-down delay.
struct HandedDelay {
  struct Entry {
    std::int64_t slot = 0;
    std::int32_t value = 0;

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  std::int64_t slots = 0;        ///< its length
  std::vector<Entry> entries{};  ///< falling values with rising slots

  friend bool operator==(const HandedDelay&, const HandedDelay&) = default;
};

/// What was observed, and for how long.
struct HandedAttention {
  TimePoint evaluated{};
  Duration step{};
  Duration usual{};
  std::optional<TimePoint> absent_since{};
  std::optional<TimePoint> resumed{};
  Duration known{};
  bool had_data = false;
  bool settled = false;

  friend bool operator==(const HandedAttention&, const HandedAttention&) = default;
};

enum class HandedActivity : std::uint8_t { inactive, activating, active };

/// The four windows of a revision.
struct HandedCollector {
  HandedWindow concurrency_stable{};
  HandedWindow concurrency_panic{};
  HandedWindow rps_stable{};
  HandedWindow rps_panic{};
  std::optional<TimePoint> newest{};

  friend bool operator==(const HandedCollector&, const HandedCollector&) = default;
};

/// Panic and delay.
struct HandedDecider {
  std::optional<TimePoint> panic_since{};
  std::optional<TimePoint> panic_entered{};
  std::int32_t peak_pods = 0;
  std::optional<HandedDelay> delay{};

  friend bool operator==(const HandedDecider&, const HandedDecider&) = default;
};

/// A scaler, all but what its spec and the platform say: those the next owner reads itself. Times
/// are those of the sender's clock.
struct HandedScaler {
  HandedCollector collector{};
  HandedDecider decider{};
  std::int32_t desired = -1;
  std::int32_t excess_burst_capacity = 0;
  HandedActivity activity = HandedActivity::activating;
  TimePoint activity_since{};
  bool serves = false;  ///< the route mode
  bool initialized = false;
  bool told_to_sleep = false;
  bool woken_by_hand = false;
  HandedAttention attention{};

  friend bool operator==(const HandedScaler&, const HandedScaler&) = default;
};

struct HandedRevision {
  RevisionId revision;
  HandedScaler scaler{};

  friend bool operator==(const HandedRevision&, const HandedRevision&) = default;
};

struct TakeRequest {
  std::uint32_t protocol = kHandOverProtocol;
  std::string autoscaler;  ///< name of the sender
  TimePoint sent{};        ///< by its clock
  std::vector<HandedRevision> revisions{};

  friend bool operator==(const TakeRequest&, const TakeRequest&) = default;
};

struct TakeReply {
  std::uint32_t protocol = kHandOverProtocol;
  std::uint32_t taken = 0;
  std::uint32_t left = 0;  ///< not ours, not known, or we know enough ourselves

  friend bool operator==(const TakeReply&, const TakeReply&) = default;
};

}  // namespace sluice::proto
