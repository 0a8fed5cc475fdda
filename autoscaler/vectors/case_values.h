#pragma once

#include "common/scaling/cluster_config.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

// Reading a case. An absent key and a null mean zero, false or none; a value of the wrong type or
// out of range throws, which the runner reports with the case's name.
namespace sluice::vectors {

/// `item[key]`, null when it is absent.
[[nodiscard]] const nlohmann::json& value_of(const nlohmann::json& item, std::string_view key);

/// A list or an object that the case is made of; its absence is an error.
[[nodiscard]] const nlohmann::json& list_of(const nlohmann::json& item, std::string_view key);
[[nodiscard]] const nlohmann::json& object_of(const nlohmann::json& item, std::string_view key);

/// A number; the strings "NaN", "+Inf" and "-Inf" are numbers too.
[[nodiscard]] double number(const nlohmann::json& item, std::string_view key);

/// A whole number of 32 bits.
[[nodiscard]] std::int32_t count(const nlohmann::json& item, std::string_view key);

/// A whole number of 64 bits.
[[nodiscard]] std::int64_t long_count(const nlohmann::json& item, std::string_view key);

[[nodiscard]] bool flag(const nlohmann::json& item, std::string_view key);

[[nodiscard]] std::string text(const nlohmann::json& item, std::string_view key);

/// The instant `item[key]` seconds after `epoch` (Unix seconds), to the nearest nanosecond.
[[nodiscard]] TimePoint instant(const nlohmann::json& item, std::string_view key,
                                std::int64_t epoch);

/// `item[key]` seconds.
[[nodiscard]] Duration seconds_of(const nlohmann::json& item, std::string_view key);

/// The length of a window or of its buckets: `item[key]` seconds, from one second to a day.
[[nodiscard]] Duration length_of(const nlohmann::json& item, std::string_view key);

/// A map of strings.
[[nodiscard]] autoscaler::StringMap strings(const nlohmann::json& item, std::string_view key);

/// A list of strings.
[[nodiscard]] std::vector<std::string> names_of(const nlohmann::json& item, std::string_view key);

[[nodiscard]] autoscaler::Reachability reachability(const nlohmann::json& item);

/// The cluster's configuration of a case of `scale_to_zero`.
[[nodiscard]] autoscaler::ClusterConfig zero_config(const nlohmann::json& item);

/// "ops[3]." and the like.
[[nodiscard]] std::string element(std::string_view list, std::size_t index);

}  // namespace sluice::vectors
