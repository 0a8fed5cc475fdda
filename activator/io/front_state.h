#pragma once

// Inside front_gateway: what it keeps of pods, revisions and requests.

#include "activator/io/front_gateway.h"

#include <array>
#include <unordered_map>

namespace sluice::activator {

struct FrontGateway::Pod {
  Pod(boost::asio::io_context& io, const FrontPod& spec, const net::UpstreamLimits& limits)
      : id{spec.id},
        host{spec.host.empty() ? spec.id.name : spec.host},
        pool{io, spec.address, limits, spec.tls},
        shared{spec.shared} {}

  PodId id;
  std::string host;
  net::UpstreamPool pool;
  bool shared;
  net::Exchange* first = nullptr;  // of the requests on it
  std::uint32_t in_flight = 0;
  std::uint64_t sent = 0;
  bool removed = false;
  bool held = false;
};

struct FrontGateway::Revision {
  Revision(RevisionHandle own, const FrontRevision& spec, RequestReporter::Handle reported)
      : handle{own},
        id{spec.id},
        timeouts{spec.timeouts},
        throttler{spec.throttler},
        reporter{reported},
        policy{
            spec.throttler.policy.value_or(default_policy(spec.throttler.container_concurrency))} {}

  RevisionHandle handle;
  RevisionId id;
  net::Timeouts timeouts;
  Throttler throttler;
  RequestReporter::Handle reporter;
  QueueShare share;  // of the budget
  BalancingPolicy policy;
  std::unordered_map<PodId, std::unique_ptr<Pod>> pods;
  std::vector<std::pair<PodRef, Pod*>> by_slot;  // what a PodRef meant last
  std::vector<std::unique_ptr<Pod>> leaving;     // removed, and not yet at rest
  std::shared_ptr<const ignore::Rules> ignore;
  std::vector<net::Exchange*> ignored_waiting;  // those in the queue that count for nothing
  std::unique_ptr<FrontGrant> grant;            // null: nothing was said
  std::optional<RevisionHandle> successor;      // has taken its place, and may be gone meanwhile
  std::int64_t requests = 0;                    // between begin and end
  bool removed = false;
};

struct FrontGateway::State final : net::ExchangeState {
  Revision* revision = nullptr;     // lives while any of its requests does
  Pod* pod = nullptr;               // likewise
  net::Exchange* before = nullptr;  // on the same pod
  net::Exchange* after = nullptr;
  PodRef pod_ref;
  Ticket ticket;
  std::array<PodRef, Throttler::kTriedMax> tried{};
  std::size_t tried_count = 0;
  std::int64_t budget_bytes = 0;  // as taken from the budget
  std::size_t ignored_at = 0;     // its place in ignored_waiting
  TimePoint deadline = kNever;    // of its wait
  TimePoint queued_at{};          // its present wait
  TimePoint dispatched{};
  Duration waited{0};
  std::string_view fields;  // of errors, when the request is for the program itself
  bool routed = false;
  bool queued = false;
  bool ignored = false;         // counts for nothing, wakes no pod
  bool asleep = false;          // and was answered 503 asleep
  bool cold = false;            // there was no pod when it came
  bool reached = false;         // a pod was chosen
  bool pod_full = false;        // the pod it runs on has said so
  bool behind_ingress = false;  // its K-Original-Host is honoured
};

}  // namespace sluice::activator
