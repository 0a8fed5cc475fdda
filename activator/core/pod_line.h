#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::activator {

/// Pods in the order of their names, each known by a small number (its slot), with a mark on those
/// that may take a request. It answers the questions of the policies among ten thousand pods in
/// tens of nanoseconds, and a pod comes or goes without a walk over the others.
///
/// The order is kept in blocks of up to 64 pods. A block's marks are one word; a second row of
/// words marks the blocks that have any. So the first marked pod, or the next after some rank, is
/// found by looking at a few words, and a pod that comes moves at most the 63 others of its block.
/// Beside that all slots may be in an array without order, those marked in front: a uniform
/// draw.
class PodLine {
 public:
  /// Pods in one block, and the longest line for which least_from() may be called.
  static constexpr std::size_t kBlock = 64;
  /// Loads beyond this one are all alike to least_from().
  static constexpr std::uint32_t kLoadMax = (1U << 24U) - 1;

  /// A pod and its rank in the line.
  struct Found {
    std::uint32_t slot = 0;
    std::size_t rank = 0;
  };

  /// `draws`: whether any_open() will be called.
  explicit PodLine(bool draws) : draws_(draws) {}

  ~PodLine() = default;
  PodLine(const PodLine&) = delete;
  PodLine& operator=(const PodLine&) = delete;

  /// Puts `slot`, which is not in the line, behind all slots for which `before(slot)` holds;
  /// `before` is true for a first part of the line and false for the rest. Not marked at first.
  template <class Before>
  void insert(std::uint32_t slot, Before before) {
    std::size_t low = 0;  // blocks up to here begin before it
    for (std::size_t high = blocks_.size(); low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      before(blocks_[middle]->slots[0]) ? low = middle + 1 : high = middle;
    }
    if (low == 0) {
      insert_at(slot, 0, 0);
      return;
    }
    const Block& block = *blocks_[low - 1];
    std::size_t offset = 1;
    for (std::size_t high = block.count; offset < high;) {
      const std::size_t middle = offset + (high - offset) / 2;
      before(block.slots[middle]) ? offset = middle + 1 : high = middle;
    }
    insert_at(slot, low - 1, offset);
  }

  /// Takes `slot`, which is in the line, out.
  void erase(std::uint32_t slot);

  /// Marks `slot`, which is in the line; `load` is what least_from() goes by.
  void open(std::uint32_t slot, std::uint32_t load) {
    Block& block = *spots_[slot].block;
    const std::size_t offset = spots_[slot].offset;
    block.keys[offset] = key_of(load);
    if ((block.marks & bit(offset)) != 0) {
      return;
    }
    if (block.marks == 0) {
      marked_[block.rank / kBlock] |= bit(block.rank);
    }
    block.marks |= bit(offset);
    if (draws_) {
      move_dense(slot, open_);
    }
    ++open_;
  }

  /// Takes the mark away, if there is one.
  void close(std::uint32_t slot) {
    Block& block = *spots_[slot].block;
    const std::size_t offset = spots_[slot].offset;
    if ((block.marks & bit(offset)) == 0) {
      return;
    }
    block.keys[offset] = kClosed;
    block.marks &= ~bit(offset);
    if (block.marks == 0) {
      marked_[block.rank / kBlock] &= ~bit(block.rank);
    }
    --open_;
    if (draws_) {
      move_dense(slot, open_);
    }
  }

  /// The load of a marked slot has changed.
  void set_load(std::uint32_t slot, std::uint32_t load) {
    if (is_short()) {
      spots_[slot].block->keys[spots_[slot].offset] = key_of(load);
    }
  }

  /// Whether least_from() may be called. While a line is longer it does not follow loads: once it
  /// has become short the caller sets those of the marked ones again.
  [[nodiscard]] bool is_short() const { return size_ <= kBlock; }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// How many are marked.
  [[nodiscard]] std::size_t open_count() const { return open_; }

