#pragma once

#include "activator/core/balancer.h"
#include "common/base/error.h"
#include "common/base/ids.h"
#include "common/breaker/breaker.h"
#include "common/breaker/wait_list.h"
#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace sluice::activator {

using breaker::Entry;
using breaker::Ticket;

/// What a revision lets through, and how.
struct ThrottlerSpec {
  std::int32_t container_concurrency = 0;  ///< requests at once on a pod; 0 means no limit
  std::int32_t queue_depth = 10'000;       ///< how many may wait, at least 1 (SLUICE_QUEUE_DEPTH)
  Duration queue_wait = Duration::zero();  ///< age at which a waiter expires; 0 means never
  std::optional<BalancingPolicy> policy = {};  ///< by container concurrency when absent
  std::uint64_t seed = 1;                      ///< of the policies that choose at random
};

/// A pod that may take requests.
struct PodState {
  PodId id;
  bool avoid = false;  ///< takes new requests only while every pod is to be avoided
  /// Requests at once on this one, where it differs from the spec's: a cluster IP stands for many
  /// pods (shared_capacity). 0 means the spec's.
  std::int32_t capacity = 0;
};

/// A pod that a request runs on, from its admission to its leave().
struct PodRef {
  std::uint32_t slot = Ticket::kNobody;
  std::uint32_t generation = 0;

  friend bool operator==(const PodRef&, const PodRef&) = default;
};

/// A waiter who runs from now on, on `pod`; owes one leave(pod).
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
  Error error = Error::queue_full;  ///< refused: queue_full or cannot_scale
};

/// What the autoscaler says about growth.
struct Grant {
  std::int32_t desired = 0;
  std::int32_t granted = 0;  ///< the part of `desired` there is room for
  bool cannot_scale = false;
};

/// The share of one activator among `activators` (below 1 read as 1) of a capacity that nobody
/// divides by pod: traffic to a cluster IP with `backends` pods behind it (activator.md 5.5).
/// Rounded down, but at least 1, so together they may exceed what the pods carry; the sidecars
/// queue the rest. 0 without backends or without a limit per pod.
[[nodiscard]] std::int32_t shared_capacity(std::int32_t container_concurrency,
                                           std::int32_t backends, std::int32_t activators);

/// The gate of one revision: its bounded queue and its pods in one state machine, so that to be
/// admitted and to have a pod is one event (the reference keeps two capacities that change apart,
/// and sends those who win one and lose the other round again).
///
/// First come first served: somebody waits only while no pod that he may use has room. Without
/// pods everybody waits, which is how a request survives a start from zero. It wakes nobody itself:
/// calls that make room append the waiters they admitted.
class Throttler {
 public:
  /// Pods a request has tried before, at most.
  static constexpr std::size_t kTriedMax = 3;

  explicit Throttler(const ThrottlerSpec& spec);

  /// One more request. `cookie` is the caller's, kept while it waits. A retry names the pods in
  /// `tried` (at most kTriedMax): it never goes to those, and waits ahead of everybody.
  ///
  /// Those it tried come into question again only after they went away and came back.
  [[nodiscard]] Entered enter(TimePoint now, std::uint64_t cookie,
                              std::span<const PodRef> tried = {});

  /// A request on `pod` has ended. Appends who runs in its place. Leaving a pod more often than
  /// entering it is a broken invariant.
  void leave(PodRef pod, std::vector<Admission>& admitted);

  /// A waiter gives up: true, and its place is free. False when `ticket` does not wait (any more).
  bool cancel(Ticket ticket);

  /// The pods from now on, in any order; a repeated id counts once. What runs is left alone: pods
  /// that stay keep their requests in flight, pods that go finish theirs, and one that comes back
  /// before that is still charged with them. Appends who is admitted by the change.
  void set_pods(std::span<const PodState> pods, std::vector<Admission>& admitted);

  /// While less is granted than desired, newcomers may only wait up to a lower bound: room for a
  /// few seconds of what the pods carry, not for a crowd that nobody will serve (activator.md
  /// 14.3). Those who wait already may stay, unless growth is impossible with nothing granted: then
  /// all are dismissed and newcomers who would have to wait are refused with cannot_scale.
  void set_grant(const Grant& grant, std::vector<Dismissal>& dismissed);

  /// Puts out the longest waiting if it has waited queue_wait or more. One at a time: call until
  /// it returns nothing.
  [[nodiscard]] std::optional<Dismissal> expire(TimePoint now);

  /// Empties the queue, oldest first: nobody will be served.
  void fail_all(std::vector<Dismissal>& dismissed);

  /// The name of a pod a request runs on; valid until its leave().
  [[nodiscard]] const PodId& pod_id(PodRef pod) const;

  /// Requests on `pod`, from here.
  [[nodiscard]] std::uint32_t in_flight(PodRef pod) const;

  /// Requests on all pods, those that are going away included.
  [[nodiscard]] std::int64_t in_flight() const { return in_flight_; }

  [[nodiscard]] std::int32_t waiting() const { return waiting_.size(); }

  /// How many may wait now: the queue depth, or less by set_grant.
  [[nodiscard]] std::int32_t waiting_max() const { return waiting_max_; }

  /// When the longest waiting joined; nothing when nobody waits.
  [[nodiscard]] std::optional<TimePoint> oldest_waiting() const;

  /// When expire() is due next; nothing when nobody waits or waiting has no limit of age.
  [[nodiscard]] std::optional<TimePoint> next_expiry() const;

  /// Pods that take requests, those to be avoided included.
  [[nodiscard]] std::size_t pods() const { return order_.size(); }

  /// How many requests the pods may carry together; nothing when there is no limit.
  [[nodiscard]] std::optional<std::int64_t> capacity() const;

 private:
  static constexpr std::size_t kUnlisted = static_cast<std::size_t>(-1);

  struct Pod {
    PodId id;
    std::size_t position = kUnlisted;  // in order_ and loads_
    std::uint32_t generation = 0;
    std::uint32_t in_flight = 0;
    std::uint32_t limit = 0;  // 0: none
    bool avoid = false;
    bool used = false;
  };

  struct Waiter {
    std::uint64_t cookie = 0;
    std::array<PodRef, kTriedMax> tried{};
    std::size_t tried_count = 0;
  };

  [[nodiscard]] Pod& checked(PodRef pod);
  [[nodiscard]] const Pod& checked(PodRef pod) const;
  [[nodiscard]] std::optional<PodRef> take(std::span<const PodRef> tried);
  void admit_waiting(std::vector<Admission>& admitted);
  [[nodiscard]] std::uint32_t obtain_slot(const PodId& id);
  void release_slot(std::uint32_t slot);
  void forget_tried(PodRef pod);
  void list_pods(std::span<const PodState> pods);
  void refresh_loads();
  void refresh_load(const Pod& pod);
  [[nodiscard]] Dismissal dismiss(Ticket ticket);

  std::uint32_t pod_limit_;
  std::int32_t queue_depth_;
  Duration queue_wait_;
  Balancer balancer_;

  std::int32_t waiting_max_;
  bool refuses_waiting_ = false;
  breaker::WaitList<Waiter> waiting_;

  // Slots are named by PodRef and stay where they are; order_ lists those that take requests, by
  // name, and loads_ mirrors order_ for the balancer. open_pods_ counts the open ones in loads_.
  std::vector<Pod> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::unordered_map<PodId, std::uint32_t> slot_of_;
  std::vector<std::uint32_t> order_;
  std::vector<PodLoad> loads_;
  std::size_t open_pods_ = 0;
  bool all_avoided_ = false;
  std::int64_t in_flight_ = 0;
};

}  // namespace sluice::activator
