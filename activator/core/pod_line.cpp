#include "activator/core/pod_line.h"

#include "common/base/check.h"

#include <algorithm>
#include <cstring>

namespace sluice::activator {

namespace {

// Where the blocks are split; neighbours that together hold no more than kJoined are joined, which
// leaves room so that the next pod does not split them again.
constexpr std::size_t kHalf = PodLine::kBlock / 2;
constexpr std::size_t kJoined = PodLine::kBlock * 3 / 4;

// Keys are compared four at a time, in the vector type that both compilers know. Keys beyond the
// last pod of a block are those of pods without a mark.
constexpr std::size_t kLanes = 4;
using Lanes [[gnu::vector_size(16)]] = std::int32_t;
static_assert(PodLine::kBlock % kLanes == 0);

constexpr std::int32_t kPlaceMask = PodLine::kBlock - 1;

}  // namespace

void PodLine::erase(std::uint32_t slot) {
  close(slot);
  --size_;
  if (draws_) {
    move_dense(slot, size_);
    dense_.pop_back();
  }
  const Spot spot = spots_[slot];
  spots_[slot] = Spot{};
  Block& block = *spot.block;
  --block.count;
  for (std::size_t i = spot.offset; i < block.count; ++i) {
    block.slots[i] = block.slots[i + 1];
    block.keys[i] = block.keys[i + 1];
  }
  block.keys[block.count] = kClosed;
  const std::uint64_t low = block.marks & (bit(spot.offset) - 1);
  block.marks = low | (((block.marks >> spot.offset) >> 1U) << spot.offset);
  reseat(block, spot.offset);
  starts_.clear();
  join_sparse(block.rank);
}

std::uint32_t PodLine::at(std::size_t rank) {
  const std::size_t block = block_of(rank);
  return blocks_[block]->slots[rank - starts_[block]];
}

std::optional<PodLine::Found> PodLine::open_from(std::size_t rank) {
  if (open_ == 0) {
    return std::nullopt;
  }
  std::size_t block = block_of(rank);
  const std::size_t offset = rank - starts_[block];
  std::uint64_t marks = (blocks_[block]->marks >> offset) << offset;
  if (marks == 0) {
    std::optional<std::size_t> next = marked_block(block + 1);
    next = next ? next : marked_block(0);
    block = *next;
    marks = blocks_[block]->marks;
  }
  const std::size_t found = first_bit(marks);
  return Found{.slot = blocks_[block]->slots[found], .rank = starts_[block] + found};
}

// The load above, how far on from `rank` below, in one number: the least of these is the answer.
std::optional<PodLine::Found> PodLine::least_from(std::size_t rank) const {
  CHECK(blocks_.size() <= 1);
  if (open_ == 0) {
    return std::nullopt;
  }
  const Block& block = *blocks_.front();
  const auto from = static_cast<std::int32_t>(rank);
  const Lanes places = {0, 1, 2, 3};
  Lanes ahead = places - from;
  Lanes least = places + kClosed;
  for (std::size_t begin = 0; begin < block.count; begin += kLanes) {
    Lanes keys;
    std::memcpy(&keys, &block.keys[begin], sizeof(keys));
    keys |= ahead & kPlaceMask;
    least = keys < least ? keys : least;
    ahead += static_cast<std::int32_t>(kLanes);
  }
  const std::int32_t best = std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
  const auto found = static_cast<std::size_t>((best + from) & kPlaceMask);
  return Found{.slot = block.slots[found], .rank = found};
}

void PodLine::release() {
  CHECK(size_ == 0);
  blocks_ = decltype(blocks_)();
  marked_ = decltype(marked_)();
  starts_ = decltype(starts_)();
  dense_ = decltype(dense_)();
  spots_ = decltype(spots_)();
  turn_ = 0;
}

void PodLine::insert_at(std::uint32_t slot, std::size_t at, std::size_t offset) {
  if (blocks_.empty()) {
    blocks_.push_back(std::make_unique<Block>());
    blocks_changed(0);
  }
  if (blocks_[at]->count == kBlock) {
    // Behind the last pod a new block begins, so that pods added in order fill theirs.
    if (offset == kBlock && at + 1 == blocks_.size()) {
      blocks_.push_back(std::make_unique<Block>());
      blocks_changed(at + 1);
      ++at;
      offset = 0;
    } else {
      split(at);
      if (offset > kHalf) {
        ++at;
        offset -= kHalf;
      }
    }
  }
  Block& block = *blocks_[at];
  for (std::size_t i = block.count; i > offset; --i) {
    block.slots[i] = block.slots[i - 1];
    block.keys[i] = block.keys[i - 1];
  }
  ++block.count;
  block.slots[offset] = slot;
  block.keys[offset] = kClosed;
  const std::uint64_t low = block.marks & (bit(offset) - 1);
  block.marks = low | (((block.marks >> offset) << offset) << 1U);
  if (slot >= spots_.size()) {
    spots_.resize(slot + 1U);
  }
  reseat(block, offset);
  if (draws_) {
    spots_[slot].dense = static_cast<std::uint32_t>(size_);
    dense_.push_back(slot);
  }
  ++size_;
  starts_.clear();
}

void PodLine::split(std::size_t at) {
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at + 1), std::make_unique<Block>());
  Block& lower = *blocks_[at];
  Block& upper = *blocks_[at + 1];
  for (std::size_t i = kHalf; i < kBlock; ++i) {
    upper.slots[i - kHalf] = lower.slots[i];
    upper.keys[i - kHalf] = lower.keys[i];
    lower.keys[i] = kClosed;
  }
  upper.marks = lower.marks >> kHalf;
  lower.marks &= bit(kHalf) - 1;
  lower.count = kHalf;
  upper.count = kBlock - kHalf;
  reseat(upper, 0);
  blocks_changed(at);
}

