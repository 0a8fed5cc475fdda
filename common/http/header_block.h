#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::http {

/// The fields of an HTTP/2 header block in their order, names in lower case, pseudo-header fields
/// first. Keeps its memory from block to block.
class HeaderBlock {
 public:
  struct Entry {
    std::string_view name;
    std::string_view value;
  };

  void clear();

  /// Copies both; the name is lowered.
  void add(std::string_view name, std::string_view value);

  /// The same with a value in parts: begin, any number of append, end.
  void begin(std::string_view name);
  void append(std::string_view part);

  void end() {}

  [[nodiscard]] bool empty() const { return slots_.empty(); }

  [[nodiscard]] std::size_t size() const { return slots_.size(); }

  [[nodiscard]] Entry at(std::size_t index) const {
    const Slot& slot = slots_[index];
    const char* const name = text_.data() + slot.begin;
    return {{name, slot.name_size}, {name + slot.name_size, slot.value_size}};
  }

 private:
  struct Slot {
    std::uint32_t begin;
    std::uint32_t name_size;
    std::uint32_t value_size;
  };

  std::string text_;
  std::vector<Slot> slots_;
};

}  // namespace sluice::http
