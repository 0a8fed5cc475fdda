#include "common/ring/hash_ring.h"

#include "common/base/check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>

namespace sluice::ring {
namespace {

constexpr std::uint64_t kUniverse = kNamesMax;

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return {digits.data(), end};
}

using Ring = std::map<std::uint64_t, const std::string*>;

Ring place(const std::vector<std::string>& names, std::string_view target) {
  Ring ring;
  for (const std::string& name : names) {
    std::string text = name + std::string{target};
    std::uint64_t hash = hash_of(text);
    while (ring.contains(hash % kUniverse)) {
      text += hex(hash);
      hash = hash_of(text);
    }
    ring.emplace(hash % kUniverse, &name);
  }
  return ring;
}

}  // namespace

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

std::vector<std::string> choose_subset(std::vector<std::string> names, std::size_t count,
                                       std::string_view target) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (count >= names.size()) return names;

  CHECK(names.size() <= kNamesMax);
  const Ring ring = place(names, target);
  std::uint64_t angle = hash_of(std::string{target} + "start-angle-salt") % kUniverse;
  const std::uint64_t step = hash_of(std::string{target} + "step-angle-salt") % kUniverse;
  const auto wrapped = [&ring](Ring::const_iterator at) {
    return at == ring.end() ? ring.begin() : at;
  };
  std::set<std::string> chosen;
  while (chosen.size() < count) {
    auto at = wrapped(ring.lower_bound(angle));
    while (!chosen.insert(*at->second).second) at = wrapped(std::next(at));
    angle = (angle + step) % kUniverse;
  }
  return {chosen.begin(), chosen.end()};
}

std::string bucket_owner(const std::vector<std::string>& buckets, std::string_view revision_key) {
  CHECK(!buckets.empty());
  return choose_subset(buckets, 1, revision_key).front();
}

}  // namespace sluice::ring
