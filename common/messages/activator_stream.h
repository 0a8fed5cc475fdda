#pragma once

#include "common/base/ids.h"
#include "common/messages/stat.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// The messages between activator and autoscaler (protocols.md 3) as plain structs, for cores and
// all other code that must not include generated headers. common/proto/activator_stream_codec.h
// turns them into bytes and back.
namespace sluice::proto {

/// The protocol both ends speak. A peer with another number is refused.
inline constexpr std::uint32_t kActivatorProtocol = 1;

/// The path that both ends give to common/rpc.
inline constexpr const char* kActivatorStreamMethod = "/sluice.v1.ActivatorStream/Connect";

/// Longest namespace, name of a revision, pod, program or bucket, and longest address.
inline constexpr std::size_t kNameBytesMax = 253;

/// Longest explanation within a message.
inline constexpr std::size_t kDetailBytesMax = 1024;

/// Most stats, and most entries of `waiting`, in one message.
inline constexpr std::size_t kStatsMax = 100'000;
inline constexpr std::size_t kWaitingMax = 100'000;

/// Most addresses in RevisionState::avoid.
inline constexpr std::size_t kAvoidMax = 10'000;

/// Most names in either list of Buckets.
inline constexpr std::size_t kBucketNamesMax = 1'000;

/// Requests of one revision that an activator holds now.
struct Waiting {
  RevisionId revision;
  std::uint32_t requests = 0;
  Duration oldest{};  ///< age of the oldest; whole milliseconds on the wire

  friend bool operator==(const Waiting&, const Waiting&) = default;
};

/// First message up.
struct Hello {
  std::uint32_t protocol = kActivatorProtocol;
  std::string activator;  ///< its name, unique among activators
  std::string address;    ///< where it serves, as in `activators.json` and endpoint slices
  std::string version;    ///< of the program
  std::vector<Waiting> waiting{};

  friend bool operator==(const Hello&, const Hello&) = default;
};

/// The figures of one interval. `waiting` is full state.
struct StatBatch {
  std::uint64_t sequence = 0;  ///< grows by 1 per stream, from 1
  std::vector<StatMessage> messages{};
  std::vector<Waiting> waiting{};

  friend bool operator==(const StatBatch&, const StatBatch&) = default;
};

/// This state now governs new requests here.
struct Applied {
  RevisionId revision;
  std::uint64_t version = 0;

  friend bool operator==(const Applied&, const Applied&) = default;
};

/// How a start from zero went, as the activator saw it: from the first request that found no pod to
/// the first byte of its answer, step by step (protocols.md 7). Whole microseconds on the wire.
struct ColdStart {
  RevisionId revision;
  std::string pod{};      ///< that answered, by its address or its name
  Duration queue{};       ///< from a pod that takes requests to the request being sent
  Duration decide{};      ///< until replicas were wanted
  Duration create{};      ///< until a pod was seen
  Duration start{};       ///< until its process ran, where that is seen apart
  Duration ready{};       ///< until it took requests
  Duration first_byte{};  ///< until its answer began

  /// What the client waited.
  [[nodiscard]] Duration total() const {
    return queue + decide + create + start + ready + first_byte;
  }

  friend bool operator==(const ColdStart&, const ColdStart&) = default;
};

using ActivatorMessage = std::variant<Hello, StatBatch, Applied, ColdStart>;

/// Who owns what among the autoscaler's replicas (autoscaler.md 10.1, 10.3).
struct Buckets {
  std::vector<std::string> all{};
  std::vector<std::string> owned{};  ///< by the sender
  std::uint64_t epoch = 0;

  friend bool operator==(const Buckets&, const Buckets&) = default;
};

/// First message down.
struct Welcome {
  std::uint32_t protocol = kActivatorProtocol;
  std::string autoscaler;  ///< its name, unique among replicas
  std::string version;     ///< of the program
  Buckets buckets{};

  friend bool operator==(const Welcome&, const Welcome&) = default;
};

/// Where a revision's requests go. A value of a later version reads as `unspecified`.
enum class RouteMode : std::uint8_t { unspecified, proxy, serve };

/// Why a revision cannot grow. A value of a later version reads as `unspecified`.
enum class CannotScaleReason : std::uint8_t {
  unspecified,
  no_capacity,
  no_matching_place,
  start_failed,
  paused,
  node_pressure,
};

/// Growth is impossible now.
struct CannotScale {
  CannotScaleReason reason = CannotScaleReason::unspecified;
  std::string detail{};    ///< for a person; at most kDetailBytesMax
  Duration retry_after{};  ///< hint for those turned away; whole milliseconds on the wire

  friend bool operator==(const CannotScale&, const CannotScale&) = default;
};

/// The state of one revision for an activator; each replaces the last.
struct RevisionState {
  RevisionId revision;
  std::uint64_t version = 0;  ///< only grows
  std::int32_t desired = -1;  ///< pods wanted; -1 = unknown
  std::int32_t granted = -1;  ///< of them, pods there is room for; -1 = unknown
  std::int32_t ready = -1;    ///< -1 = unknown
  RouteMode route_mode = RouteMode::unspecified;
  std::int32_t activators = 0;                ///< how many share this revision
  std::optional<CannotScale> cannot_scale{};  ///< absent: growth is possible
  std::vector<std::string> avoid{};           ///< ip:port that take no new requests

  friend bool operator==(const RevisionState&, const RevisionState&) = default;
};

/// The revision is gone.
struct RevisionGone {
  RevisionId revision;
  std::uint64_t version = 0;

  friend bool operator==(const RevisionGone&, const RevisionGone&) = default;
};

/// Every revision the sender owns has been sent.
struct SnapshotEnd {
  std::uint32_t revisions = 0;

  friend bool operator==(const SnapshotEnd&, const SnapshotEnd&) = default;
};

using AutoscalerMessage = std::variant<Welcome, RevisionState, RevisionGone, SnapshotEnd, Buckets>;

}  // namespace sluice::proto
