#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::injector {

/// The JSON patch that gives every webhook of a configuration the bundle; empty: each has it.
/// Absent: that is no such configuration. A step tests the webhook's name before, since the list
/// may have changed on the way.
[[nodiscard]] std::optional<std::string> bundle_patch(std::string_view configuration,
                                                      const std::string& bundle);

}  // namespace sluice::injector
