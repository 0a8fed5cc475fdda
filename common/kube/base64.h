#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::kube {

/// Decodes standard base64, padded; blanks and line ends are passed over. Absent: it is none.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

/// Standard base64 with padding.
[[nodiscard]] std::string encode_base64(std::string_view bytes);

}  // namespace sluice::kube
