#pragma once

#include "common/base/result.h"

#include <span>
#include <string>
#include <string_view>

namespace sluice::commands {

/// An installation in a cluster, as plain manifests of deploy/manifests.
struct Installation {
  std::string profile = "standard";
  std::string space = "sluice-system";  ///< the namespace everything lives in
  std::string registry = "sluice.dev";  ///< where images come from: REGISTRY/PROGRAM:VERSION
};

/// What the manifests were rendered with, replaced by what an Installation says.
inline constexpr std::string_view kRenderedSpace = "sluice-system";
inline constexpr std::string_view kRenderedRegistry = "sluice.dev";

/// One profile's manifests, as they were built in.
struct Manifest {
  std::string_view profile;
  std::string_view text;
};

[[nodiscard]] std::span<const Manifest> built_in_manifests();

/// The manifests, for `kubectl apply --server-side -f -`; a problem names the flag and what it
/// accepts.
[[nodiscard]] Result<std::string, Problem> install_text(const Installation& installation);

/// The names of the same objects, last made first gone, for `kubectl delete -f -`. `crds`: the
/// kinds too, and with them every object of theirs.
[[nodiscard]] Result<std::string, Problem> uninstall_text(const Installation& installation,
                                                          bool crds);

}  // namespace sluice::commands
