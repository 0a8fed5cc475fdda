#pragma once

#include "common/net/byte_buffer.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sluice::net {

/// What waits of one body between two HTTP/2 sessions: put by one, taken by the other. Grows as far
/// as it is filled; the windows of the sessions bound it.
class BodyQueue {
 public:
  [[nodiscard]] std::string_view data() const { return bytes_.data(); }

  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

  [[nodiscard]] std::size_t capacity() const { return bytes_.capacity(); }

  void put(std::string_view content) {
    if (content.empty()) return;
    if (bytes_.room() < content.size()) bytes_.compact();
    if (bytes_.room() < content.size()) {
      bytes_.reserve(std::max({kFirst, bytes_.capacity() * 2, bytes_.size() + content.size()}));
    }
    std::memcpy(bytes_.tail(), content.data(), content.size());
    bytes_.filled(content.size());
  }

  /// Returns how much of `room` it filled.
  [[nodiscard]] std::size_t take(char* to, std::size_t room) {
    const std::size_t size = std::min(room, bytes_.size());
    if (size == 0) return 0;  // an unused buffer has no address to copy from
    std::memcpy(to, bytes_.data().data(), size);
    bytes_.consume(size);
    return size;
  }

  /// Forgets what waits and gives back more memory than the next small body needs.
  void drop() {
    bytes_.consume(bytes_.size());
    if (bytes_.capacity() > kKept) bytes_.release();
  }

 private:
  static constexpr std::size_t kFirst = 4 * 1024;
  static constexpr std::size_t kKept = 16 * 1024;

  ByteBuffer bytes_;
};

}  // namespace sluice::net
