#pragma once

#include "common/kube/place.h"
#include "common/kube/reflector.h"

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::kube {

/// A collection as values of T, which hold the fields that are used and nothing else. Belongs to
/// one thread.
template <class T>
class Informer final : private ObjectSink {
 public:
  /// Reads an object; absent: it is invalid, and its previous state stays.
  using Decode = std::function<std::optional<T>(std::string_view json)>;

  struct Events {
    std::function<void(const ObjectName&, const T&)> changed;  ///< new, or another value
    std::function<void(const ObjectName&, const T&)> gone;     ///< with its last value
    std::function<void()> synced;
  };

  Informer(const Place& at, Collection collection, Decode decode)
      : decode_{std::move(decode)}, reflector_{at.io,  at.clock,  at.random,
                                               at.log, at.client, std::move(collection),
                                               *this} {}

  Informer(const Place& at, Collection collection, Decode decode, Events events)
      : Informer{at, std::move(collection), std::move(decode)} {
    hear(std::move(events));
  }

  /// Another reader, which gets the events from now on.
  void hear(Events events) { readers_.push_back(std::move(events)); }

  void start() { reflector_.start(); }

  [[nodiscard]] const Reflector::State& state() const { return reflector_.state(); }

  [[nodiscard]] const std::map<ObjectName, T>& all() const { return objects_; }

  [[nodiscard]] const T* find(const ObjectName& name) const {
    const auto found = objects_.find(name);
    return found == objects_.end() ? nullptr : &found->second;
  }

 private:
  void put(const ObjectName& name, std::string_view json) override {
    std::optional<T> value = decode_(json);
    if (!value) return;
    const auto found = objects_.find(name);
    if (found != objects_.end() && found->second == *value) return;
    const auto now = objects_.insert_or_assign(name, std::move(*value)).first;
    for (const Events& each : readers_) {
      if (each.changed) each.changed(now->first, now->second);
    }
  }

  void gone(const ObjectName& name) override {
    const auto found = objects_.find(name);
    if (found == objects_.end()) return;
    const auto last = objects_.extract(found);
    for (const Events& each : readers_) {
      if (each.gone) each.gone(last.key(), last.mapped());
    }
  }

  void synced() override {
    for (const Events& each : readers_) {
      if (each.synced) each.synced();
    }
  }

  Decode decode_;
  std::vector<Events> readers_;
  std::map<ObjectName, T> objects_;
  Reflector reflector_;
};

}  // namespace sluice::kube
