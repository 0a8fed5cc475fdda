#include "common/http/header_block.h"

#include <cstring>

namespace sluice::http {
namespace {

// Eight letters at a time, none of them across a byte's border: bit 7 of a sum tells whether its
// byte is at least 'A', or past 'Z'.
std::uint64_t lowered(std::uint64_t word) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  constexpr std::uint64_t kHigh = kEach * 0x80;
  const std::uint64_t low = word & ~kHigh;
  const std::uint64_t from_a = low + kEach * (0x80 - 'A');
  const std::uint64_t past_z = low + kEach * (0x80 - 'Z' - 1);
  return word | (from_a & ~past_z & ~word & kHigh) >> 2;
}

void lower_word(char* place) {
  std::uint64_t word;
  std::memcpy(&word, place, sizeof word);
  word = lowered(word);
  std::memcpy(place, &word, sizeof word);
}

void lower(char* text, std::size_t size) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (size < kWord) {
    for (char* c = text; c != text + size; ++c) {
      if (*c >= 'A' && *c <= 'Z') *c = static_cast<char>(*c + 32);
    }
    return;
  }
  for (std::size_t at = 0; at + kWord < size; at += kWord) lower_word(text + at);
  lower_word(text + size - kWord);  // may meet the one before: lowering twice does no harm
}

}  // namespace

void HeaderBlock::clear() {
  text_.clear();
  slots_.clear();
}

void HeaderBlock::add(std::string_view name, std::string_view value) {
  begin(name);
  append(value);
}

void HeaderBlock::begin(std::string_view name) {
  slots_.push_back(
      {static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(name.size()), 0});
  text_.append(name);
  lower(text_.data() + text_.size() - name.size(), name.size());
}

void HeaderBlock::append(std::string_view part) {
  text_.append(part);
  slots_.back().value_size += static_cast<std::uint32_t>(part.size());
}

}  // namespace sluice::http
