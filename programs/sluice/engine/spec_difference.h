#pragma once

#include "platform/process/service_spec.h"
#include <string>
#include <vector>

namespace sluice::local {

/// One key of a spec that two versions disagree on; empty text: absent.
struct SpecChange {
  std::string key;
  std::string before;
  std::string after;
};

/// The key of `spec.traffic`.
inline constexpr const char* kTrafficKey = "traffic";

/// What changes from `before` to `after`, in the order of one-machine.md 3. Values of environment
/// variables are not shown.
[[nodiscard]] std::vector<SpecChange> difference(const ServiceSpec& before,
                                                 const ServiceSpec& after);

}  // namespace sluice::local
