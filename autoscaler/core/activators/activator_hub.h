#pragma once

#include "autoscaler/core/decision/collector.h"
#include "common/base/ids.h"
#include "common/messages/activator_stream.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

/// Between two states of one revision on one stream, unless it wakes up (protocols.md 3, rule 4).
inline constexpr Duration kStatePause = std::chrono::milliseconds{100};

/// A session must send Hello within this time.
inline constexpr Duration kHelloLimit = std::chrono::seconds{10};

/// Removals wait this long for an activator that sends nothing (protocols.md 3, rule 5).
inline constexpr Duration kRemovalWait = std::chrono::seconds{5};

/// The first version of an autoscaler that starts now: epoch * 2^32 + n, where the epoch is the
/// Unix second and n begins at the fraction of it, so that even a restart within the same second
/// speaks with higher versions.
[[nodiscard]] std::uint64_t first_version(TimePoint start);

/// The autoscaler's side of the streams from all activators (protocols.md 3): the newest state of
/// every revision, and what each activator has been sent, has applied and has reported. It neither
/// listens nor waits: the caller passes it every event of a session, and sends what next_message()
/// gives while there is room.
class ActivatorHub {
 public:
  /// Sessions at a time, at most.
  static constexpr std::size_t kSessionsMax = 1000;

  /// Revisions, at most (MultiScaler::kRevisionsMax).
  static constexpr std::size_t kRevisionsMax = 200'000;

  /// This autoscaler's name in Welcome.
  struct Self {
    std::string autoscaler;
    std::string version;
  };

  /// A session from open() to closed(). Never used again.
  using Session = std::uint64_t;

  /// Versions begin at first_version(start). `pause`: between two states of one revision on one
  /// session; 0 where nothing crosses a network.
  ActivatorHub(Self self, proto::Buckets buckets, TimePoint start, Duration pause = kStatePause);

  // --- sessions ---

  /// A call came in; it counts for nothing before its Hello. Absent: there are kSessionsMax.
  [[nodiscard]] std::optional<Session> open(TimePoint now);

  /// The call is gone. For kRemovalWait after its last message, its activator may still choose by
  /// the states it has, unless it comes back.
  void closed(Session session, TimePoint now);

  enum class Refusal : std::uint8_t {
    wrong_protocol,  ///< FAILED_PRECONDITION
    out_of_turn,     ///< INVALID_ARGUMENT: no Hello first, or a second one
  };

  struct Refused {
    Refusal why = Refusal::out_of_turn;
    std::string text{};

    friend bool operator==(const Refused&, const Refused&) = default;
  };

  struct PushedStat {
    RevisionId revision;
    Stat stat;
    std::optional<TimePoint> stamp{};  ///< as sent; MultiScaler::push judges it (StatDoor::stream)
    std::optional<Duration> newest{};  ///< as sent: age of the newest request
  };

  /// The contents of a message from an activator.
  struct Heard {
    std::vector<PushedStat> stats{};

    /// A request is held although the last decision was 0, and `stats` does not show it: record
    /// `concurrency` as a stat of now and evaluate at once.
    struct Poke {
      RevisionId revision;
      double concurrency = 0;

      friend bool operator==(const Poke&, const Poke&) = default;
    };

    std::vector<Poke> pokes{};

    /// Requests are held although the last answer was 0, whether `stats` shows them or not.
    struct Held {
      RevisionId revision;
      Duration oldest{};  ///< age of the oldest

      friend bool operator==(const Held&, const Held&) = default;
    };

    std::vector<Held> held{};
    std::optional<RevisionId> applied{};  ///< look at applied() again
    std::optional<proto::ColdStart> cold_start{};
    bool greeted = false;              ///< this was the Hello: an activator is connected
    std::optional<Refused> refused{};  ///< close the call with this, then closed()
  };

  [[nodiscard]] Heard received(Session session, proto::ActivatorMessage message, TimePoint now);

  /// The next message of a session that has room for it; absent when nothing is due now.
  [[nodiscard]] std::optional<proto::AutoscalerMessage> next_message(Session session,
                                                                     TimePoint now);

  /// When next_message() of some session will have something that is held back for its pace now;
  /// absent when nothing is.
  [[nodiscard]] std::optional<TimePoint> next_due(TimePoint now) const;

  /// Sessions that sent no Hello within kHelloLimit: to be closed.
  [[nodiscard]] std::vector<Session> overdue(TimePoint now) const;

  /// Activators that said Hello and are on a stream now.
  [[nodiscard]] std::size_t connected() const;

