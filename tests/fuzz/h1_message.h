#pragma once

#include "common/base/check.h"
#include "common/net/h1/h1_codec.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::fuzz {

/// Bytes of a fuzzer as text.
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are text here
  return {reinterpret_cast<const char*>(data), size};
}

/// What a parser has made of a whole input.
struct Reading {
  http::Fed::State state = http::Fed::State::need_more;
  std::size_t used = 0;
  std::string content;

  bool operator==(const Reading& other) const {
    // Where an error shows may depend on how the bytes were cut; that it shows may not.
    const bool whole = state == http::Fed::State::done;
    return state == other.state && (!whole || (used == other.used && content == other.content));
  }
};

/// Reads one message from `bytes`, of which at most `step` new ones arrive at a time.
template <class Parser, class Head>
Reading read_message(Parser& parser, Head& head, std::string_view bytes, std::size_t step) {
  using State = http::Fed::State;
  Reading reading;
  std::size_t given = 0;
  bool in_body = false;
  while (given < bytes.size() || in_body) {
    given = std::min(bytes.size(), given + step);
    const std::string_view window = bytes.substr(reading.used, given - reading.used);
    const http::Fed fed =
        in_body ? parser.feed_body(window, &reading.content) : parser.feed_head(window, head);
    CHECK(fed.used <= window.size());
    reading.used += fed.used;
    reading.state = fed.state;
    if (fed.state == State::bad || fed.state == State::too_large) return reading;
    if (fed.state == State::done) {
      if (in_body || parser.done()) return reading;
      in_body = true;
    } else if (given == bytes.size() && fed.used == 0) {
      return reading;
    }
  }
  return reading;
}

}  // namespace sluice::fuzz
