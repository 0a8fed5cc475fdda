#pragma once

#include "common/kube/access.h"
#include "common/kube/client.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::kube {

/// A whole request as it goes over the wire. Absent: the path would not be one.
[[nodiscard]] std::optional<std::string> request_text(const Access& access, std::string_view token,
                                                      const Request& request);

/// Whether a request may be sent again although the first may have taken effect: what it asks for
/// comes out the same. Not so for creations and JSON patches, nor for a replacement, whose version
/// would have passed and whose success would read as a conflict.
[[nodiscard]] bool is_repeatable(Verb verb);

/// The refusal that an answer other than 2xx is. `retry_after`: the header's text; empty: none.
[[nodiscard]] Failure refusal(int status, std::string_view retry_after, std::string_view body);

/// Whether the body of a 2xx answer begins as a JSON object.
[[nodiscard]] bool begins_as_json(std::string_view body);

}  // namespace sluice::kube
