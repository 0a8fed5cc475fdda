#pragma once

#include "common/base/result.h"
#include "common/kube/access.h"
#include "common/kube/exec_credential.h"
#include "common/time/clock.h"

#include <chrono>
#include <cstddef>
#include <stop_token>

namespace sluice::commands {

/// Bounds of a plugin of a kubeconfig.
struct PluginLimits {
  std::chrono::milliseconds time{120'000};  ///< a person may have to log in, in a browser
  std::size_t bytes_max = 1U << 20U;        ///< of what it prints
};

/// Runs a plugin, without a shell, and reads what it gives. `terminal`: it may ask the person at
/// the terminal where its kubeconfig has it do so. What it says on its standard error goes to ours.
/// One that takes too long, or is not needed any more, is killed. Blocks.
[[nodiscard]] Result<kube::ExecCredential, Problem> run_plugin(const kube::ExecPlugin& plugin,
                                                               bool terminal, const Clock& clock,
                                                               const PluginLimits& limits = {},
                                                               const std::stop_token& stop = {});

/// The access of the person who runs this, and how long what a plugin gave is good for.
struct PersonAccess {
  kube::Access access;
  std::optional<TimePoint> expires = {};
};

/// kube::find_access() for a person: a plugin of the kubeconfig is run for its credentials.
[[nodiscard]] Result<PersonAccess, Problem> access_of_person(const Clock& clock,
                                                             kube::AccessChoice choice = {});

}  // namespace sluice::commands
