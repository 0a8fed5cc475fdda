#pragma once

#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/resources.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::placement {

/// The nodes of one place in 64 buckets by the binary logarithm of the share that they have free of
/// what is scarcest on them, so that a hole is found without a look at every node
/// (placement.md 5.2). What is scarcest, not what there is most of: a node without CPU is full,
/// however much memory it has. A bucket is a set of bits in the order of positions: what is found
/// depends on what is free, not on the order of past changes.
class NodeIndex {
 public:
  static constexpr std::size_t kBuckets = 64;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// Returns its position.
  [[nodiscard]] std::size_t add(NodeId node, const Resources& capacity);
  void remove(std::size_t position);
  /// After every change of what the node has free or whether it takes replicas; and once after add.
  void update(std::size_t position, const Resources& free, bool takes);

  /// In ascending order.
  [[nodiscard]] std::span<const NodeId> nodes() const { return nodes_; }

  /// How many of them take replicas.
  [[nodiscard]] std::size_t taking() const { return taking_; }

  /// No node below this bucket can hold `need`.
  [[nodiscard]] std::size_t lowest(const Resources& need) const;

  /// From this bucket on each node can hold it, if it has the resources that the first node had.
  [[nodiscard]] std::size_t safe(const Resources& need) const;

  /// A bit for each bucket that has a node.
  [[nodiscard]] std::uint64_t occupied() const { return occupied_; }

  /// The first position at or after `from` of a node in bucket `of`; kNone: there is none.
  [[nodiscard]] std::size_t next(std::size_t of, std::size_t from) const;

  [[nodiscard]] NodeId at(std::size_t position) const { return slots_[position].node; }

 private:
  static constexpr std::uint8_t kOut = 255;  // of a node that takes no replicas, or of none

  struct Slot {
    NodeId node{};
    std::uint8_t bucket = kOut;
  };

  struct Shares {
    Ppm least = 0;
    Ppm most = 0;
  };

  [[nodiscard]] Shares shares(const Resources& amount) const;
  void set(std::size_t of, std::size_t position);
  void clear(std::size_t of, std::size_t position);

  Resources reference_{};  // the capacity that shares are of: that of the first node
  std::vector<Slot> slots_;
  std::vector<NodeId> nodes_;
  std::vector<std::size_t> spare_;
  std::size_t taking_ = 0;
  // Of every 64 positions a word for each bucket; of every 64 words the same again.
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> summary_;
  std::array<std::uint32_t, kBuckets> sizes_{};
  std::uint64_t occupied_ = 0;
};

}  // namespace sluice::placement
