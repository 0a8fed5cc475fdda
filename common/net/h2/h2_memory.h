#pragma once

#include <array>
#include <cstddef>

namespace sluice::net {

/// Memory of one HTTP/2 session. A stream takes some fifteen small blocks and gives them all back;
/// they are kept by size for the streams that follow. What is kept is bounded, and trim gives it
/// back.
class H2Memory {
 public:
  H2Memory() = default;
  ~H2Memory();
  H2Memory(const H2Memory&) = delete;
  H2Memory& operator=(const H2Memory&) = delete;

  /// As malloc, free and realloc; null when there is no memory.
  [[nodiscard]] void* take(std::size_t size);
  void give(void* memory);
  [[nodiscard]] void* resize(void* memory, std::size_t size);

  /// Frees what is kept.
  void trim();

  /// Bytes kept for later.
  [[nodiscard]] std::size_t kept() const { return kept_; }

 private:
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kRows = 16;  // larger blocks are not kept

  /// In front of each block.
  struct alignas(std::max_align_t) Block {
    Block* next;       ///< of the kept ones of its row
    std::size_t size;  ///< of what follows it
  };

  std::array<Block*, kRows> rows_{};  // blocks of kStep, 2 * kStep, ...
  std::size_t kept_ = 0;
};

/// Gives the pages of freed memory back to the system, also those that lie between blocks in use.
/// Takes up to a millisecond for each few MiB: for when much has been freed at once.
void return_freed_pages();

}  // namespace sluice::net
