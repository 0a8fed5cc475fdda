#pragma once

#include "common/base/check.h"

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::net {

/// Large blocks that buffers borrow while a body passes through. A few that came back are kept, so
/// that bodies one after the other cost the heap nothing; the rest is freed. Belongs to one thread
/// and outlives its buffers.
class BlockPool {
 public:
  using Block = std::unique_ptr<char[]>;

  static constexpr std::size_t kBlockBytes = 64 * 1024;
  static constexpr std::size_t kKeptMax = 16;

  BlockPool() { kept_.reserve(kKeptMax); }

  ~BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  [[nodiscard]] Block take() {
    if (kept_.empty()) return Block{new char[kBlockBytes]};
    Block block = std::move(kept_.back());
    kept_.pop_back();
    return block;
  }

  void give_back(Block block) {
    if (kept_.size() < kKeptMax) kept_.push_back(std::move(block));
  }

  [[nodiscard]] std::size_t kept() const { return kept_.size(); }

 private:
  std::vector<Block> kept_;
};

/// The bytes of one direction of one connection: filled at its tail, used up at its front. Its
/// memory comes with the first use, grows by the caller's decision only, and can be given back.
/// While it is pinned, because a read into its tail is outstanding, nothing in it moves: compact,
/// reserve, enlarge, shrink and release do nothing then.
class ByteBuffer {
 public:
  /// `blocks`: the source of larger buffers; null: the heap.
  explicit ByteBuffer(BlockPool* blocks = nullptr) : blocks_{blocks} {}

  ~ByteBuffer() { return_block(); }

  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;

  [[nodiscard]] std::string_view data() const { return {bytes_ + begin_, end_ - begin_}; }

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
    BlockPool::Block larger{new char[capacity]};
    move_to(larger.get(), capacity);
    return_block();
    own_ = std::move(larger);
    own_capacity_ = capacity;
  }

  /// Makes room for a large block's bytes in all, borrowed if there is a lender.
  void enlarge() {
    if (blocks_ == nullptr || capacity_ >= BlockPool::kBlockBytes) {
      reserve(BlockPool::kBlockBytes);
    } else if (!pinned_) {
      block_ = blocks_->take();
      move_to(block_.get(), BlockPool::kBlockBytes);
    }
  }

  /// Moves the data to the front, so that all free room is behind it.
  void compact() {
    if (begin_ == 0 || pinned_) return;
    if (!empty()) std::memmove(bytes_, bytes_ + begin_, size());
    end_ -= begin_;
    begin_ = 0;
  }

  [[nodiscard]] char* tail() { return bytes_ + end_; }

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

  /// When nothing is stored: gives back what is borrowed, and own memory if beyond `kept` bytes.
  void shrink(std::size_t kept) {
    if (capacity_ <= kept || !empty() || pinned_) return;
    return_block();
    if (own_capacity_ > kept) {
      own_.reset();
      own_capacity_ = 0;
    }
    bytes_ = own_.get();
    capacity_ = own_capacity_;
    begin_ = end_ = 0;
  }

  /// Gives all memory back when nothing is stored.
  void release() { shrink(0); }

 private:
  void move_to(char* place, std::size_t capacity) {
    if (!empty()) std::memcpy(place, bytes_ + begin_, size());
    end_ -= begin_;
    begin_ = 0;
    bytes_ = place;
    capacity_ = capacity;
  }

  void return_block() {
    if (block_) blocks_->give_back(std::move(block_));
  }

  BlockPool* blocks_;
  BlockPool::Block own_;
  BlockPool::Block block_;  // in use instead of own_ while there is one
  char* bytes_ = nullptr;   // of one of the two
  std::size_t own_capacity_ = 0;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool pinned_ = false;
};

}  // namespace sluice::net
