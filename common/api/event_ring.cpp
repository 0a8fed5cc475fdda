#include "common/api/event_ring.h"

#include "common/base/check.h"
#include "common/json/read.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace sluice::api {

const std::string& Event::data() const {
  if (body_) data_ = json_line(std::exchange(body_, nullptr)());
  return data_;
}

bool EventFilter::matches(const EventKey& event) const {
  if ((!space.empty() && !event.space.empty() && event.space != space) ||
      (!service.empty() && event.service != service) ||
      (!replica.empty() && event.replica != replica)) {
    return false;
  }
  return types.empty() || std::find(types.begin(), types.end(), event.type) != types.end();
}

EventRing::EventRing(std::size_t events_max, std::size_t bytes_max)
    : events_max_(events_max), bytes_max_(bytes_max) {
  CHECK(events_max > 0);
}

EventKey key_of(const nlohmann::json& event) {
  EventKey key{.type = reading::text(event, "type"), .space = reading::text(event, "namespace")};
  // A status object names its service "name".
  key.service = reading::text(
      event, key.type == "service" && !event.contains("service") ? "name" : "service");
  // A replica event names the replica "id", the others "replica".
  key.replica = reading::text(event, key.type == "replica" ? "id" : "replica");
  return key;
}

std::uint64_t EventRing::publish(const nlohmann::json& event) {
  CHECK(event.is_object());
  EventKey key = key_of(event);
  std::string data = json_line(event);
  const std::size_t bytes = data.size();
  return keep(std::make_shared<const Event>(++last_id_, std::move(key), std::move(data)), bytes);
}

std::uint64_t EventRing::publish(EventKey key, Event::Body body) {
  return keep(std::make_shared<const Event>(++last_id_, std::move(key), std::move(body)),
              kBodyBytes);
}

std::uint64_t EventRing::keep(std::shared_ptr<const Event> event, std::size_t bytes) {
  bytes_ += bytes;
  events_.push_back({std::move(event), bytes});
  while (events_.size() > events_max_ || (bytes_ > bytes_max_ && events_.size() > 1)) {
    bytes_ -= events_.front().bytes;
    events_.pop_front();
  }
  tell(std::shared_ptr<const Event>(events_.back().event));
  return last_id_;
}

EventRing::Backlog EventRing::after(std::uint64_t id, const EventFilter& filter) const {
  Backlog backlog;
  // An id from the future belongs to an earlier engine of that name: start from the oldest.
  const std::uint64_t seen = id > last_id_ ? 0 : id;
  const std::uint64_t oldest = events_.empty() ? last_id_ + 1 : events_.front().event->id;
  backlog.missed = oldest > seen + 1 ? oldest - seen - 1 : 0;
  // Ids grow by one, so the place of the first unseen event is known.
  const std::uint64_t skip = seen >= oldest ? seen - oldest + 1 : 0;
  for (std::size_t i = skip; i < events_.size(); ++i) {
    if (filter.matches(events_[i].event->key)) {
      backlog.events.push_back(events_[i].event);
    }
  }
  return backlog;
}

void EventRing::tell(const std::shared_ptr<const Event>& event) {
  ++telling_;
  // Listeners added meanwhile stand at the end and have not asked for this event.
  const std::uint64_t last_key = last_key_;
  for (Entry& entry : entries_) {
    if (entry.key <= last_key && !entry.gone && entry.filter.matches(event->key)) {
      entry.listener(event);
    }
  }
  --telling_;
  sweep();
}

EventRing::Subscription EventRing::subscribe(EventFilter filter, Listener listener) {
  entries_.push_back({.key = ++last_key_,
                      .filter = std::move(filter),
                      .listener = std::move(listener),
                      .gone = false});
  return {this, last_key_};
}

void EventRing::unsubscribe(std::uint64_t key) {
  for (Entry& entry : entries_) {
    entry.gone = entry.gone || entry.key == key;
  }
  sweep();
}

void EventRing::sweep() {
  if (telling_ == 0) {
    entries_.remove_if([](const Entry& entry) { return entry.gone; });
  }
}

EventRing::Subscription::Subscription(Subscription&& other) noexcept
    : ring_(std::exchange(other.ring_, nullptr)), key_(other.key_) {}

EventRing::Subscription& EventRing::Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    if (ring_ != nullptr) {
      ring_->unsubscribe(key_);
    }
    ring_ = std::exchange(other.ring_, nullptr);
    key_ = other.key_;
  }
  return *this;
}

EventRing::Subscription::~Subscription() {
  if (ring_ != nullptr) {
    ring_->unsubscribe(key_);
  }
}

}  // namespace sluice::api
