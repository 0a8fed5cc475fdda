#pragma once

#include "autoscaler/io/services_api.h"
#include "common/api/api_request.h"
#include "common/api/event_ring.h"

#include <string_view>

namespace sluice::local {

using api::Event;
using api::EventFilter;
using api::EventRing;
using api::Proof;
using autoscaler::ApiResult;
using autoscaler::LogQuery;
using autoscaler::ScaleBounds;
using autoscaler::ShutdownResult;
using autoscaler::Values;
using http::ApiProblem;

/// 404 for a path below which there is nothing.
[[nodiscard]] inline ApiProblem no_such_path(std::string_view path) {
  return http::no_such_path(path, "see GET /api/v1/services");
}

}  // namespace sluice::local
