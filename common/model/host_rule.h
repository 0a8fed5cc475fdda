#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::model {

inline constexpr std::size_t kPathPrefixBytesMax = 1024;

/// Requests for `host` below `path_prefix`. The prefix stays when a request passes.
struct HostRule {
  std::string host;           ///< lower case, without port
  std::string path_prefix{};  ///< begins with `/` and has no `/` at its end; empty: every path

  friend bool operator==(const HostRule&, const HostRule&) = default;
};

/// `text` as HostRule::path_prefix: empty for "" and "/", without slashes at its end. Nothing when
/// it does not begin with a slash, is longer than kPathPrefixBytesMax, or holds `?`, `#` or what is
/// no visible ASCII character.
[[nodiscard]] std::optional<std::string> read_path_prefix(std::string_view text);

}  // namespace sluice::model
