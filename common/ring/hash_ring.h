#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::ring {

/// FNV-1a, 64 bits: the same number on every machine and in every build.
[[nodiscard]] std::uint64_t hash_of(std::string_view text);

/// Places on the ring, hence the most names it takes.
inline constexpr std::size_t kNamesMax = 2048;

/// Chooses `count` of `names` for `target` by consistent hashing (autoscaler.md 10.3): the same in
/// every program, and little changes when a name is added or removed. All of them when there are no
/// more than `count`; otherwise there are at most kNamesMax. Repeated names count once. Sorted.
[[nodiscard]] std::vector<std::string> choose_subset(std::vector<std::string> names,
                                                     std::size_t count, std::string_view target);

/// The bucket that owns `revision_key` ("namespace/name"); `buckets` is not empty.
[[nodiscard]] std::string bucket_owner(const std::vector<std::string>& buckets,
                                       std::string_view revision_key);

}  // namespace sluice::ring
