#pragma once

#include "common/base/check.h"

#include <cstring>
#include <memory>
#include <string_view>

namespace sluice::net {

/// The bytes of one direction of one connection: filled at its tail, used up at its front. Its
/// memory is allocated at the first use, grows by the caller's decision only, and can be given back.
/// While it is pinned, because a read into its tail is outstanding, nothing in it moves: compact,
/// reserve and release do nothing then.
class ByteBuffer {
 public:
  [[nodiscard]] std::string_view data() const { return {bytes_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  /// Makes room for at least `capacity` bytes in all and moves the data to the front.
  void reserve(std::size_t capacity) {
    if (pinned_) return;
    if (capacity <= capacity_) {
      compact();
      return;
    }
    std::unique_ptr<char[]> larger{new char[capacity]};
    if (!empty()) std::memcpy(larger.get(), bytes_.get() + begin_, size());
    end_ -= begin_;
    begin_ = 0;
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }

  /// Moves the data to the front, so that all free room is behind it.
  void compact() {
    if (begin_ == 0 || pinned_) return;
    if (!empty()) std::memmove(bytes_.get(), bytes_.get() + begin_, size());
    end_ -= begin_;
    begin_ = 0;
  }

  [[nodiscard]] char* tail() { return bytes_.get() + end_; }
  [[nodiscard]] std::size_t room() const { return capacity_ - end_; }

  void filled(std::size_t bytes) {
    CHECK(bytes <= room());
    end_ += bytes;
  }

  void consume(std::size_t bytes) {
    CHECK(bytes <= size());
    begin_ += bytes;
    if (begin_ == end_ && !pinned_) begin_ = end_ = 0;
  }

  void pin() { pinned_ = true; }
  void unpin() { pinned_ = false; }

  /// Gives memory back when nothing is stored.
  void release() {
    if (!empty() || pinned_) return;
    bytes_.reset();
    capacity_ = begin_ = end_ = 0;
  }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool pinned_ = false;
};

}  // namespace sluice::net
