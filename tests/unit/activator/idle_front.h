#pragma once

#include "activator/io/front_gateway.h"

#include <string>

namespace sluice::activator::testing {

/// How a sidecar answers a probe once its container is ready.
inline constexpr const char* kReady = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nqueue";

/// Knows no route.
class NoRoutes final : public Router {
 public:
  [[nodiscard]] Routed route(net::Exchange& /*exchange*/) override {
    return http::response_for(Error::no_route, "the main door\n");
  }
};

/// All requests are for one revision.
class OneRoute final : public Router {
 public:
  [[nodiscard]] Routed route(net::Exchange& /*exchange*/) override { return to; }

  RevisionHandle to{};
};

/// An owner of a front that counts the pokes and ignores all else that is reported to it.
class IdleOwner : public FrontOwner {
 public:
  void on_poke(RevisionHandle /*revision*/, const RevisionStat& /*stat*/) override { ++pokes; }

  void on_held(RevisionHandle /*revision*/) override {}

  void on_pod_drained(RevisionHandle /*revision*/, const PodId& /*pod*/) override {}

  [[nodiscard]] std::string cold_start(RevisionHandle /*revision*/, const PodId& /*pod*/,
                                       TimePoint /*arrived*/, TimePoint /*dispatched*/) override {
    return {};
  }

  void on_served(RevisionHandle /*revision*/, const Served& /*served*/) override {}

  int pokes = 0;
};

}  // namespace sluice::activator::testing
