#pragma once

#include "autoscaler/io/api_routes.h"
#include "common/base/result.h"

#include <optional>
#include <string>

namespace sluice::autoscaler {

/// Who may change something through the API: a client that sends the token in the file at
/// `token_file` (SLUICE_API_TOKEN_FILE), which is read again for each change; no client where it is
/// empty.
[[nodiscard]] ChangeRule change_rule(std::string token_file);

/// What is wrong with the token in that file now. Nothing, also where it is empty.
[[nodiscard]] std::optional<Problem> check_token_file(const std::string& token_file);

}  // namespace sluice::autoscaler
