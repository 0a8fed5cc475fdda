#pragma once

#include "activator/core/queue_budget.h"
#include "activator/core/request_reporter.h"
#include "activator/core/throttler.h"
#include "activator/io/due_times.h"
#include "activator/io/front_counts.h"
#include "activator/io/pod_list.h"
#include "common/ignore/rules.h"
#include "common/loop/loop.h"
#include "common/net/server/exchange.h"
#include "common/net/upstream/upstream_pool.h"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::activator {

struct FrontRevision {
  RevisionId id;
  ThrottlerSpec throttler;
  net::Timeouts timeouts;
};

/// The autoscaler's answer on growth, and the answer to requests that cannot be served.
struct FrontGrant {
  Grant grant;
  Error error = Error::cannot_scale;  ///< or start_failed
  std::string reason = {};            ///< in Sluice-Error, as in no-capacity
  std::string detail = {};            ///< for people; empty: the usual text
  bool none_wanted = false;  ///< the autoscaler requests no replicas; `desired` 0 may be unknown
};

/// A request that is for the program itself: forwarded with another target.
struct InternalRoute {
  net::UpstreamPool* pool;  ///< the router's
  std::string target;
  /// Complete header lines, each with CRLF, of every error that is sent instead of the program's
  /// response; a text of static lifetime.
  std::string_view fields = {};
};

using Routed = std::variant<RevisionHandle, http::OwnResponse, InternalRoute>;

/// Finds the revision of a request.
class Router {
 public:
  virtual ~Router() = default;
  [[nodiscard]] virtual Routed route(net::Exchange& exchange) = 0;

  /// The same for the response to a request without a route: one that is refused unread, or a
  /// probe. `target` is as it came, and empty where none was read.
  [[nodiscard]] virtual std::string_view unrouted_fields(std::string_view /*target*/) const {
    return {};
  }

  /// Whether requests for `revision` come here through Knative's ingress: only then is the
  /// K-Original-Host that comes with a request not its client's (queue-proxy.md 15.21).
  [[nodiscard]] virtual bool behind_ingress(RevisionHandle /*revision*/) const { return false; }
};

/// One request that has ended, for statistics and logs.
struct Served {
  const http::RequestHead& head;
  std::string_view client;
  Duration took;
  net::Outcome outcome;
  net::Traffic traffic;
  Duration waited{0};          ///< of `took`, for a pod
  bool cold = false;           ///< there was no pod when it came
  bool secure = false;         ///< the client came over TLS
  bool dispatched = false;     ///< a pod was chosen
  bool asleep = false;         ///< it matched an ignore rule, and there was no pod
  bool ignored = false;        ///< it matched an ignore rule
  const PodId* pod = nullptr;  ///< that it was sent to last; null: to none
};

/// Gets the events that the autoscaler and the platform need at once.
class FrontOwner {
 public:
  virtual ~FrontOwner() = default;

  /// The first request of an idle revision (activator.md 8.1): wake it now.
  virtual void on_poke(RevisionHandle revision, const RevisionStat& stat) = 0;

  /// A request waits and no pod exists.
  virtual void on_held(RevisionHandle revision) = 0;

  /// A removed pod has finished its last request.
  virtual void on_pod_drained(RevisionHandle revision, const PodId& pod) = 0;

  /// A pod would not take a request. Not to change pods in here.
  virtual void on_pod_refused(RevisionHandle /*revision*/, const PodId& /*pod*/,
                              PodRefusal /*refusal*/) {}

  /// A request is about to be sent to a pod that hold_pod() said is held: it is let go in here.
  virtual void on_held_pod(RevisionHandle /*revision*/, const PodId& /*pod*/) {}

  /// A request that had to wait for a pod gets its response, from `pod`: header lines to add, or
  /// nothing.
  [[nodiscard]] virtual std::string cold_start(RevisionHandle revision, const PodId& pod,
                                               TimePoint arrived, TimePoint dispatched) = 0;

  virtual void on_served(RevisionHandle revision, const Served& served) = 0;
};

struct FrontSpec {
  QueueBudgetSpec queues;
  net::UpstreamLimits pods = {.idle_max = 100, .repeat_repeatable = false};
  std::size_t idle_max = 1000;      ///< connections kept idle to all pods together
  bool entrance = false;            ///< clients enter here: X-Forwarded-Proto is set
  bool pod_addressability = false;  ///< a header leads requests through a mesh to the dialled pod
};

