#pragma once

#include "common/http/header_block.h"

#include <array>
#include <cstdint>
#include <nghttp2/nghttp2.h>
#include <string_view>
#include <vector>

namespace sluice::net {

/// A header block as nghttp2 takes it; usable as long as the block stays as it is.
class H2Fields {
 public:
  /// Copied: the session copies names and values when they are submitted. Lent: it reads them from
  /// the block when the frame is packed; until then, or until the stream is reset or closed, the
  /// block must stay as it is.
  enum class Texts : std::uint8_t { copied, lent };

  H2Fields(const http::HeaderBlock& block, Texts texts) : size_{block.size()} {
    if (size_ > few_.size()) many_.resize(size_);
    const auto flags = static_cast<std::uint8_t>(
        texts == Texts::lent ? NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE
                             : NGHTTP2_NV_FLAG_NONE);
    nghttp2_nv* const fields = data();
    for (std::size_t i = 0; i < size_; ++i) {
      const http::HeaderBlock::Entry entry = block.at(i);
      // nghttp2 takes mutable pointers and only reads through them.
      auto* name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(entry.name.data()));
      auto* value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(entry.value.data()));
      fields[i] = {name, value, entry.name.size(), entry.value.size(), flags};
    }
  }

  [[nodiscard]] nghttp2_nv* data() { return many_.empty() ? few_.data() : many_.data(); }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::array<nghttp2_nv, 32> few_;  // most heads; the first size_ are set
  std::vector<nghttp2_nv> many_;
};

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace sluice::net
