#pragma once

#include "common/base/result.h"

#include "platform/process/service_spec.h"
#include <filesystem>
#include <optional>
#include <string>

namespace sluice::local {

/// Writes `document`, which is `spec` where `file` is, in place of the one that holds its service
/// in `file`, and changes nothing else of the file, its permissions included. A reader sees the old
/// file or the new one, whole.
[[nodiscard]] std::optional<Problem> write_into_file(const std::filesystem::path& file,
                                                     const ServiceSpec& spec,
                                                     const std::string& document,
                                                     const SpecDefaults& defaults);

/// Writes the traffic of `spec`, which is otherwise what `file` has of it, in place of the
/// `traffic:` of its document or as a new one, and changes nothing else. A document whose `spec:`
/// is not a block of lines is a problem.
[[nodiscard]] std::optional<Problem> write_traffic(const std::filesystem::path& file,
                                                   const ServiceSpec& spec,
                                                   const SpecDefaults& defaults);

}  // namespace sluice::local
