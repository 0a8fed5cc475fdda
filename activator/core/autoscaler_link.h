#pragma once

#include "activator/core/request_reporter.h"
#include "common/base/ids.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sluice::activator {

/// The activator's side of the streams to all autoscaler replicas (protocols.md 3): what to send on
/// each, and what was received on each. It neither dials nor waits: the caller passes in what
/// happened to every stream, and sends what next_message() gives while there is room.
class AutoscalerLink {
 public:
  /// Replicas of the autoscaler, at most.
  static constexpr std::size_t kStreamsMax = 64;

  /// Revisions whose state is kept, at most; those beyond are ignored.
  static constexpr std::size_t kStatesMax = 200'000;

  /// A message up is split before it grows beyond this many bytes, so that it always fits.
  static constexpr std::size_t kPartBytesMax = std::size_t{1} << 20U;

  /// Unsent cold starts of one stream, at most: older ones are dropped.
  static constexpr std::size_t kColdStartsMax = 64;

  /// The sender's name and address in Hello.
  struct Self {
    std::string activator;
    std::string address;
    std::string version;
  };

  /// A stream from add() to remove(), connected or not. Never used again.
  using Stream = std::uint32_t;

  explicit AutoscalerLink(Self self);

  /// A replica to talk to, not connected yet; absent when there are kStreamsMax.
  [[nodiscard]] std::optional<Stream> add();

  /// The replica is gone. Its states stay in force until another replica sends newer ones.
  void remove(Stream stream);

  /// The stream is open: Hello is due. `waiting` is every held request.
  void connected(Stream stream, std::span<const proto::Waiting> waiting);

  /// The stream is closed. All states stay, without a time limit.
  void lost(Stream stream);

  /// What a message from an autoscaler has changed.
  struct Heard {
    std::vector<proto::RevisionState> states{};  ///< to be put in force; then call applied()
    std::vector<RevisionId> gone{};              ///< no state now: as if never received
    bool welcomed = false;                       ///< this stream is up: ready, if it is the first
    /// Close the stream: the peer speaks another protocol, or out of turn. The caller dials again
    /// after the usual pause, since the peer may be upgraded.
    std::optional<std::string> refused{};
  };

  /// A message came down. A stream that is not connected, or was refused, is ignored.
  [[nodiscard]] Heard received(Stream stream, proto::AutoscalerMessage message);

  /// Each second: the figures of the interval (RequestReporter::report) and all held requests. Each
  /// revision's go to the stream that owns it; what was not sent since the last tick is replaced.
  /// Every welcomed stream gets a batch, even an empty one, as a sign of life.
  void tick(std::span<const RevisionStat> stats, std::span<const proto::Waiting> waiting,
            TimePoint now);

  /// The first request of an idle revision (RequestReporter::poke): sent at once. `held` is its
  /// entry in `waiting`, one request at least.
  void poke(const RevisionStat& stat, proto::Waiting held, TimePoint now);

  /// The state of this version now governs new requests; the last one that could choose by an older
  /// state has chosen. To be called for every state of Heard, in any order.
  void applied(const RevisionId& revision, std::uint64_t version);

  /// A start from zero is over. Goes to the stream that owns the revision; of those that were not
  /// sent the newest kColdStartsMax are kept.
  void cold_start(proto::ColdStart start);

  /// The next message of a stream that has room for it; absent when there is nothing to send.
  [[nodiscard]] std::optional<proto::ActivatorMessage> next_message(Stream stream);

  /// What is in force for a revision; null when no autoscaler has sent one.
  [[nodiscard]] const proto::RevisionState* state(const RevisionId& revision) const;

  /// Streams that were welcomed and are connected.
  [[nodiscard]] std::size_t welcomed() const;

  /// States that are kept.
  [[nodiscard]] std::size_t states() const { return held_.size(); }

  /// Names kept of snapshots that have not ended.
  [[nodiscard]] std::size_t listed() const;

  /// What went wrong so far, for metrics.
  struct Counts {
    std::uint64_t replaced = 0;  ///< batches that were never sent: a newer one took their place
    std::uint64_t unowned = 0;   ///< stats that no welcomed stream owns: dropped
    std::uint64_t stale = 0;     ///< states and goings that were not newer than what is held
    std::uint64_t beyond = 0;    ///< states beyond kStatesMax: not kept

    friend bool operator==(const Counts&, const Counts&) = default;
  };

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  enum class Phase : std::uint8_t { down, greeting, welcomed, refused };

  // The one batch that is not sent yet.
  struct Pending {
    bool due = false;
    bool ticked = false;                      // holds a tick's figures, which the next replaces
    std::vector<proto::StatMessage> stats{};  // those, and pokes that came since the tick before
  };

  struct Peer {
    Phase phase = Phase::down;
    std::string autoscaler{};
    proto::Buckets buckets{};
    std::unordered_set<std::string> owned{};
    std::optional<proto::Hello> hello{};
    std::uint64_t sequence = 0;
    Pending pending{};
    std::deque<proto::StatBatch> parts{};  // of a batch too large for one message
    std::deque<RevisionId> to_confirm{};
    std::deque<proto::ColdStart> cold_starts{};
    bool in_snapshot = false;
    std::unordered_set<RevisionId> listed{};  // by the snapshot under way
  };

  struct Held {
    proto::RevisionState state{};
    Stream source = 0;
    std::uint64_t governs = 0;  // the newest version of which the caller said that it governs
    bool confirmed = true;      // nothing about `avoid` is owed to the source on its present stream
  };

  [[nodiscard]] Peer* find(Stream stream);
  [[nodiscard]] static std::string refuse(Peer& peer, std::string why);
  void welcome(Peer& peer, proto::Welcome message, Heard& heard);
  void take_buckets(Peer& peer, proto::Buckets buckets);
  void take_state(Stream stream, Peer& peer, proto::RevisionState state, Heard& heard);
  void take_same(Stream stream, Held& held);
  void take_gone(Stream stream, Peer& peer, const proto::RevisionGone& gone, Heard& heard);
  void end_snapshot(Stream stream, Peer& peer, Heard& heard);
  void confirm(Held& held);
  [[nodiscard]] bool is_source_of(Stream stream, const Held& held) const;
  [[nodiscard]] static bool owns(const Peer& peer, const RevisionId& revision);
  [[nodiscard]] Stream owner(const RevisionId& revision);
  void plan_parts(Stream stream, Peer& peer);
  [[nodiscard]] proto::StatMessage stamped(const RevisionStat& stat, TimePoint now) const;

  Self self_;
  std::map<Stream, Peer> peers_;
  Stream next_stream_ = 1;
  std::unordered_map<RevisionId, Held> held_;
  std::vector<proto::Waiting> waiting_;  // all held requests, as last reported, pokes included
  std::unordered_map<RevisionId, Stream> owners_;  // as asked for since ownership last changed
  Counts counts_;
};

}  // namespace sluice::activator