  struct Seen {
    std::string activator;
    std::string address;
    std::string version;
    TimePoint heard{};
  };

  /// Of each that is connected, by name.
  [[nodiscard]] std::vector<Seen> activators() const;

  // --- revisions ---

  /// The state of a revision to send to every activator from now on; `version` is set here. Returns
  /// the version in force: the one before when nothing, or only `ready`, changed, which is not
  /// sent. 0: there are kRevisionsMax, and it is not kept.
  std::uint64_t set_state(proto::RevisionState state, TimePoint now);

  /// The revision is deleted.
  void remove(const RevisionId& revision, TimePoint now);

  /// What set_state() last said; null for a revision that is not ours.
  [[nodiscard]] const proto::RevisionState* state(const RevisionId& revision) const;

  /// What is ours from now on; versions grow into its epoch. To be sent before the revisions of a
  /// lost bucket are removed: activators thereby learn that another replica owns them.
  void set_buckets(proto::Buckets buckets);

  /// Whether every activator has put this version, or a later one, in force as far as `avoid` goes:
  /// no new request of theirs goes to a pod that version avoids. Activators without a message for
  /// kRemovalWait are passed over; in the first kRemovalWait of this autoscaler, one that has not
  /// come back yet may exist. True for a revision that is not ours, or avoids nothing now.
  [[nodiscard]] bool applied(const RevisionId& revision, std::uint64_t version,
                             TimePoint now) const;

  /// When applied() will be true at the latest if no activator sends another message; absent: it is
  /// true now.
  [[nodiscard]] std::optional<TimePoint> applied_latest(const RevisionId& revision,
                                                        std::uint64_t version, TimePoint now) const;

  struct Counts {
    std::uint64_t gaps = 0;     ///< batches missing by their sequence
    std::uint64_t batches = 0;  ///< that came
    std::uint64_t refused = 0;  ///< sessions refused
    std::uint64_t sent = 0;     ///< states sent

    friend bool operator==(const Counts&, const Counts&) = default;
  };

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Entry {
    proto::RevisionState state{};
    std::uint64_t avoid_version = 0;  // the version at which `avoid` last changed
  };

  // What one session was sent of one revision.
  struct Told {
    std::optional<TimePoint> at{};   // of the last state sent; absent: none was
    std::int32_t granted = -1;       // in it
    std::optional<TimePoint> due{};  // unsent news, and when it may go
    bool in_snapshot = false;        // the snapshot is not complete without it
  };

  // An activator by name; it outlives its session by kRemovalWait.
  struct Activator {
    Seen seen{};
    std::optional<Session> session{};
    std::unordered_map<RevisionId, std::uint64_t> applied{};  // on its newest session
  };

  struct Line {
    TimePoint since{};
    bool refused = false;
    std::string activator{};  // empty until Hello
    bool welcome_due = false;
    bool buckets_due = false;
    bool snapshot = false;            // SnapshotEnd is not sent yet
    std::uint32_t snapshot_left = 0;  // revisions of it not sent yet
    std::uint32_t snapshot_sent = 0;
    std::uint64_t sequence = 0;  // of the last batch
    std::unordered_map<RevisionId, Told> told{};
    std::set<std::pair<TimePoint, RevisionId>> queue{};  // by Told::due
    std::map<RevisionId, std::uint64_t> gone{};          // unsent goings: their versions
  };

  [[nodiscard]] std::optional<Refused> greet(Session session, Line& line, const proto::Hello& hello,
                                             TimePoint now);
  void take_batch(Line& line, proto::StatBatch batch, Heard& heard);
  void take_waiting(const std::vector<proto::Waiting>& waiting, Heard& heard) const;
  void take_applied(const Line& line, const proto::Applied& applied, Heard& heard);
  static void enqueue(Line& line, const RevisionId& revision, TimePoint due);
  [[nodiscard]] TimePoint due_of(const Told& told, const proto::RevisionState& state);
  [[nodiscard]] proto::RevisionState take_out(Line& line, TimePoint now);
  void forget_silent(TimePoint now);
  void follow_clock(TimePoint now);

  Self self_;
  proto::Buckets buckets_;
  TimePoint start_;
  Duration pause_;
  TimePoint latest_;  // of an event
  std::uint64_t next_version_;
  Session next_session_ = 1;
  std::map<Session, Line> lines_;
  std::map<std::string, Activator> activators_;
  std::unordered_map<RevisionId, Entry> revisions_;
  Counts counts_;
};

}  // namespace sluice::autoscaler