  [[nodiscard]] bool is_open(std::uint32_t slot) const {
    return (spots_[slot].block->marks & bit(spots_[slot].offset)) != 0;
  }

  /// The slot at `rank`, below size().
  [[nodiscard]] std::uint32_t at(std::size_t rank);

  /// The first marked one in order.
  [[nodiscard]] std::optional<std::uint32_t> first_open() const {
    for (std::size_t word = 0; word < marked_.size(); ++word) {
      if (marked_[word] != 0) {
        const Block& block = *blocks_[word * kBlock + first_bit(marked_[word])];
        return block.slots[first_bit(block.marks)];
      }
    }
    return std::nullopt;
  }

  /// The first marked one from `rank` (below size()) on, going round at the end.
  [[nodiscard]] std::optional<Found> open_from(std::size_t rank);

  /// Of the marked ones with the least load the first from `rank` on, going round at the end. The
  /// line is short.
  [[nodiscard]] std::optional<Found> least_from(std::size_t rank) const;

  /// One of the marked ones for each `index` below open_count(), in no order that means anything.
  [[nodiscard]] std::uint32_t any_open(std::size_t index) const { return dense_[index]; }

  /// Gives all memory back; the line is empty.
  void release();

 private:
  // Keys leave six bits for a place in the block. Above every load is the key of a pod without a
  // mark. Signed, since the processors at hand compare signed words four at a time.
  static constexpr std::uint32_t kPlaceBits = 6;
  static constexpr std::int32_t kClosed = std::int32_t{1} << 30;

  struct Block {
    Block() { keys.fill(kClosed); }

    std::uint64_t marks = 0;  // by offset
    std::uint32_t count = 0;
    std::uint32_t rank = 0;  // in blocks_
    std::array<std::uint32_t, kBlock> slots{};
    std::array<std::int32_t, kBlock> keys{};  // by offset: the load shifted, or kClosed
  };

  // The place of a slot.
  struct Spot {
    Block* block = nullptr;
    std::uint32_t dense = 0;  // in dense_
    std::uint32_t offset = 0;
  };

  [[nodiscard]] static std::uint64_t bit(std::size_t at) {
    return std::uint64_t{1} << (at % kBlock);
  }

  [[nodiscard]] static std::size_t first_bit(std::uint64_t word) {
    return static_cast<std::size_t>(std::countr_zero(word));
  }

  [[nodiscard]] static std::int32_t key_of(std::uint32_t load) {
    return static_cast<std::int32_t>((load < kLoadMax ? load : kLoadMax) << kPlaceBits);
  }

  void insert_at(std::uint32_t slot, std::size_t block, std::size_t offset);
  void split(std::size_t block);
  void join(std::size_t block);
  void join_sparse(std::size_t block);
  void blocks_changed(std::size_t from);
  void reseat(Block& block, std::size_t from);
  void show_marks(const Block& block);

  void move_dense(std::uint32_t slot, std::size_t to) {
    const std::uint32_t from = spots_[slot].dense;
    const std::uint32_t other = dense_[to];
    dense_[from] = other;
    spots_[other].dense = from;
    dense_[to] = slot;
    spots_[slot].dense = static_cast<std::uint32_t>(to);
  }

  [[nodiscard]] std::size_t block_of(std::size_t rank);
  [[nodiscard]] std::optional<std::size_t> marked_block(std::size_t from) const;

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::uint64_t> marked_;  // blocks that have a marked pod, a bit each
  std::vector<std::uint32_t> starts_;  // rank of each block's first pod; empty when out of date
  std::vector<std::uint32_t> dense_;   // all slots, the marked ones first; only with draws_
  std::vector<Spot> spots_;            // by slot
  std::size_t size_ = 0;
  std::size_t open_ = 0;
  std::size_t turn_ = 0;  // the block that was used last
  bool draws_;
};

}  // namespace sluice::activator
