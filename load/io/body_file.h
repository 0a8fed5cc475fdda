#pragma once

#include "common/base/result.h"

#include <string>

namespace sluice::loadgen {

/// The bytes of a body from a file, at most kBodyBytesMax.
[[nodiscard]] Result<std::string, Problem> read_body_file(const std::string& path);

}  // namespace sluice::loadgen
