#pragma once

#include "autoscaler/core/cluster_config.h"
#include "autoscaler/core/scaling_spec.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace sluice::vectors {

/// The instant `item[key]` seconds after `epoch` (Unix seconds), to the nearest nanosecond.
[[nodiscard]] TimePoint instant(const nlohmann::json& item, std::string_view key,
                                std::int64_t epoch);

/// `item[key]` seconds.
[[nodiscard]] Duration seconds_of(const nlohmann::json& item, std::string_view key);

/// The length of a window or of its buckets: `item[key]` seconds, from one second to a day.
[[nodiscard]] Duration length_of(const nlohmann::json& item, std::string_view key);

/// A number, 0 when the key is absent.
[[nodiscard]] double number_or_zero(const nlohmann::json& item, std::string_view key);

/// A map of strings; an absent key or null is empty.
[[nodiscard]] autoscaler::StringMap strings(const nlohmann::json& item, std::string_view key);

[[nodiscard]] autoscaler::Reachability reachability(const nlohmann::json& item);

/// "ops[3]." and the like.
[[nodiscard]] std::string element(std::string_view list, std::size_t index);

}  // namespace sluice::vectors
