#include "common/http/header_block.h"

namespace sluice::http {

void HeaderBlock::clear() {
  text_.clear();
  slots_.clear();
}

void HeaderBlock::add(std::string_view name, std::string_view value) {
  begin(name);
  append(value);
}

void HeaderBlock::begin(std::string_view name) {
  slots_.push_back({static_cast<std::uint32_t>(text_.size()),
                    static_cast<std::uint32_t>(name.size()), 0});
  for (const char c : name) text_ += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

void HeaderBlock::append(std::string_view part) {
  text_.append(part);
  slots_.back().value_size += static_cast<std::uint32_t>(part.size());
}

HeaderBlock::Entry HeaderBlock::at(std::size_t index) const {
  const Slot& slot = slots_[index];
  const std::string_view text{text_};
  return {text.substr(slot.begin, slot.name_size),
          text.substr(slot.begin + slot.name_size, slot.value_size)};
}

}  // namespace sluice::http
