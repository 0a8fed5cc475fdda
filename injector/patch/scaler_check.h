#pragma once

#include "common/base/result.h"

#include "injector/patch/json_access.h"
#include <vector>

namespace sluice::injector {

/// What the autoscaler would refuse among the settings of a RequestScaler, by its own rules: of its
/// annotations and of spec.autoscaling, which wins over them. Each names the key as it was written,
/// its value and what is accepted: all of them and in full, which may be more than a person reads.
/// What the cluster's configuration may allow is left to it.
[[nodiscard]] std::vector<Problem> check_scaler(const Json& scaler);

}  // namespace sluice::injector
