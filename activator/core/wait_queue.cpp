#include "activator/core/wait_queue.h"

#include "common/base/check.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

Ticket WaitQueue::join(const Waiter& waiter, Tried tried) {
  CHECK(tried.size() <= kTriedMax);
  const std::uint32_t index = obtain();
  const std::uint32_t number = lane_for(tried);
  Lane& lane = lanes_[number];
  places_[index] = Place{
      .waiter = waiter, .order = joined_++, .previous = lane.last, .next = kNone, .lane = number};
  (lane.last == kNone ? lane.first : places_[lane.last].next) = index;
  lane.last = index;
  ++size_;
  returned_ += number == 0 ? 0 : 1;
  if (waiter.deadline != kNever) {
    heap_insert(index);
  }
  return *maybe(index);
}

bool WaitQueue::contains(Ticket ticket) const {
  return ticket.index < places_.size() && places_[ticket.index].lane != kNone &&
         static_cast<std::uint32_t>(places_[ticket.index].order) == ticket.generation;
}

const Waiter& WaitQueue::at(Ticket ticket) const {
  return checked(ticket).waiter;
}

WaitQueue::Tried WaitQueue::tried(Ticket ticket) const {
  return tried_of(lanes_[checked(ticket).lane]);
}

Waiter WaitQueue::remove(Ticket ticket) {
  Place place = checked(ticket);
  Lane& lane = lanes_[place.lane];
  (place.previous == kNone ? lane.first : places_[place.previous].next) = place.next;
  (place.next == kNone ? lane.last : places_[place.next].previous) = place.previous;
  if (place.heap_at != kNone) {
    heap_remove(ticket.index);
  }
  --size_;
  returned_ -= place.lane == 0 ? 0 : 1;
  places_[ticket.index].lane = kNone;
  places_[ticket.index].next = std::exchange(free_, ticket.index);
  if (places_.size() > kKeptMax) {
    release();
  }
  return place.waiter;
}

void WaitQueue::release() {
  if (size_ == 0 && !places_.empty()) {
    places_ = decltype(places_)();
    lanes_ = decltype(lanes_)();
    heap_ = decltype(heap_)();
    free_ = kNone;
  }
}

std::optional<Ticket> WaitQueue::front() const {
  return first([](Tried) { return true; });
}

std::optional<Ticket> WaitQueue::most_urgent() const {
  return heap_.empty() ? std::nullopt : maybe(heap_.front());
}

std::optional<TimePoint> WaitQueue::oldest() const {
  std::optional<TimePoint> oldest;
  for (const Lane& lane : lanes_) {
    if (lane.first != kNone) {
      const TimePoint since = places_[lane.first].waiter.since;
      oldest = oldest ? std::min(*oldest, since) : since;
    }
  }
  return oldest;
}

std::uint32_t WaitQueue::lane_for(Tried tried) {
  if (lanes_.empty()) {
    lanes_.emplace_back();
  }
  if (tried.empty()) {
    return 0;
  }
  std::uint32_t chosen = kNone;
  for (std::uint32_t number = 1; number < lanes_.size(); ++number) {
    const Tried known = tried_of(lanes_[number]);
    if (std::equal(known.begin(), known.end(), tried.begin(), tried.end())) {
      return number;
    }
    if (lanes_[number].first == kNone) {
      chosen = number;
    }
  }
  if (chosen == kNone) {
    chosen = static_cast<std::uint32_t>(lanes_.size());
    lanes_.emplace_back();
  }
  Lane& lane = lanes_[chosen];
  std::copy(tried.begin(), tried.end(), lane.tried.begin());
  lane.tried_count = static_cast<std::uint32_t>(tried.size());
  return chosen;
}

std::uint32_t WaitQueue::obtain() {
  if (free_ != kNone) {
    return std::exchange(free_, places_[free_].next);
  }
  CHECK(places_.size() < kNone);
  places_.emplace_back();
  return static_cast<std::uint32_t>(places_.size() - 1);
}

const WaitQueue::Place& WaitQueue::checked(Ticket ticket) const {
  CHECK(contains(ticket));
  return places_[ticket.index];
}

std::optional<Ticket> WaitQueue::maybe(std::uint32_t index) const {
  if (index == kNone) {
    return std::nullopt;
  }
  return Ticket{.index = index, .generation = static_cast<std::uint32_t>(places_[index].order)};
}

bool WaitQueue::sooner(std::uint32_t a, std::uint32_t b) const {
  const Place& one = places_[a];
  const Place& other = places_[b];
  return one.waiter.deadline != other.waiter.deadline ? one.waiter.deadline < other.waiter.deadline
                                                      : one.order < other.order;
}

void WaitQueue::heap_insert(std::uint32_t index) {
  heap_.push_back(index);
  heap_sift(heap_.size() - 1);
}

void WaitQueue::heap_remove(std::uint32_t index) {
  const std::size_t at = places_[index].heap_at;
  const std::uint32_t last = heap_.back();
  heap_.pop_back();
  if (last != index) {
    heap_[at] = last;
    heap_sift(at);
  }
}

// Moves the waiter at `at`, where the order is broken, to its place.
void WaitQueue::heap_sift(std::size_t at) {
  const std::uint32_t index = heap_[at];
  while (at > 0 && sooner(index, heap_[(at - 1) / 2])) {
    heap_place(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && sooner(heap_[child + 1], heap_[child])) {
      ++child;
    }
    if (!sooner(heap_[child], index)) {
      break;
    }
    heap_place(at, heap_[child]);
    at = child;
  }
  heap_place(at, index);
}

void WaitQueue::heap_place(std::size_t at, std::uint32_t index) {
  heap_[at] = index;
  places_[index].heap_at = static_cast<std::uint32_t>(at);
}

}  // namespace sluice::activator
