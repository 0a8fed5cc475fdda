#pragma once

#include "activator/core/queue_budget.h"
#include "activator/core/request_reporter.h"
#include "activator/core/throttler.h"
#include "common/net/exchange.h"
#include "common/net/upstream_pool.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sluice::activator {

/// Names a revision of one FrontGateway; never used again after its removal.
enum class RevisionHandle : std::uint32_t {};

struct FrontRevision {
  RevisionId id;
  ThrottlerSpec throttler;
  net::Timeouts timeouts;
};

/// A pod that may take requests.
struct FrontPod {
  PodId id;
  net::Address address;
  bool avoid = false;
};

/// A request that is for the program itself: forwarded with another target.
struct InternalRoute {
  net::UpstreamPool* pool;  ///< the router's
  std::string target;
};

using Routed = std::variant<RevisionHandle, http::OwnResponse, InternalRoute>;

/// Finds the revision of a request.
class Router {
 public:
  virtual ~Router() = default;
  [[nodiscard]] virtual Routed route(const http::RequestHead& head) = 0;
};

/// One request that has ended, for whoever keeps figures.
struct Served {
  const http::RequestHead& head;
  std::string_view client;
  Duration took;
  net::Outcome outcome;
};

/// Hears what the autoscaler and the platform must know at once.
class FrontOwner {
 public:
  virtual ~FrontOwner() = default;

  /// The first request of an idle revision (activator.md 8.1): wake it now.
  virtual void on_poke(RevisionHandle revision, const RevisionStat& stat) = 0;

  /// A request waits and no pod exists.
  virtual void on_held(RevisionHandle revision) = 0;

  /// A removed pod has finished its last request.
  virtual void on_pod_drained(RevisionHandle revision, const PodId& pod) = 0;

  /// A request that had to wait for a pod gets its response: header lines to add, or nothing.
  [[nodiscard]] virtual std::string cold_start(RevisionHandle revision, TimePoint arrived,
                                               TimePoint dispatched) = 0;

  virtual void on_served(RevisionHandle revision, const Served& served) = 0;
};

/// The activator's data plane: finds the revision, holds, chooses the pod, retries safely, counts.
/// Belongs to one thread.
class FrontGateway final : public net::Gateway {
 public:
  /// `router` and `owner` outlive the gateway.
  FrontGateway(boost::asio::io_context& io, const Clock& clock, Router& router, FrontOwner& owner,
               const QueueBudgetSpec& budget);
  ~FrontGateway() override;

  [[nodiscard]] RevisionHandle add(const FrontRevision& revision);

  /// What waits is answered 503 draining; what runs ends in peace.
  void remove(RevisionHandle revision);

  /// The pods from now on; waiters are dispatched at once.
  void set_pods(RevisionHandle revision, std::span<const FrontPod> pods);

  /// Timers for requests from now on.
  void set_timeouts(RevisionHandle revision, const net::Timeouts& timeouts);

  /// Refuses who waits and, until `until`, whoever comes and would have to wait: replicas fail to
  /// start. Retry-After is the time left.
  void refuse_starts(RevisionHandle revision, TimePoint until);

  /// Answers everyone who waits with 503 draining.
  void refuse_waiting();

  /// The figures of the interval that ends now, one per revision that is not idle.
  void report(TimePoint now, std::vector<RevisionStat>& stats) { reporter_.report(now, stats); }

  [[nodiscard]] std::int32_t waiting(RevisionHandle revision) const;
  [[nodiscard]] std::int64_t in_flight(RevisionHandle revision) const;
  [[nodiscard]] std::uint32_t in_flight(RevisionHandle revision, const PodId& pod) const;

  /// Requests of all revisions between their begin and end, waiting ones included.
  [[nodiscard]] std::int64_t in_flight() const { return requests_; }

  /// Frees what removed pods and revisions left behind; call now and then.
  void sweep();

  [[nodiscard]] std::unique_ptr<net::ExchangeState> make_state() override;
  void begin(net::Exchange& exchange) override;
  bool upstream_failed(net::Exchange& exchange, const net::ConnectFailure& failure) override;
  net::ResponseVerdict response(net::Exchange& exchange, const http::ResponseHead& head,
                                std::string& extra) override;
  void end(net::Exchange& exchange, const net::Outcome& outcome) override;

  [[nodiscard]] std::string_view timeout_text() const override {
    return "activator request timeout";
  }

  [[nodiscard]] std::string_view place() const override { return "activator"; }

 private:
  struct State;
  struct Pod;
  struct Revision;

  static State& state_of(net::Exchange& exchange);
  [[nodiscard]] bool answer_probe(net::Exchange& exchange);
  void begin_for(net::Exchange& exchange, RevisionHandle handle);
  void enter(net::Exchange& exchange);
  void send(net::Exchange& exchange);
  void dispatch(const std::vector<Admission>& admitted);
  void dismiss(const std::vector<Dismissal>& dismissed, const http::OwnResponse& response);
  [[nodiscard]] bool retry(net::Exchange& exchange);
  void leave_pod(State& state);
  void leave_queue(State& state);
  void arm_expiry(Revision& revision);
  [[nodiscard]] Pod& pod_of(Revision& revision, PodRef ref);
  [[nodiscard]] Revision& at(RevisionHandle revision);
  [[nodiscard]] const Revision& at(RevisionHandle revision) const;

  boost::asio::io_context& io_;
  const Clock& clock_;
  Router& router_;
  FrontOwner& owner_;
  QueueBudget budget_;
  RequestReporter reporter_;
  std::map<RevisionHandle, std::unique_ptr<Revision>> revisions_;
  std::uint32_t next_handle_ = 1;
  std::int64_t requests_ = 0;
};

}  // namespace sluice::activator
