#include "common/base/clean_text.h"

#include "common/base/utf8.h"

namespace sluice {

bool misleads(std::uint32_t rune) {
  if (rune < 0x80) return (rune < 0x20 && rune != '\t') || rune == 0x7f;
  const auto within = [rune](std::uint32_t first, std::uint32_t last) {
    return rune >= first && rune <= last;
  };
  return within(0x80, 0x9f) ||      // C1
         rune == 0x061c ||          // Arabic letter mark
         within(0x200b, 0x200f) ||  // zero-width, and marks of direction
         within(0x2028, 0x202e) ||  // separators of lines and paragraphs, embeddings, overrides
         within(0x2060, 0x2069) ||  // word joiner, invisible operators, isolates
         rune == 0xfeff ||          // zero-width no-break space
         within(0xe0000, 0xe007f);  // tags
}

std::string clean_text(std::string_view text, char instead) {
  std::string out;
  out.reserve(text.size());
  append_clean(out, text, instead);
  return out;
}

void append_clean(std::string& out, std::string_view text, char instead) {
  while (!text.empty()) {
    const Rune rune = first_rune(text);
    if (!rune.valid || misleads(rune.value)) {
      out += instead;
    } else {
      out.append(text.substr(0, rune.size));
    }
    text.remove_prefix(rune.size);
  }
}

}  // namespace sluice
