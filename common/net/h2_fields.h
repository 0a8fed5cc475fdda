#pragma once

#include "common/http/header_block.h"

#include <nghttp2/nghttp2.h>

#include <string_view>
#include <vector>

namespace sluice::net {

/// A header block as nghttp2 takes it; copied by the session at once, so both may go then.
inline void to_fields(const http::HeaderBlock& block, std::vector<nghttp2_nv>& fields) {
  fields.clear();
  fields.reserve(block.size());
  for (std::size_t i = 0; i < block.size(); ++i) {
    const http::HeaderBlock::Entry entry = block.at(i);
    // nghttp2 takes mutable pointers and only reads through them.
    auto* name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(entry.name.data()));
    auto* value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(entry.value.data()));
    fields.push_back({name, value, entry.name.size(), entry.value.size(), NGHTTP2_NV_FLAG_NONE});
  }
}

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace sluice::net
