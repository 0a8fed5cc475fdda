#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sluice::view {

/// `sluice explain`: why N (one-machine.md 2). `explained` is a decision of protocols.md 5 with
/// `inputs` {stable_window_s, panic_window_s, panic_threshold, breach, max_scale_up_rate, min, max,
/// mode_for_s, may_fall_at} and `keeps_awake` [{client, request, count}], all optional.
[[nodiscard]] std::string explain_text(const nlohmann::json& explained);

/// `sluice explain --awake`: only the requests that keep it awake, one line each.
[[nodiscard]] std::string awake_text(const nlohmann::json& explained);

/// `sluice explain --last-cold-start`: the six phases as a waterfall.
[[nodiscard]] std::string waterfall_text(const nlohmann::json& explained);

}  // namespace sluice::view
