#include "common/base/check.h"
#include "common/http/h1_codec.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Goal: no bytes make the request parser read beyond them, go on for ever, or disagree with itself.
// Method: feed them whole, and again byte by byte; both ways must end in the same state.
namespace {

constexpr std::size_t kHeadBytesMax = 4096;

using sluice::http::Fed;

/// The state in which feeding `bytes`, at most `step` new ones at a time, ends.
Fed::State end_state(std::string_view bytes, std::size_t step) {
  sluice::http::RequestParser parser(kHeadBytesMax);
  sluice::http::RequestHead head;
  std::size_t used = 0;
  std::size_t given = 0;
  bool in_body = false;
  Fed fed;
  while (given < bytes.size() || in_body) {
    given = std::min(bytes.size(), given + step);
    const std::string_view window = bytes.substr(used, given - used);
    fed = in_body ? parser.feed_body(window, nullptr) : parser.feed_head(window, head);
    CHECK(fed.used <= window.size());
    used += fed.used;
    if (fed.state == Fed::State::bad || fed.state == Fed::State::too_large) return fed.state;
    if (in_body && fed.state == Fed::State::done) return fed.state;
    if (!in_body && fed.state == Fed::State::done) {
      if (parser.done()) return fed.state;
      in_body = true;
    } else if (given == bytes.size() && fed.used == 0) {
      return fed.state;
    }
  }
  return fed.state;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are text here
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CHECK(end_state(bytes, bytes.size() + 1) == end_state(bytes, 1));
  return 0;
}
