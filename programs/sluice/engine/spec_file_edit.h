#pragma once

#include "common/base/result.h"

#include "platform/process/service_spec.h"
#include <filesystem>
#include <optional>
#include <string>

namespace sluice::local {

/// Writes `document` in place of the one that holds the service of `spec` in `file`, and changes
/// nothing else of the file, its permissions included. Where the document means another spec in the
/// file than `spec`, as with a relative working directory, the spec is written in full. A reader
/// sees the old file or the new one, whole.
[[nodiscard]] std::optional<Problem> write_into_file(const std::filesystem::path& file,
                                                     const ServiceSpec& spec,
                                                     const std::string& document,
                                                     const SpecDefaults& defaults);

}  // namespace sluice::local
