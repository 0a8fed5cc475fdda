#include "common/kube/base64.h"

#include <cstdint>

namespace sluice::kube {
namespace {

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int digits = 0;  // of the group of four that is being read
  int padding = 0;
  for (const char c : text) {
    if (is_blank(c)) continue;
    const int value = c == '=' ? 0 : value_of(c);
    if (c == '=') ++padding;
    if (value < 0 || (padding > 0 && c != '=') || padding > 2) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    if (++digits < 4) continue;
    for (int i = 0; i < 3 - padding; ++i) {
      out += static_cast<char>(bits >> static_cast<unsigned>(16 - 8 * i) & 0xFFU);
    }
    bits = 0;
    digits = 0;
  }
  if (digits != 0) return std::nullopt;
  return out;
}

std::string encode_base64(std::string_view bytes) {
  constexpr std::string_view kSigns =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t next = at; next < at + 3; ++next) {
      group = (group << 8U) | (next < bytes.size() ? static_cast<unsigned char>(bytes[next]) : 0U);
    }
    for (std::size_t sign = 0; sign < 4; ++sign) {
      const bool there = at + sign <= bytes.size();
      text += there ? kSigns[(group >> (18U - 6U * sign)) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace sluice::kube
