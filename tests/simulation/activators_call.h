#pragma once

#include "activator/io/front_gateway.h"
#include "common/base/lifetime.h"
#include "common/net/server/exchange.h"
#include "common/time/time_point.h"
#include "tests/simulation/activators_ledger.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_pod.h"
#include "tests/simulation/activators_scene.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::simulation {

/// The pod that got a request.
class CallOwner {
 public:
  virtual ~CallOwner() = default;

  /// By its clock.
  [[nodiscard]] virtual TimePoint now() const = 0;

  /// Whether so many wait at all of its doors together that one more may be refused for that.
  [[nodiscard]] virtual bool queues_full() const = 0;

  /// The request has ended, and the call may go.
  virtual void gone(Ledger::Request request) = 0;
};

/// One request of a client at an activator, without a network: it does what the gateway decides,
/// meets simulated pods, and records each step before the gateway gets what follows.
class SimulatedCall final : public net::Exchange {
 public:
  struct Place {
    Scene& scene;
    Platform& platform;
    activator::FrontGateway& front;
    CallOwner& owner;
  };

  /// All of `place` outlives this.
  SimulatedCall(const Place& place, Ledger::Door door, const std::string& host);

  [[nodiscard]] Ledger::Request number() const { return request_; }

  void begin();

  [[nodiscard]] std::size_t memory() const override { return 1000; }

  void set_timeouts(const net::Timeouts& /*timeouts*/) override {}

  void hold() override;
  void forward(net::UpstreamPool& pool, const http::RequestRewrite& rewrite) override;
  void respond(const http::OwnResponse& response) override;

 private:
  void book_retry();
  void give_back();
  void reach_pod();
  void unreachable();
  void answered(PodAnswer answer);
  void turned_away(Reason reason, const char* cause);
  void broken();
  void give_up(Ending ending, Reason reason, net::Outcome::End end);
  void end(Ending ending, Reason reason, const net::Outcome& outcome);
  [[nodiscard]] Reason reason_of(const http::OwnResponse& response) const;

  /// Runs `action` after `wait`, unless the request has ended or was sent elsewhere by then.
  template <class Action>
  void on_this_attempt(Duration wait, Action action);

  Place place_;
  Ledger::Door door_;
  Ledger::Request request_;
  bool body_ = false;
  std::string dest_;           // of the pod that has it; empty: none
  std::uint64_t attempt_ = 0;  // how often it was sent
  bool refused_ = false;       // the pod has refused it, and the gateway is being informed
  bool only_full_ = false;     // because it was full
  bool over_ = false;
  Lifetime alive_;
};

}  // namespace sluice::simulation
