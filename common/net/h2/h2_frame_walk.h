#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::net {

/// Follows the frames of HTTP/2 in a stream of bytes by their headers (RFC 9113, 4.1), wherever the
/// bytes are cut, and looks into none.
class H2FrameWalk {
 public:
  struct Header {
    std::uint8_t type = 0;
    std::uint8_t flags = 0;
    std::int32_t stream = 0;
  };

  /// `before`: bytes that come before the first frame.
  explicit H2FrameWalk(std::size_t before) : left_{before} {}

  /// How many of `bytes` still belong to the frame whose header was read last.
  std::size_t skip(std::string_view bytes) {
    const std::size_t skipped = std::min(left_, bytes.size());
    left_ -= skipped;
    return skipped;
  }

  /// Reads on in the next header, to be called when nothing is left to skip; how many bytes it
  /// took.
  std::size_t read_header(std::string_view bytes) {
    const std::size_t taken = std::min(header_.size() - read_, bytes.size());
    for (std::size_t i = 0; i < taken; ++i) {
      header_[read_ + i] = static_cast<std::uint8_t>(bytes[i]);
    }
    read_ += taken;
    if (read_ < header_.size()) return taken;
    read_ = 0;
    left_ = std::size_t{header_[0]} << 16U | std::size_t{header_[1]} << 8U | header_[2];
    return taken;
  }

  /// Whether a header ended with the bytes read last.
  [[nodiscard]] bool whole() const { return read_ == 0; }

  /// That header.
  [[nodiscard]] Header header() const {
    const std::uint32_t stream = std::uint32_t{header_[5] & 0x7fU} << 24U |
                                 std::uint32_t{header_[6]} << 16U |
                                 std::uint32_t{header_[7]} << 8U | header_[8];
    return {header_[3], header_[4], static_cast<std::int32_t>(stream)};
  }

 private:
  std::array<std::uint8_t, 9> header_{};
  std::size_t read_ = 0;  // of it
  std::size_t left_;      // of the present frame
};

}  // namespace sluice::net
