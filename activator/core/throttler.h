#pragma once

#include "activator/core/balancer.h"
#include "activator/core/pod_roster.h"
#include "activator/core/queue_pace.h"
#include "activator/core/wait_queue.h"
#include "common/base/error.h"
#include "common/base/ids.h"
#include "common/breaker/breaker.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::activator {

using breaker::Entry;

/// What a revision lets through, and how.
struct ThrottlerSpec {
  std::int32_t container_concurrency = 0;  ///< requests at once on a pod; 0 means no limit
  std::int32_t queue_depth = 10'000;       ///< how many may wait, at least 1 (SLUICE_QUEUE_DEPTH)
  Duration queue_wait = Duration::zero();  ///< age at which a waiter expires; 0 means never
  std::optional<BalancingPolicy> policy = {};  ///< by container concurrency when absent
  std::uint64_t seed = 1;                      ///< of the policies that choose at random
  /// Whether set_grant() reports growth. Without it, past rates predict nothing.
  bool foresees = true;
};

/// A request at the gate.
struct Arrival {
  std::uint64_t cookie = 0;  ///< the caller's, kept while it waits
  TimePoint since;           ///< when it came first; its age counts from there
  /// When its wait for a pod is of no use any more: the earliest of the limits that the revision
  /// and the client set. It bounds waiting only: a request that can be admitted at once is
  /// (activator.md 12, rows 40 and 41).
  TimePoint deadline = kNever;
  std::span<const PodRef> tried = {};  ///< of a retry, at most kTriedMax: it goes to none of them
};

/// A waiting request that runs from now on, on `pod`; owes one leave(pod).
struct Admission {
  Ticket ticket;
  PodRef pod;
  std::uint64_t cookie = 0;  ///< as given to enter()
};

/// A waiter put out of the queue; owes nothing.
struct Dismissal {
  Ticket ticket;
  std::uint64_t cookie = 0;  ///< as given to enter()
};

/// The answer to an attempt to enter; which of the members means something depends on `entry`.
struct Entered {
  Entry entry = Entry::refused;
  PodRef pod;                       ///< admitted: runs there, owes one leave(pod)
  Ticket ticket;                    ///< queued
  Error error = Error::queue_full;  ///< refused: queue_full, queue_wait or cannot_scale
  Duration retry_after{0};          ///< refused: when to try again; 0 when that is not known
};

/// The autoscaler's last answer on growth.
struct Grant {
  std::int32_t desired = 0;
  std::int32_t granted = 0;  ///< the part of `desired` there is room for
  bool cannot_scale = false;
  Duration retry_after{0};      ///< with cannot_scale: when that may have changed
  std::int32_t activators = 1;  ///< that share what is granted, this one included
};

/// The share of one activator among `activators` (below 1 read as 1) of a capacity that is not
/// divided by pod: traffic to a cluster IP with `backends` pods behind it (activator.md 5.5).
/// Rounded down, but at least 1, so together they may exceed what the pods carry; the sidecars
/// queue the rest. 0 without backends or without a limit per pod.
[[nodiscard]] std::int32_t shared_capacity(std::int32_t container_concurrency,
                                           std::int32_t backends, std::int32_t activators);

/// The gate of one revision: its bounded queue and its pods in one state machine, so that to be
/// admitted and to have a pod is one event (the reference keeps two capacities that change apart,
/// and makes those that win one and lose the other try again).
///
/// First come first served: a request waits only while no pod that it may use has room. Without
/// pods every request waits, which is how one survives a start from zero. It resumes none itself:
/// calls that make room append the waiters they admitted.
///
/// A pod is listed here from the moment it may take requests until it goes; before that it belongs
/// to Destinations, whose head draws the whole way. While listed it is
///
///   ready      takes requests up to its limit;
///   to avoid   draining or throttled (Grant, PodWord): takes requests only while every pod
///              is to be avoided;
///   paused     it refused a request because it was full: takes none until leave_full()'s moment or
///              until another request on it has ended.
///
/// Capacity is exact after every call: a change of one pod costs the logarithm of their number.
///
/// Time enters with each call. Two things need the caller's timer: expire() at next_expiry() and
/// resume() at next_resume(), both of which every other call may move.
class Throttler {
 public:
  /// Pods a request has tried before, at most.
  static constexpr std::size_t kTriedMax = WaitQueue::kTriedMax;

  /// How long a pod gets no requests after it refused one because it was full, where its requests
  /// end elsewhere and so show nothing here: ten attempts a second from each activator.
  static constexpr Duration kFullPause = std::chrono::milliseconds{100};

  explicit Throttler(const ThrottlerSpec& spec);

  /// One more request. A retry waits ahead of new requests, and those it tried come into question
  /// again only after they went away and came back, or by renew_pod().
  ///
  /// A request that would have to wait is refused when waiting is useless: cannot_scale (see
  /// set_grant()), queue_full when as many wait as may, queue_wait when the deadline has passed or
  /// comes before the least wait that is known. Known is the wait that QueuePace gives for the
  /// place in the queue, unless more pods are granted than are here and at the other activators:
  /// then the past is no guide. It never is without ThrottlerSpec::foresees.
  [[nodiscard]] Entered enter(const Arrival& arrival, TimePoint now);

  /// The same for a request that came just now.
  [[nodiscard]] Entered enter(TimePoint now, std::uint64_t cookie,
                              std::span<const PodRef> tried = {}, TimePoint deadline = kNever) {
    return enter({.cookie = cookie, .since = now, .deadline = deadline, .tried = tried}, now);
  }

