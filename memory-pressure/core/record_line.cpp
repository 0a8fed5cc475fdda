#include "memory-pressure/core/record_line.h"

#include "common/values/whole_number.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace sluice::node_agent {
namespace {

constexpr std::size_t kChecksumDigits = 8;

/// CRC-32 (IEEE 802.3), bit by bit: lines are short and few.
std::uint32_t checksum(std::string_view text) {
  constexpr std::uint32_t kPolynomial = 0xEDB88320U;
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
  }
  return ~crc;
}

std::string hex(std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%08x", value);
  return text.data();
}

bool is_plain(char c) {
  return c > ' ' && c < 0x7f && c != '%';
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "%%%02x", static_cast<unsigned char>(c));
    out += code.data();
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto code = hex_number<std::uint8_t>(text.substr(i + 1, 2));
    if (!code || i + 2 >= text.size()) return std::nullopt;
    out += static_cast<char>(*code);
    i += 2;
  }
  return out;
}

std::string record_line(std::string_view body) {
  return hex(checksum(body)) + ' ' + std::string{body} + '\n';
}

Result<std::string_view, Problem> body_of(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.size() > kRecordLineMax) return Problem{"is too long", ""};
  if (line.size() < kChecksumDigits + 1 || line[kChecksumDigits] != ' ') {
    return Problem{"has no checksum", ""};
  }
  const std::string_view body = line.substr(kChecksumDigits + 1);
  if (line.substr(0, kChecksumDigits) != hex(checksum(body))) {
    return Problem{"has a wrong checksum", ""};
  }
  return body;
}

std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

}  // namespace sluice::node_agent
