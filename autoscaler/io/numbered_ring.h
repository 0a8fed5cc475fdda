#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace sluice::autoscaler {

/// The newest of what was added, each with the number after that of the one before it.
template <class Entry>
class NumberedRing {
 public:
  explicit NumberedRing(std::size_t entries_max) : max_{entries_max} {}

  void add(Entry entry) {
    if (entries_.size() >= max_) {
      entries_.pop_front();
      ++begin_;
    }
    entries_.push_back(std::move(entry));
  }

  /// The number of the oldest that is kept.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }

  /// The number of the next that is added.
  [[nodiscard]] std::uint64_t end() const { return begin_ + entries_.size(); }

  /// Null: it is not kept.
  [[nodiscard]] const Entry* find(std::uint64_t number) const {
    if (number < begin() || number >= end()) return nullptr;
    return &entries_[static_cast<std::size_t>(number - begin_)];
  }

 private:
  std::size_t max_;
  std::uint64_t begin_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace sluice::autoscaler
