#pragma once

#include "autoscaler/io/time_text.h"

namespace sluice::local {

using autoscaler::format_clock;
using autoscaler::format_moment;
using autoscaler::format_time;
using autoscaler::parse_age;
using autoscaler::parse_moment;
using autoscaler::parse_moment_end;

}  // namespace sluice::local
