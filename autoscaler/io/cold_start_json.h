#pragma once

#include "common/messages/activator_stream.h"
#include "common/model/revision.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

namespace sluice::autoscaler {

/// Milliseconds with one decimal below ten, whole above.
[[nodiscard]] double rounded_ms(Duration duration);

/// The cold_start event of one-machine.md 7, of a start whose answer began at `at`.
[[nodiscard]] nlohmann::json cold_start_json(const model::Revision& of,
                                             const proto::ColdStart& start, TimePoint at);

}  // namespace sluice::autoscaler
