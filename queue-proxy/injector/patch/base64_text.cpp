#include "queue-proxy/injector/patch/base64_text.h"

#include <cstdint>

namespace sluice::injector {

std::string base64_text(std::string_view bytes) {
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

}  // namespace sluice::injector
