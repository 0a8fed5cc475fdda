#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sluice::http {

/// Sets of octets as RFC 9110 and RFC 9112 draw them, for loops over bytes.
class OctetSet {
 public:
  template <class Belongs>
  explicit constexpr OctetSet(Belongs belongs) {
    for (unsigned octet = 0; octet < 256; ++octet) member_[octet] = belongs(octet);
  }

  [[nodiscard]] constexpr bool has(char c) const { return member_[static_cast<unsigned char>(c)]; }

  /// Position of the first octet from `at` on that is not in the set, or the text's size.
  [[nodiscard]] constexpr std::size_t skip(std::string_view text, std::size_t at) const {
    while (at < text.size() && has(text[at])) ++at;
    return at;
  }

 private:
  std::array<bool, 256> member_{};
};

/// tchar: method and field names.
inline constexpr OctetSet kTokenOctets{[](unsigned octet) {
  const bool alphanumeric = (octet >= '0' && octet <= '9') || (octet >= 'a' && octet <= 'z') ||
                            (octet >= 'A' && octet <= 'Z');
  return alphanumeric || (octet != 0 && octet < 128 &&
                          std::string_view{"!#$%&'*+-.^_`|~"}.find(static_cast<char>(octet)) !=
                              std::string_view::npos);
}};

/// What a line may contain at all: tabs, visible characters, spaces, and octets beyond ASCII.
inline constexpr OctetSet kLineOctets{
    [](unsigned octet) { return octet == '\t' || (octet >= 0x20 && octet != 0x7f); }};

/// kLineOctets.skip, eight octets at a time: a head consists of little else.
[[nodiscard]] inline std::size_t skip_line_octets(std::string_view text, std::size_t at) {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x80 * kOnes;
  while (at + 8 <= text.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    // In each octet: below a space, or DEL. Octets beyond ASCII are neither. A borrow can mark an
    // octet wrongly, but only behind one that is marked rightly.
    const std::uint64_t low = word - 0x20 * kOnes;
    const std::uint64_t del = (word ^ (0x7f * kOnes)) - kOnes;
    const std::uint64_t marked = (low | del) & ~word & kHighs;
    if (marked == 0) {
      at += 8;
      continue;
    }
    if constexpr (std::endian::native != std::endian::little) break;
    at += static_cast<std::size_t>(std::countr_zero(marked)) / 8;
    if (text[at] != '\t') return at;
    ++at;
  }
  return kLineOctets.skip(text, at);
}

/// What a request target may contain. Octets beyond ASCII and the characters that RFC 3986 requires
/// encoded are passed, since clients send them raw and every reader takes them for themselves;
/// a fragment is not, because one reader keeps it in the path and another cuts it off.
inline constexpr OctetSet kTargetOctets{
    [](unsigned octet) { return octet > 0x20 && octet != 0x7f && octet != '#'; }};

}  // namespace sluice::http
