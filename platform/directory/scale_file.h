#pragma once

#include "common/base/ids.h"
#include "common/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::files {

/// `PATH/scale/<namespace>.<name>.json` (protocols.md 9): what should run, full desired state.
struct ScaleFile {
  std::uint64_t version = 0;  ///< grows with every change
  std::int32_t replicas = 0;
  std::vector<PodId> remove;  ///< may be stopped now, idlest first; names are unique

  friend bool operator==(const ScaleFile&, const ScaleFile&) = default;
};

/// A problem names the key and what is accepted, not the file: the caller has it.
[[nodiscard]] Result<ScaleFile, Problem> parse_scale_file(std::string_view text);

[[nodiscard]] std::string write_scale_file(const ScaleFile& file);

}  // namespace sluice::files
