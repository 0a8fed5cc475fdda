#include "autoscaler/placement/core/node_index.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::placement {
namespace {

constexpr std::size_t kBits = 64;

constexpr std::uint64_t bit(std::size_t at) {
  return std::uint64_t{1} << (at % kBits);
}

// Of a word, what is at or after `at`.
constexpr std::uint64_t from_bit(std::uint64_t word, std::size_t at) {
  return word & ~(bit(at) - 1);
}

constexpr std::size_t first_bit(std::uint64_t word) {
  return static_cast<std::size_t>(std::countr_zero(word));
}

// Two buckets for each power of two, by the bit after the highest; a share has 30 bits at most.
std::size_t bucket(Ppm share) {
  const auto bits = static_cast<std::uint64_t>(share);
  if (bits == 0) return 0;
  const auto width = static_cast<std::size_t>(std::bit_width(bits));
  const bool upper = width > 1 && (bits & bit(width - 2)) != 0;
  return 2 * width + (upper ? 1U : 0U);
}

}  // namespace

std::size_t NodeIndex::add(NodeId node, const Resources& capacity) {
  if (nodes_.empty()) reference_ = capacity;
  nodes_.insert(std::lower_bound(nodes_.begin(), nodes_.end(), node), node);
  if (!spare_.empty()) {
    const std::size_t position = spare_.back();
    spare_.pop_back();
    slots_[position].node = node;
    return position;
  }
  const std::size_t position = slots_.size();
  slots_.push_back({.node = node});
  words_.resize((position / kBits + 1) * kBuckets);
  summary_.resize((position / kBits / kBits + 1) * kBuckets);
  return position;
}

void NodeIndex::remove(std::size_t position) {
  update(position, {}, false);
  const NodeId node = slots_[position].node;
  nodes_.erase(std::lower_bound(nodes_.begin(), nodes_.end(), node));
  spare_.push_back(position);
}

void NodeIndex::update(std::size_t position, const Resources& free, bool takes) {
  Slot& slot = slots_[position];
  const auto now = takes ? static_cast<std::uint8_t>(bucket(shares(free).least)) : kOut;
  if (now == slot.bucket) return;
  if (slot.bucket != kOut) clear(slot.bucket, position);
  slot.bucket = now;
  if (now != kOut) set(now, position);
}

// Of the resources that the reference bounds; one whole where it bounds none.
NodeIndex::Shares NodeIndex::shares(const Resources& amount) const {
  const std::array<std::pair<std::int64_t, std::int64_t>, 3> parts{
      {{amount.cpu, reference_.cpu},
       {amount.memory, reference_.memory},
       {amount.slots, reference_.slots}}};
  Shares found{.least = kWholesMax * kWhole, .most = 0};
  bool any = false;
  for (const auto& [part, whole] : parts) {
    if (whole >= kUnbounded) continue;
    const Ppm share = share_of(part, whole);
    found = {std::min(found.least, share), std::max(found.most, share)};
    any = true;
  }
  return any ? found : Shares{kWhole, kWhole};
}

std::size_t NodeIndex::lowest(const Resources& need) const {
  return bucket(shares(need).least);
}

std::size_t NodeIndex::safe(const Resources& need) const {
  return std::min(kBuckets - 1, bucket(shares(need).most) + 1);
}

std::size_t NodeIndex::next(std::size_t of, std::size_t from) const {
  std::size_t word = from / kBits;
  if (from >= slots_.size()) return kNone;
  const std::uint64_t here = from_bit(words_[word * kBuckets + of], from);
  if (here != 0) return word * kBits + first_bit(here);
  ++word;
  for (std::size_t group = word / kBits; group * kBuckets < summary_.size(); ++group) {
    std::uint64_t words = summary_[group * kBuckets + of];
    if (group == word / kBits) words = from_bit(words, word);
    if (words == 0) continue;
    const std::size_t found = group * kBits + first_bit(words);
    return found * kBits + first_bit(words_[found * kBuckets + of]);
  }
  return kNone;
}

void NodeIndex::set(std::size_t of, std::size_t position) {
  const std::size_t word = position / kBits;
  words_[word * kBuckets + of] |= bit(position);
  summary_[word / kBits * kBuckets + of] |= bit(word);
  ++taking_;
  if (++sizes_[of] == 1) occupied_ |= bit(of);
}

void NodeIndex::clear(std::size_t of, std::size_t position) {
  const std::size_t word = position / kBits;
  std::uint64_t& bits = words_[word * kBuckets + of];
  bits &= ~bit(position);
  if (bits == 0) summary_[word / kBits * kBuckets + of] &= ~bit(word);
  --taking_;
  if (--sizes_[of] == 0) occupied_ &= ~bit(of);
}

}  // namespace sluice::placement
