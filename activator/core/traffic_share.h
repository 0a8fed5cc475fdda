#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::activator {

/// What one of several revisions gets of the requests of a host.
struct TrafficShare {
  std::int32_t weight = 0;  ///< against the weights of the others; 0: no request
  std::int64_t credit = 0;  ///< next_share()'s own
};

/// The place of the share that gets the next request: smooth weighted round robin, so that of as
/// many requests in a row as the weights add up to, each share gets exactly its weight, spread
/// evenly. `shares` is not empty; without any weight the first one gets the request.
[[nodiscard]] std::size_t next_share(std::span<TrafficShare> shares);

}  // namespace sluice::activator
