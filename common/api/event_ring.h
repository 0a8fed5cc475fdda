#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::api {

/// By which readers choose an event.
struct EventKey {
  std::string type;
  std::string space = {};    ///< empty when the event names no namespace
  std::string service = {};  ///< empty when the event belongs to no service
  std::string replica = {};  ///< empty when the event belongs to no replica
};

/// By which an event object is chosen: a "type", and where it has them "namespace", "service" and a
/// replica.
[[nodiscard]] EventKey key_of(const nlohmann::json& event);

/// One published event. Its JSON object is made for the first reader: most events have none.
class Event {
 public:
  /// Makes the object from what it owns.
  using Body = std::function<nlohmann::json()>;

  Event(std::uint64_t number, EventKey of, Body body)
      : id{number}, key{std::move(of)}, body_{std::move(body)} {}

  Event(std::uint64_t number, EventKey of, std::string data)
      : id{number}, key{std::move(of)}, data_{std::move(data)} {}

  /// The object as the JSON output mode prints it.
  [[nodiscard]] const std::string& data() const;

  const std::uint64_t id;  ///< grows by 1; the SSE id
  const EventKey key;

 private:
  mutable Body body_;         // until data() is called
  mutable std::string data_;  // since then
};

/// Which events a reader gets: any of `types`, of `service`, of `replica`, of namespace `space`;
/// empty means all.
struct EventFilter {
  std::vector<std::string> types = {};
  std::string service = {};
  std::string replica = {};
  std::string space = {};

  [[nodiscard]] bool matches(const EventKey& event) const;
};

/// The newest events of a program and their readers. Bounded by number and by bytes: a reader that
/// resumes from before the oldest one kept learns how many it missed. An event published with its
/// Body counts kBodyBytes, read or not. One thread.
class EventRing {
 public:
  using Listener = std::function<void(const std::shared_ptr<const Event>&)>;

  static constexpr std::size_t kEventsMax = 4096;
  static constexpr std::size_t kBytesMax = 4U << 20U;
  static constexpr std::size_t kBodyBytes = 1U << 10U;

  explicit EventRing(std::size_t events_max = kEventsMax, std::size_t bytes_max = kBytesMax);

  /// Keeps `event` (an object with a string "type") and calls the listeners. Returns its id.
  std::uint64_t publish(const nlohmann::json& event);

  /// The same of an object that is made when the first reader gets it.
  std::uint64_t publish(EventKey key, Event::Body body);

  /// What a reader that has everything up to `after` gets.
  struct Backlog {
    std::vector<std::shared_ptr<const Event>> events;  ///< oldest first
    std::uint64_t missed = 0;                          ///< published after `after`, no longer kept
  };

  [[nodiscard]] Backlog after(std::uint64_t id, const EventFilter& filter) const;

  /// Id of the newest event, 0 before the first.
  [[nodiscard]] std::uint64_t last_id() const { return last_id_; }

  /// Ends with its destruction; the ring must outlive it. A listener may end its own subscription,
  /// or any other's, while it is called.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&& other) noexcept;
    Subscription& operator=(Subscription&& other) noexcept;
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    ~Subscription();

   private:
    friend class EventRing;

    Subscription(EventRing* ring, std::uint64_t key) : ring_(ring), key_(key) {}

    EventRing* ring_ = nullptr;
    std::uint64_t key_ = 0;
  };

  /// `listener` is called for every event published from now on that passes `filter`.
  [[nodiscard]] Subscription subscribe(EventFilter filter, Listener listener);

 private:
  struct Entry {
    std::uint64_t key;
    EventFilter filter;
    Listener listener;
    bool gone = false;
  };

  struct Kept {
    std::shared_ptr<const Event> event;
    std::size_t bytes;
  };

  std::uint64_t keep(std::shared_ptr<const Event> event, std::size_t bytes);
  void tell(const std::shared_ptr<const Event>& event);
  void unsubscribe(std::uint64_t key);
  void sweep();

  std::size_t events_max_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_key_ = 0;
  // How many tell() calls are on the stack: entries are only marked gone while it is not 0.
  int telling_ = 0;
  std::deque<Kept> events_;
  std::list<Entry> entries_;
};

}  // namespace sluice::api
