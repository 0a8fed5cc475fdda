#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sluice::autoscaler {

/// Takes out of a status, an explanation or an event why a replica did not start, and what it
/// printed when it ended: it may name files of this machine or say what the program knows, which is
/// for the engine's own user. Returns whether there was any of it.
bool hide_failures(nlohmann::json& body);

}  // namespace sluice::autoscaler