/// The activator's data plane: finds the revision, holds, chooses the pod, retries safely, counts.
/// Belongs to one thread.
class FrontGateway final : public net::Gateway, public PodList {
 public:
  /// `io` is for the connections to pods. It, `clock`, `router` and `owner` outlive the gateway.
  FrontGateway(boost::asio::io_context& io, Loop& clock, Router& router, FrontOwner& owner,
               const FrontSpec& spec);
  ~FrontGateway() override;
  FrontGateway(const FrontGateway&) = delete;
  FrontGateway& operator=(const FrontGateway&) = delete;

  [[nodiscard]] RevisionHandle add(const FrontRevision& revision);

  /// What waits is answered with `waiting`; what runs ends in peace.
  void remove(RevisionHandle revision,
              const http::OwnResponse& waiting = http::response_for(Error::draining));

  /// What waits for `from` waits for `to` from now on, oldest first, with its timers as they run:
  /// for a revision that takes the place of another. What runs stays where it is; when its pod does
  /// not take it, it is sent again to a pod of `to`, or of the one that has taken the place of
  /// `to`.
  void hand_on(RevisionHandle from, RevisionHandle to);

  /// The pods from now on, all of them known and listed; waiters are dispatched at once.
  void set_pods(RevisionHandle revision, std::span<const FrontPod> pods);

  net::UpstreamPool& know_pod(RevisionHandle revision, const FrontPod& pod) override;
  [[nodiscard]] net::UpstreamPool* pool_of(RevisionHandle revision, const PodId& pod) override;
  void list_pod(RevisionHandle revision, const PodId& pod, bool avoid,
                std::int32_t capacity = 0) override;
  void unlist_pod(RevisionHandle revision, const PodId& pod) override;
  void forget_pod(RevisionHandle revision, const PodId& pod) override;
  void trust_pod(RevisionHandle revision, const PodId& pod) override;

  /// The processes of the pod are stopped from now on, or no more: on_held_pod() comes before the
  /// next request. For all revisions that have it, now or later.
  void hold_pod(const PodId& pod, bool held);

  /// Timers for requests from now on.
  void set_timeouts(RevisionHandle revision, const net::Timeouts& timeouts);

  void set_pod_limit(RevisionHandle revision, std::int32_t container_concurrency) override;

  /// Rules for requests that are not counted and wake no service; null: none. They take their
  /// places as all do, and without a pod get 503 asleep.
  void set_ignore(RevisionHandle revision, std::shared_ptr<const ignore::Rules> rules);

  /// What growth is possible (activator.md 14.3). Requests that no pod will serve end at once.
  void set_grant(RevisionHandle revision, const FrontGrant& grant);

  /// Answers every waiting request with 503 draining.
  void refuse_waiting();

  /// What readiness probes are answered from now on: 500 with this text, or 200 when it is empty
  /// (activator.md 3, 14.4).
  void set_unready(std::string text) { unready_ = std::move(text); }

  [[nodiscard]] const std::string& unready() const { return unready_; }

  /// The figures of the interval that ends now, one per revision that is not idle.
  void report(TimePoint now, std::vector<RevisionStat>& stats) { reporter_.report(now, stats); }

  /// One revision that is not idle, as the autoscaler and metrics see it. Who counts for nothing is
  /// not among the waiting ones, though the oldest may be one.
  struct Busy {
    RevisionHandle revision;
    const RevisionId& id;
    std::int32_t waiting = 0;
    std::int64_t running = 0;  ///< on pods
    std::optional<TimePoint> oldest;
  };

  /// Calls `visit` for each revision that has requests now.
  template <class Visit>
  void each_busy(Visit visit) const {
    for (const auto& revision : revisions_) {
      if (const auto busy = busy_of(revision.get())) visit(*busy);
    }
  }

  [[nodiscard]] const RevisionId& id_of(RevisionHandle revision) const override;
  [[nodiscard]] std::int32_t waiting(RevisionHandle revision) const;
  [[nodiscard]] std::optional<TimePoint> oldest_waiting(RevisionHandle revision) const;
  [[nodiscard]] std::int64_t in_flight(RevisionHandle revision) const;
  [[nodiscard]] std::uint32_t in_flight(RevisionHandle revision, const PodId& pod) const;

  /// Requests of the revision that the pod has been sent since it is known; 0: it is not.
  [[nodiscard]] std::uint64_t sent(RevisionHandle revision, const PodId& pod) const;

