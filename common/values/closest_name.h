#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The name of `candidates` that `word` was probably meant to be: at most a third of it wrong.
[[nodiscard]] std::optional<std::string> closest_name(std::string_view word,
                                                      const std::vector<std::string>& candidates);

}  // namespace sluice
