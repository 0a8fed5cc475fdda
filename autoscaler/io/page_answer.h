#pragma once

#include "common/api/api_request.h"

#include <optional>

namespace sluice::autoscaler {

/// The answer for a file of the dashboard; nothing: the path is none of those, or the request does
/// not read. A client that has the file gets 304.
[[nodiscard]] std::optional<api::ApiAnswer> page_answer(const api::ApiRequest& request,
                                                        const http::ApiTarget& target);

}  // namespace sluice::autoscaler
