#pragma once

#include "activator/io/front_gateway.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::activator::testing {

/// A request without a network: notes what is called.
class Noted final : public net::Exchange {
 public:
  Noted(FrontGateway& gateway, TimePoint now) : gateway_{gateway} {
    state_ = gateway.make_state();
    arrived_ = now;
    head_.method = "GET";
    head_.target = "/";
  }

  void speak_grpc(std::string_view timeout) {
    head_.fields.add("content-type", "application/grpc");
    if (!timeout.empty()) head_.fields.add("grpc-timeout", timeout);
  }

  /// Names a revision by its host and path.
  void ask(std::string_view host, std::string_view path) {
    head_.fields.add("host", host);
    head_.target = path;
  }

  void begin() { gateway_.begin(*this); }

  /// The pod's answer; false when the gateway sent the request elsewhere instead.
  bool answer(int status, const std::vector<std::pair<std::string, std::string>>& fields) {
    http::ResponseHead head;
    head.status = status;
    for (const auto& [name, value] : fields) head.fields.add(name, value);
    std::string extra;
    if (gateway_.response(*this, head, extra) == net::ResponseVerdict::retried) return false;
    gateway_.end(*this, {.end = net::Outcome::End::answered, .status = status, .error = {}});
    where = "answered";
    return true;
  }

  bool says(const std::string& cause) { return answer(503, {{"Sluice-Error", cause}}); }

  void fail() {
    where = "failed";
    (void)gateway_.upstream_failed(*this, {.error = Error::upstream_connect, .text = {}});
  }

  [[nodiscard]] std::size_t memory() const override { return bytes; }

  [[nodiscard]] std::uint64_t moved() const override { return moved_bytes; }

  void set_timeouts(const net::Timeouts& /*timeouts*/) override {}

  void hold() override { where = "held"; }

  void forward(net::UpstreamPool& /*pool*/, const http::RequestRewrite& rewrite) override {
    where = rewrite.host;
  }

  void respond(const http::OwnResponse& response) override {
    where = std::to_string(response.status);
    gateway_.end(*this, {.end = net::Outcome::End::own, .status = response.status, .error = {}});
    if (on_respond) on_respond();
  }

  std::string where;  // the pod, or another result
  std::size_t bytes = 1000;
  std::uint64_t moved_bytes = 0;
  std::function<void()> on_respond;

 private:
  FrontGateway& gateway_;
};

}  // namespace sluice::activator::testing
