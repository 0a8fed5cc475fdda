#pragma once

#include "activator/io/front_gateway.h"

#include <string>

namespace sluice::activator::testing {

/// What a sidecar says to a probe once its container is ready.
inline constexpr const char* kReady = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nqueue";

/// Knows no route.
class NoRoutes final : public Router {
 public:
  [[nodiscard]] Routed route(net::Exchange& /*exchange*/) override {
    return http::response_for(Error::no_route, "the main door\n");
  }
};

/// An owner of a front that ignores all events.
class IdleOwner : public FrontOwner {
 public:
  void on_poke(RevisionHandle /*revision*/, const RevisionStat& /*stat*/) override {}

  void on_held(RevisionHandle /*revision*/) override {}

  void on_pod_drained(RevisionHandle /*revision*/, const PodId& /*pod*/) override {}

  [[nodiscard]] std::string cold_start(RevisionHandle /*revision*/, const PodId& /*pod*/,
                                       TimePoint /*arrived*/, TimePoint /*dispatched*/) override {
    return {};
  }

  void on_served(RevisionHandle /*revision*/, const Served& /*served*/) override {}
};

}  // namespace sluice::activator::testing
