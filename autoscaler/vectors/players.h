#pragma once

#include "autoscaler/vectors/expect.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <string_view>

// One player per kind of file: it feeds a case to the product's own cores and says where they
// differ. No rule of the autoscaler is written down here. What a case cannot do without, or a value
// of the wrong type, throws, which the runner reports with the case's name.
namespace sluice::vectors {

void play_autoscaler(const nlohmann::json& item, Expect& expect);
void play_decider_status(const nlohmann::json& item, Expect& expect);
void play_final_scale(const nlohmann::json& item, Expect& expect);
void play_sampling(const nlohmann::json& item, Expect& expect);
void play_hashing(const nlohmann::json& item, Expect& expect);
void play_windows(const nlohmann::json& item, Expect& expect);
void play_max_window(const nlohmann::json& item, Expect& expect);
void play_request_stats(const nlohmann::json& item, Expect& expect);
void play_config_map(const nlohmann::json& item, Expect& expect);
void play_annotations(const nlohmann::json& item, Expect& expect);
void play_resolve(const nlohmann::json& item, Expect& expect);
void play_active_condition(const nlohmann::json& item, Expect& expect);
void play_scale_to_zero(const nlohmann::json& item, Expect& expect);

using Player = void (*)(const nlohmann::json& item, Expect& expect);

/// The player of a file's `kind`; null for an unknown one.
[[nodiscard]] Player player_for(std::string_view kind);

}  // namespace sluice::vectors