// Appends the block behind `at` to it.
void PodLine::join(std::size_t at) {
  Block& block = *blocks_[at];
  const Block& next = *blocks_[at + 1];
  const std::uint32_t before = block.count;
  CHECK(before + next.count <= kBlock);
  for (std::size_t i = 0; i < next.count; ++i) {
    block.slots[before + i] = next.slots[i];
    block.keys[before + i] = next.keys[i];
  }
  block.marks |= before < kBlock ? next.marks << before : 0;
  block.count += next.count;
  reseat(block, before);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at + 1));
  blocks_changed(at);
}

// A pod has left block `at`. A short line is one block, and no two neighbours are nearly empty.
void PodLine::join_sparse(std::size_t at) {
  while (blocks_.size() > 1 && is_short()) {
    join(0);
  }
  if (blocks_.size() == 1) {
    if (blocks_[0]->count == 0) {
      blocks_.clear();
    }
    blocks_changed(0);
    return;
  }
  if (blocks_[at]->count == 0) {
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
    blocks_changed(at);
  } else if (at + 1 < blocks_.size() && blocks_[at]->count + blocks_[at + 1]->count <= kJoined) {
    join(at);
  } else if (at > 0 && blocks_[at - 1]->count + blocks_[at]->count <= kJoined) {
    join(at - 1);
  } else {
    show_marks(*blocks_[at]);
  }
}

// Blocks from `from` on stand elsewhere now.
void PodLine::blocks_changed(std::size_t from) {
  for (std::size_t rank = from; rank < blocks_.size(); ++rank) {
    blocks_[rank]->rank = static_cast<std::uint32_t>(rank);
  }
  marked_.assign((blocks_.size() + kBlock - 1) / kBlock, 0);
  for (const auto& block : blocks_) {
    show_marks(*block);
  }
  starts_.clear();
}

void PodLine::reseat(Block& block, std::size_t from) {
  for (std::size_t offset = from; offset < block.count; ++offset) {
    Spot& spot = spots_[block.slots[offset]];
    spot.block = &block;
    spot.offset = static_cast<std::uint32_t>(offset);
  }
}

void PodLine::show_marks(const Block& block) {
  std::uint64_t& word = marked_[block.rank / kBlock];
  const std::uint64_t own = bit(block.rank % kBlock);
  word = block.marks != 0 ? word | own : word & ~own;
}

std::size_t PodLine::block_of(std::size_t rank) {
  if (starts_.empty()) {
    starts_.reserve(blocks_.size());
    std::uint32_t start = 0;
    for (const auto& block : blocks_) {
      starts_.push_back(start);
      start += block->count;
    }
    turn_ = 0;
  }
  const bool same = starts_[turn_] <= rank && rank - starts_[turn_] < blocks_[turn_]->count;
  if (!same) {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), rank);
    turn_ = static_cast<std::size_t>(after - starts_.begin()) - 1;
  }
  return turn_;
}

std::optional<std::size_t> PodLine::marked_block(std::size_t from) const {
  std::size_t word = from / kBlock;
  if (word >= marked_.size()) {
    return std::nullopt;
  }
  std::uint64_t marks = (marked_[word] >> (from % kBlock)) << (from % kBlock);
  while (marks == 0) {
    if (++word == marked_.size()) {
      return std::nullopt;
    }
    marks = marked_[word];
  }
  return word * kBlock + first_bit(marks);
}

}  // namespace sluice::activator
