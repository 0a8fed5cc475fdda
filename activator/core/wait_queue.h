#pragma once

#include "common/breaker/wait_list.h"
#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace sluice::activator {

using breaker::Ticket;

/// A pod that a request runs on, from its admission to its leave().
struct PodRef {
  std::uint32_t slot = Ticket::kNone;
  std::uint32_t generation = 0;

  friend bool operator==(const PodRef&, const PodRef&) = default;
};

/// The moment of a waiter that has no deadline.
inline constexpr TimePoint kNever = TimePoint::max();

/// A waiting request.
struct Waiter {
  std::uint64_t cookie = 0;  ///< the caller's
  TimePoint since;           ///< when it came first
  TimePoint deadline = kNever;
};

/// The waiters of one revision: new requests in order of arrival, and ahead of them those that come
/// back from a pod that failed them, in the order they came back. Joining and leaving anywhere cost
/// the logarithm of the length where there is a deadline and nothing that grows where there is
/// none.
///
/// Requests that come back may not go to the pods they tried. They wait in lanes, one for each set
/// of tried pods, so that finding the first of them that may use an open pod costs a look at each
/// lane and not at each waiter: a dead pod of a large revision sends back thousands at once, all
/// alike.
///
/// Memory is kept between waiters, and given back when a long queue has emptied.
class WaitQueue {
 public:
  /// Pods a waiter has tried before, at most.
  static constexpr std::size_t kTriedMax = 3;

  using Tried = std::span<const PodRef>;

  [[nodiscard]] std::int32_t size() const { return size_; }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Of those, how many come back from a pod.
  [[nodiscard]] std::int32_t returned() const { return returned_; }

  /// Joins behind those of its kind: new requests tried nothing. `tried` holds at most kTriedMax.
  Ticket join(const Waiter& waiter, Tried tried);

  /// Whether `ticket` still waits; false for a stale one.
  [[nodiscard]] bool contains(Ticket ticket) const;

  [[nodiscard]] const Waiter& at(Ticket ticket) const;

  /// The pods that `ticket` tried.
  [[nodiscard]] Tried tried(Ticket ticket) const;

  /// Takes `ticket`, which must be waiting, out.
  Waiter remove(Ticket ticket);

  /// Releases all memory if no request waits.
  void release();

  /// The waiter that is served next if every pod will do.
  [[nodiscard]] std::optional<Ticket> front() const;

  /// The first in line among the waiters for which `usable(tried)` holds.
  template <class Usable>
  [[nodiscard]] std::optional<Ticket> first(Usable usable) const {
    std::uint32_t best = kNone;
    for (std::size_t lane = 1; returned_ > 0 && lane < lanes_.size(); ++lane) {
      const std::uint32_t head = lanes_[lane].first;
      if (head != kNone && (best == kNone || places_[head].order < places_[best].order) &&
          usable(tried_of(lanes_[lane]))) {
        best = head;
      }
    }
    if (best == kNone && !lanes_.empty() && lanes_[0].first != kNone && usable(Tried{})) {
      best = lanes_[0].first;
    }
    return maybe(best);
  }

  /// The waiter with the earliest deadline, if any has one; the longest waiting of equals.
  [[nodiscard]] std::optional<Ticket> most_urgent() const;

  /// The earliest arrival among those at the head of each lane; nothing when none waits.
  [[nodiscard]] std::optional<TimePoint> oldest() const;

 private:
  static constexpr std::uint32_t kNone = Ticket::kNone;
  // A queue that was longer than this gives its memory back when it has emptied.
  static constexpr std::size_t kKeptMax = 64;

  struct Place {
    Waiter waiter;
    std::uint64_t order = 0;  // by which they joined; its low half is the ticket's generation
    std::uint32_t previous = kNone;
    std::uint32_t next = kNone;  // in the free list too
    std::uint32_t lane = kNone;  // kNone while free
    std::uint32_t heap_at = kNone;
  };

  struct Lane {
    std::array<PodRef, kTriedMax> tried{};
    std::uint32_t tried_count = 0;
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };

  [[nodiscard]] static Tried tried_of(const Lane& lane) {
    return Tried(lane.tried).first(lane.tried_count);
  }

  [[nodiscard]] std::uint32_t lane_for(Tried tried);
  [[nodiscard]] std::uint32_t obtain();
  [[nodiscard]] const Place& checked(Ticket ticket) const;
  [[nodiscard]] std::optional<Ticket> maybe(std::uint32_t index) const;
  [[nodiscard]] bool sooner(std::uint32_t a, std::uint32_t b) const;
  void heap_insert(std::uint32_t index);
  void heap_remove(std::uint32_t index);
  void heap_sift(std::size_t at);
  void heap_place(std::size_t at, std::uint32_t index);

  std::vector<Place> places_;
  std::vector<Lane> lanes_;          // the first is of the new requests
  std::vector<std::uint32_t> heap_;  // those with a deadline, earliest first
  std::uint64_t joined_ = 0;
  std::uint32_t free_ = kNone;
  std::int32_t size_ = 0;
  std::int32_t returned_ = 0;  // of size_, those that come back
};

}  // namespace sluice::activator
