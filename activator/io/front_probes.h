#pragma once

#include "common/http/message.h"
#include "common/http/own_response.h"

#include <optional>
#include <string_view>

namespace sluice::activator {

/// The answer to a probe (activator.md 3, 14.4); nothing for ordinary traffic. `unready`: what
/// readiness is refused with, empty when there is nothing against it. Method and path do not
/// matter, but that path /livez is the liveness probe of the process.
[[nodiscard]] std::optional<http::OwnResponse> answer_probe(const http::RequestHead& head,
                                                            std::string_view unready);

}  // namespace sluice::activator