  /// Bytes that the requests on the pod have moved by now, either way: not the same a while later
  /// if one of them moves any, or has begun or ended meanwhile. Looks at each of them.
  [[nodiscard]] std::uint64_t moved(RevisionHandle revision, const PodId& pod) const;

  /// Pods that are listed.
  [[nodiscard]] std::size_t pods(RevisionHandle revision) const;

  /// Requests of all revisions between their begin and end, waiting ones included.
  [[nodiscard]] std::int64_t in_flight() const { return requests_; }

  [[nodiscard]] const QueueBudget& queued() const { return budget_; }

  [[nodiscard]] const FrontCounts& counts() const { return counts_; }

  /// Frees what removed pods and revisions left behind; call now and then.
  void sweep();

  [[nodiscard]] std::unique_ptr<net::ExchangeState> make_state() override;

  void begin(net::Exchange& exchange) override { begin_by(exchange, router_); }

  /// The same for a request whose revision `router` finds: probes are answered first here too.
  void begin_by(net::Exchange& exchange, Router& router);

  void grew(net::Exchange& exchange) override;
  bool upstream_failed(net::Exchange& exchange, const net::ConnectFailure& failure) override;
  net::ResponseVerdict response(net::Exchange& exchange, const http::ResponseHead& head,
                                std::string& extra) override;
  void end(net::Exchange& exchange, const net::Outcome& outcome) override;
  void refused(net::Exchange& exchange, const net::Outcome& outcome) override;
  void explain(net::Exchange& exchange, http::OwnResponse& response) override;

  [[nodiscard]] std::string_view timeout_text() const override {
    return "activator request timeout";
  }

  [[nodiscard]] std::string_view place() const override { return "activator"; }

 private:
  struct State;
  struct Pod;
  struct Revision;

  static State& state_of(net::Exchange& exchange);
  [[nodiscard]] std::optional<Busy> busy_of(const Revision* revision) const;
  void begin_for(net::Exchange& exchange, RevisionHandle handle);
  void enter(net::Exchange& exchange, TimePoint now);
  void queue(net::Exchange& exchange, Ticket ticket, TimePoint now);
  [[nodiscard]] bool charge(State& state, std::size_t bytes);
  void discharge(State& state);
  void send(net::Exchange& exchange, TimePoint now);
  void dispatch(Revision& revision, const std::vector<Admission>& admitted);
  void dismiss(const std::vector<Dismissal>& dismissed, const http::OwnResponse& response);
  [[nodiscard]] bool may_retry(net::Exchange& exchange) const;
  [[nodiscard]] bool move_to(net::Exchange& exchange, Revision& next, TimePoint now);
  [[nodiscard]] Revision* successor_of(const Revision& revision) const;
  void retry(net::Exchange& exchange, PodRefusal refusal);
  static void join_pod(net::Exchange& exchange, Pod& pod);
  void leave_pod(State& state, TimePoint now);
  void leave_queue(net::Exchange& exchange, State& state, TimePoint now);
  void turn_away(net::Exchange& exchange);
  void turn_away_without_pods(Revision& revision);
  void retire(Revision& revision, std::unique_ptr<Pod> pod);
  [[nodiscard]] static bool swept(Revision& revision);
  void schedule(Revision& revision);
  void on_due(Revision& revision, TimePoint now);
  [[nodiscard]] http::OwnResponse refusal_of(const Revision& revision, Error error,
                                             Duration retry_after) const;
  [[nodiscard]] Pod& pod_of(Revision& revision, PodRef ref);
  [[nodiscard]] Revision& at(RevisionHandle revision);
  [[nodiscard]] const Revision& at(RevisionHandle revision) const;

  boost::asio::io_context& io_;
  Loop& clock_;
  Router& router_;
  FrontOwner& owner_;
  FrontSpec spec_;
  QueueBudget budget_;
  net::IdleBudget idle_;
  RequestReporter reporter_;
  FrontCounts counts_;
  std::string unready_;
  std::vector<std::unique_ptr<Revision>> revisions_;  // by index
  std::vector<std::uint32_t> free_;                   // places in revisions_
  std::unordered_set<PodId> held_;                    // by hold_pod()
  std::uint32_t next_generation_ = 1;
  std::size_t unswept_ = 0;  // pods and revisions that are leaving
  DueTimes due_;             // of revisions, when a request's time is over, or a pause of a pod
  std::int64_t requests_ = 0;
};

}  // namespace sluice::activator
