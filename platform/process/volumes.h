#pragma once

#include "common/base/result.h"

#include "platform/process/service_spec.h"
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// Where a replica has what a program of it has mounted at `path`.
struct MountPlace {
  std::string path;
  std::string place;

  friend bool operator==(const MountPlace&, const MountPlace&) = default;
};

/// The places of `mounts` below `directory`, which is write_volumes()'s; deeper paths first.
[[nodiscard]] std::vector<MountPlace> places_of(const std::vector<VolumeMount>& mounts,
                                                const std::filesystem::path& directory);

/// `text` with each path of `places`, and each path below one, replaced. `/data` is not in
/// `/database` or in `/srv/data`.
[[nodiscard]] std::string at_places(std::string_view text, const std::vector<MountPlace>& places);

/// Makes `directory`, only for its owner, with one directory for each volume and its files in it.
/// A path with a sub path that is no file is made a directory.
[[nodiscard]] std::optional<Problem> write_volumes(const ServiceSpec& spec,
                                                   const std::filesystem::path& directory);

/// Removes `directory`, or of a large one as much as does not keep the caller for long. False: some
/// of it is left for another call.
[[nodiscard]] bool remove_some(const std::filesystem::path& directory);

}  // namespace sluice::local
