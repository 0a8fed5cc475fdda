#pragma once

#include <string>
#include <string_view>

namespace sluice::injector {

/// Standard base64 with padding.
[[nodiscard]] std::string base64_text(std::string_view bytes);

}  // namespace sluice::injector
