#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace sluice::reading {

/// What a JSON text may be. The bounds are looked at before it is parsed: the parser's own means to
/// do so cost quadratic time.
struct Bounds {
  /// None of its own: the text was bounded where it was read from a file or a connection.
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
  /// Pods nest some fifteen levels deep, schemas of custom resources twice that.
  int depth_max = 64;
  /// Keys of one object. An ordered one looks for each among all earlier ones.
  std::size_t keys_max = std::numeric_limits<std::size_t>::max();
  /// A key of the second level that is left out while the text is parsed.
  const char* left_out = nullptr;
};

/// Why a text was not parsed.
struct Flaw {
  enum class Kind : std::uint8_t { too_large, too_deep, too_wide, malformed, number_too_large };
  Kind kind;
  std::size_t byte = 0;  ///< where a malformed text ends to be JSON
};

/// Parses `text`, which must be one JSON value within `bounds`, into `document`; null after a flaw.
/// (No Result: a JSON value converts to anything, a Flaw included.)
[[nodiscard]] std::optional<Flaw> parse(std::string_view text, const Bounds& bounds,
                                        nlohmann::json& document);
[[nodiscard]] std::optional<Flaw> parse(std::string_view text, const Bounds& bounds,
                                        nlohmann::ordered_json& document);

/// The value that `text` is within the usual bounds; null when it is none.
[[nodiscard]] nlohmann::json parsed(std::string_view text);

}  // namespace sluice::reading