  /// The capacity of a pod without its own from now on, 0 for no limit. It applies to each pod from
  /// its next update_pod() on. The policy stays what it was.
  void set_pod_limit(std::int32_t container_concurrency);

  /// A request on `pod` has ended. Appends the request that runs next. Leaving a pod more often
  /// than entering it is a broken invariant.
  void leave(PodRef pod, std::vector<Admission>& admitted);

  /// A request on `pod` has ended because the pod had no room for it: the pod is paused until
  /// `until` (now + kFullPause) or until another request on it ends with leave().
  void leave_full(PodRef pod, TimePoint until, std::vector<Admission>& admitted);

  /// Ends the pauses that are over at `now`. Appends the requests admitted by that.
  void resume(TimePoint now, std::vector<Admission>& admitted);

  /// When resume() is due next; nothing when no pod is paused.
  [[nodiscard]] std::optional<TimePoint> next_resume() const { return roster_.next_resume(); }

  /// A waiter gives up: true, and its place is free. False when `ticket` does not wait (any more).
  bool cancel(Ticket ticket);

  /// The pods from now on, in any order; a repeated id counts once. What runs is left alone: pods
  /// that stay keep their requests in flight, pods that go finish theirs, and one that comes back
  /// before that is still charged with them. Appends the requests admitted by the change. Costs the
  /// number of pods; for the change of a few see update_pod() and remove_pod().
  void set_pods(std::span<const PodState> pods, std::vector<Admission>& admitted);

  /// One pod is added, or its report changes. Appends the requests admitted by it.
  void update_pod(const PodState& pod, std::vector<Admission>& admitted);

  /// One pod goes and finishes what it runs. False when no such pod is listed. Appends who is
  /// admitted by it: if all that stay are to be avoided, they are no longer avoided.
  bool remove_pod(const PodId& pod, std::vector<Admission>& admitted);

  /// A listed pod works after all: requests that tried it may use it again. Appends those
  /// admitted by that. False when no such pod is listed.
  bool renew_pod(const PodId& pod, std::vector<Admission>& admitted);

  /// While less is granted than desired, new requests may only wait up to a lower bound: room for a
  /// few seconds of what the pods carry, not for a crowd that no pod will serve (activator.md
  /// 14.3). Requests that wait already may stay, unless growth is impossible with nothing granted:
  /// then all are dismissed and new requests that would have to wait are refused with cannot_scale.
  void set_grant(const Grant& grant, std::vector<Dismissal>& dismissed);

  /// Puts out the waiter whose time came first: its deadline passed, or it has waited queue_wait or
  /// more. One at a time, in the order of those moments: call until it returns nothing. Each costs
  /// the logarithm of how many wait.
  [[nodiscard]] std::optional<Dismissal> expire(TimePoint now);

  /// When expire() is due next; nothing when no waiting request has a deadline.
  [[nodiscard]] std::optional<TimePoint> next_expiry() const;

  /// Empties the queue, oldest first: no request of it will be served.
  void fail_all(std::vector<Dismissal>& dismissed);

  /// The name of a pod a request runs on; valid until its leave().
  [[nodiscard]] const PodId& pod_id(PodRef pod) const { return roster_.id(pod); }

  /// Requests on `pod`, from here.
  [[nodiscard]] std::uint32_t in_flight(PodRef pod) const { return roster_.load(pod); }

  /// Requests on all pods, those that are going away included.
  [[nodiscard]] std::int64_t in_flight() const { return roster_.in_flight(); }

  [[nodiscard]] std::int32_t waiting() const { return waiting_.size(); }

  /// How many may wait now: the queue depth, or less by set_grant.
  [[nodiscard]] std::int32_t waiting_max() const { return waiting_max_; }

  /// When the longest waiting came; nothing when none waits. Of retries only those first in line
  /// are looked at, so one that came back late is seen late.
  [[nodiscard]] std::optional<TimePoint> oldest_waiting() const { return waiting_.oldest(); }

  /// Pods that take requests, those to be avoided included.
  [[nodiscard]] std::size_t pods() const { return roster_.size(); }

  /// How many requests the pods may carry together; nothing when there is no limit.
  [[nodiscard]] std::optional<std::int64_t> capacity() const { return roster_.capacity(); }

 private:
  [[nodiscard]] PodRef take(std::span<const PodRef> tried);
  [[nodiscard]] std::uint32_t pick_elsewhere(std::span<const PodRef> tried);
  [[nodiscard]] Entered join(const Arrival& arrival, TimePoint now);
  [[nodiscard]] std::optional<Entered> refusal(const Arrival& arrival, TimePoint deadline,
                                               TimePoint now);

  [[nodiscard]] bool cannot_grow() const { return grant_.cannot_scale && grant_.granted <= 0; }

  [[nodiscard]] bool usable(std::span<const PodRef> tried) const;
  [[nodiscard]] std::uint32_t limit_of(const PodState& pod) const;
  void admit_waiting(std::vector<Admission>& admitted);
  void pods_changed(std::optional<std::int64_t> capacity_before, std::vector<Admission>& admitted);
  [[nodiscard]] Dismissal dismiss(Ticket ticket);

  std::int32_t queue_depth_;
  std::int32_t waiting_max_;
  Duration queue_wait_;
  bool foresees_;
  Grant grant_{};
  std::uint32_t pod_limit_;
  Balancer balancer_;
  PodRoster roster_;
  WaitQueue waiting_;
  QueuePace pace_;
};

}  // namespace sluice::activator
