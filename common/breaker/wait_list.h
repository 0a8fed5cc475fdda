#pragma once

#include "common/base/check.h"
#include "common/time/time_point.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::breaker {

/// The place of one waiter in a queue. A place is used again after its waiter has gone, under
/// another generation: a ticket kept too long is recognised as stale and names no waiter.
struct Ticket {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t index = kNone;
  std::uint32_t generation = 0;

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

/// Waiters in order of arrival, in places that are linked by index and used again: once the queue
/// has been as long as it gets, joining and leaving it allocate nothing, and a waiter in the middle
/// leaves in constant time.
///
/// Arrival times never decrease from front to back. A time that steps back is read as the moment of
/// the waiter before; one that joins at the front arrived before all other waiters. So the front is
/// always the oldest. The list has no bound of its own: its owner refuses before joining.
template <class Payload>
class WaitList {
 public:
  [[nodiscard]] std::int32_t size() const { return size_; }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Joins at the end.
  Ticket push_back(TimePoint now, Payload payload) {
    const std::uint32_t index = obtain(std::move(payload));
    Place& place = places_[index];
    place.since = last_ == kNone ? now : std::max(now, places_[last_].since);
    place.previous = last_;
    (last_ == kNone ? first_ : places_[last_].next) = index;
    last_ = index;
    return ticket_of(index);
  }

  /// Joins ahead of all.
  /// The longest waiting, and the one that came after `ticket`, which must be waiting.
  [[nodiscard]] std::optional<Ticket> front() const { return maybe(first_); }

  [[nodiscard]] std::optional<Ticket> back() const { return maybe(last_); }

  [[nodiscard]] std::optional<Ticket> after(Ticket ticket) const {
    return maybe(checked(ticket).next);
  }

  /// Whether `ticket` is still in the list; false for a stale one.
  [[nodiscard]] bool contains(Ticket ticket) const {
    return ticket.index < places_.size() && places_[ticket.index].used &&
           places_[ticket.index].generation == ticket.generation;
  }

  /// What was given on joining. `ticket` must be waiting.
  [[nodiscard]] const Payload& at(Ticket ticket) const { return checked(ticket).payload; }

  [[nodiscard]] Payload& at(Ticket ticket) { return const_cast<Place&>(checked(ticket)).payload; }

  /// When `ticket`, which must be waiting, joined.
  [[nodiscard]] TimePoint since(Ticket ticket) const { return checked(ticket).since; }

  /// Takes `ticket`, which must be waiting, out of the list.
  Payload remove(Ticket ticket) {
    CHECK(contains(ticket));
    Place& place = places_[ticket.index];
    (place.previous == kNone ? first_ : places_[place.previous].next) = place.next;
    (place.next == kNone ? last_ : places_[place.next].previous) = place.previous;
    place.used = false;
    ++place.generation;
    place.previous = kNone;
    place.next = free_;
    free_ = ticket.index;
    --size_;
    return std::move(place.payload);
  }

 private:
  static constexpr std::uint32_t kNone = Ticket::kNone;

  struct Place {
    Payload payload;
    TimePoint since;
    std::uint32_t previous = kNone;
    std::uint32_t next = kNone;  // in the free list too
    std::uint32_t generation = 0;
    bool used = false;
  };

  std::uint32_t obtain(Payload payload) {
    std::uint32_t index = free_;
    if (index == kNone) {
      CHECK(places_.size() < kNone);
      index = static_cast<std::uint32_t>(places_.size());
      places_.emplace_back();
    } else {
      free_ = places_[index].next;
    }
    Place& place = places_[index];
    place.payload = std::move(payload);
    place.previous = place.next = kNone;
    place.used = true;
    ++size_;
    return index;
  }

  [[nodiscard]] const Place& checked(Ticket ticket) const {
    CHECK(contains(ticket));
    return places_[ticket.index];
  }

  [[nodiscard]] Ticket ticket_of(std::uint32_t index) const {
    return Ticket{.index = index, .generation = places_[index].generation};
  }

  [[nodiscard]] std::optional<Ticket> maybe(std::uint32_t index) const {
    return index == kNone ? std::nullopt : std::optional<Ticket>(ticket_of(index));
  }

  std::vector<Place> places_;
  std::uint32_t first_ = kNone;
  std::uint32_t last_ = kNone;
  std::uint32_t free_ = kNone;
  std::int32_t size_ = 0;
};

}  // namespace sluice::breaker
