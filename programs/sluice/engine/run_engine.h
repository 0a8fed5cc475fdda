#pragma once

#include "programs/sluice/commands/up_options.h"

namespace sluice::local {

/// `sluice up` after its flags are parsed: reads settings and specs, takes the lock, opens the
/// engine, prints in the chosen form, and serves until the end. Returns the
/// exit code: 0, 1, 78 (bad file, setting or program), 128 + n, or commands::kNameHeld without a
/// word when another engine holds the name.
[[nodiscard]] int run_engine(const commands::UpOptions& options);

}  // namespace sluice::local
