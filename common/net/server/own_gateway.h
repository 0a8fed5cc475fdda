#pragma once

#include "common/net/server/exchange.h"

#include <memory>
#include <string_view>

namespace sluice::net {

/// A gateway that answers everything itself: the small servers beside a program's main door.
class OwnGateway : public Gateway {
 public:
  /// `place`: the program named in Sluice-Error; a text of static lifetime.
  explicit OwnGateway(std::string_view place) : place_{place} {}

  [[nodiscard]] std::unique_ptr<ExchangeState> make_state() override {
    return std::make_unique<ExchangeState>();
  }

  bool upstream_failed(Exchange& /*exchange*/, const ConnectFailure& /*failure*/) override {
    return false;
  }

  ResponseVerdict response(Exchange& /*exchange*/, const http::ResponseHead& /*head*/,
                           std::string& /*extra*/) override {
    return ResponseVerdict::forward;
  }

  void end(Exchange& /*exchange*/, const Outcome& /*outcome*/) override {}

  [[nodiscard]] std::string_view timeout_text() const override { return "request timeout"; }

  [[nodiscard]] std::string_view place() const override { return place_; }

 private:
  std::string_view place_;
};

}  // namespace sluice::net
