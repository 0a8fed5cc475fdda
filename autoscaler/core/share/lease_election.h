#pragma once

#include "autoscaler/core/share/buckets.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// A Lease object, as far as it is looked at.
struct LeaseView {
  std::string holder;    ///< identity; empty: none
  std::string acquired;  ///< acquireTime as written
  std::string renewed;   ///< renewTime as written; compared, never read
  Duration duration{0};  ///< of the holder's claim
  std::int32_t transitions = 0;
  std::uint64_t epoch = 0;  ///< see LeaseElection::epoch()
  std::string version;      ///< resourceVersion

  friend bool operator==(const LeaseView&, const LeaseView&) = default;
};

/// One request to be sent now.
struct LeaseStep {
  enum class Kind : std::uint8_t { read, create, replace };

  Kind kind = Kind::read;
  std::uint64_t id = 0;  ///< for answered()
  std::string bucket;
  /// To be written: `renewed` is the time of `at`, and so is `acquired` where it is empty.
  /// `version` is the one that must be in force.
  LeaseView lease{};
  TimePoint at{};
};

/// How a request ended.
enum class LeaseAnswer : std::uint8_t {
  done,
  conflict,  ///< another version is in force, or the object exists
  missing,   ///< there is no such object
  failed,    ///< or unknown; it may have taken effect
};

/// Who holds which bucket, by Lease objects that all replicas write (autoscaler.md 10.1). Neither
/// asks nor waits: the caller sends what steps() returns, and passes in what it saw and each
/// response.
///
/// Clocks of replicas are never compared: a lease is free once it has not changed for its whole
/// duration since *we* saw the last change. Its holder gives up earlier, a renew-deadline after it
/// *sent* the last renewal that went through, so that two never act together however late answers
/// and events arrive, as long as clocks run equally fast. Every write names the version it follows;
/// one that comes too late changes nothing.
///
/// Buckets go to the quickest replica: each replica tries them in an order of its own, and the more
/// it holds the longer it leaves the next to others. Held ones are not given back for balance.
class LeaseElection {
 public:
  /// `buckets` not empty; `self` is unique among replicas (identity()).
  LeaseElection(std::vector<std::string> buckets, std::string self, LeaderElection rules,
                TimePoint now);

  /// What a watch said of a lease; absent: it is gone. What is older than what is known changes
  /// nothing, and neither do objects that are no bucket.
  void observed(std::string_view bucket, const std::optional<LeaseView>& lease, TimePoint now);

  /// How a step ended; `lease` is the object as it is then, for `done`.
  void answered(std::uint64_t step, LeaseAnswer answer, const std::optional<LeaseView>& lease,
                TimePoint now);

  /// What is to be sent now. Each step needs an answer; its bucket has no other until then.
  [[nodiscard]] std::vector<LeaseStep> steps(TimePoint now);

  /// When steps() will have something, or a bucket is lost unless an answer comes; absent: not
  /// before one does.
  [[nodiscard]] std::optional<TimePoint> next_due(TimePoint now) const;

  /// Gives everything back for others to take at once, and takes nothing more.
  void release();

  /// After release(): nothing in our name is left, and nothing on its way.
  [[nodiscard]] bool released() const;

  /// Sorted.
  [[nodiscard]] std::vector<std::string> owned(TimePoint now) const;

  /// Grows with every bucket that any replica takes, for the versions of states (protocols.md 3):
  /// above every epoch in any lease, and at least the Unix time in seconds, so that it grows even
  /// when all leases are deleted, and above the epoch of a replica without leases. 0 before the
  /// first bucket.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

  /// Identity in the lease, whether that replica runs or not; empty: none, or unknown.
  [[nodiscard]] std::string holder(std::string_view bucket) const;

  [[nodiscard]] const std::vector<std::string>& buckets() const { return buckets_; }

 private:
  // A request on its way.
  struct Sent {
    std::uint64_t id = 0;
    LeaseStep::Kind kind = LeaseStep::Kind::read;
    TimePoint at{};
    std::uint64_t epoch = 0;
    bool claims = false;    // in it we hold the bucket
    bool acquires = false;  // and we did not before
  };

  struct Slot {
    std::string bucket;
    std::uint64_t rank = 0;  // in our own order
    bool known = false;      // was looked at
    std::optional<LeaseView> lease{};
    TimePoint changed{};               // when we saw that it is as it is
    std::optional<TimePoint> guard{};  // of a lease that was deleted while held: not free before
    bool look = true;                  // it must be read
    bool held = false;
    TimePoint renewed{};  // when the renewal in force was sent
    TimePoint next{};     // nothing is sent before
    TimePoint claims{};   // nor a claim before, after one that met another's
    std::optional<Sent> sent{};
  };

  [[nodiscard]] Slot* find(std::string_view bucket);
  [[nodiscard]] const Slot* find(std::string_view bucket) const;
  [[nodiscard]] bool ours(const Slot& slot) const;
  [[nodiscard]] bool in_time(const Slot& slot, TimePoint now) const;
  [[nodiscard]] Duration duration_of(const LeaseView& lease) const;
  [[nodiscard]] std::int64_t held() const;
  [[nodiscard]] TimePoint takes_at(const Slot& slot) const;
  [[nodiscard]] std::optional<TimePoint> due_of(const Slot& slot, bool may_take) const;
  [[nodiscard]] bool taking() const;
  void see(Slot& slot, const LeaseView& lease, TimePoint now);
  void see_missing(Slot& slot, TimePoint now);
  void claimed(Slot& slot, const Sent& sent, TimePoint now);
  [[nodiscard]] LeaseStep step_of(Slot& slot, TimePoint now);
  [[nodiscard]] LeaseStep claim(Slot& slot, bool acquires, TimePoint now);
  [[nodiscard]] std::uint64_t next_epoch(TimePoint now) const;

  std::vector<std::string> buckets_;
  std::string self_;
  LeaderElection rules_;
  std::vector<Slot> slots_;  // by rank
  std::uint64_t next_step_ = 1;
  std::uint64_t epoch_ = 0;
  bool releasing_ = false;
};

}  // namespace sluice::autoscaler
