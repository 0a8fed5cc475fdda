#pragma once

namespace sluice::local {

/// The program behind `sluice up --demo`: listens on $PORT and answers `/`, `/sleep?ms=`,
/// `/burn?ms=` and `/hold?mb=`, the last three costing time, CPU or memory. Runs until SIGTERM;
/// returns the exit code.
[[nodiscard]] int run_demo_app();

}  // namespace sluice::local
