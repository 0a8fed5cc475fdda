#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::http {

/// The limits of a head in the words of Sluice-Error, the same whether a variable of the
/// environment or a key of `config.yaml` sets them.
inline constexpr std::string_view kHeaderBytesLimit = "limit=header-bytes";
inline constexpr std::string_view kHeaderFieldsLimit = "limit=header-fields";

/// What a parser made of the bytes it was given.
struct Fed {
  enum class State : std::uint8_t {
    need_more,  ///< valid so far; give the unused bytes again together with new ones
    done,       ///< the head, or for a body the whole message, is complete
    bad,        ///< not HTTP/1, or framed so that two readers could disagree
    too_large,  ///< the head is beyond one of its limits
  };

  State state = State::need_more;
  std::size_t used = 0;  ///< bytes that need not be given again
  /// With bad or too_large: what was wrong, or which limit was passed, in the words of Sluice-Error
  /// (`reason=bare-lf`, `limit=header-fields`). Text of static lifetime.
  std::string_view why;
  /// Bytes that need not be given again either, but are no part of what is passed on: chunk
  /// extensions, of a body that is relayed. Never together with `used`.
  std::size_t dropped = 0;
};

}  // namespace sluice::http
