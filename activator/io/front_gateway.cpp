// The way of one request: found, held, sent, sent again, ended.

#include "activator/io/front_gateway.h"

#include "activator/core/grpc_timeout.h"
#include "activator/io/front_probes.h"
#include "activator/io/front_state.h"
#include "common/http/own_response.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

using http::Known;

namespace {

constexpr std::size_t kRetriesMax = 2;  // activator.md 14.5

// The revision's own timer answers first, with a text of its own; the queue only has to know that
// no request stays much longer.
constexpr Duration kTimerFirst = std::chrono::seconds{1};

// A request that takes more is charged for it from its beginning to its end; one that takes less
// only while it waits.
constexpr std::size_t kLargeRequest = 32 * 1024;

std::uint64_t cookie_of(net::Exchange& exchange) {
  return reinterpret_cast<std::uint64_t>(&exchange);
}

net::Exchange& exchange_of(std::uint64_t cookie) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): cookie_of made it of a pointer.
  return *reinterpret_cast<net::Exchange*>(cookie);
}

TimePoint deadline_of(const net::Exchange& exchange, const net::Timeouts& timeouts) {
  TimePoint deadline = kNever;
  if (timeouts.max && *timeouts.max < std::chrono::hours{24 * 365}) {
    deadline = exchange.arrived() + *timeouts.max + kTimerFirst;
  }
  const http::FieldList& fields = exchange.request().fields;
  if (fields.get(Known::content_type).starts_with("application/grpc")) {
    const auto limit = http::grpc_timeout(fields.find("grpc-timeout"));
    // Centuries are given by clients that mean no limit, and no moment stands for their end.
    if (limit && *limit < kNever - exchange.arrived()) {
      deadline = std::min(deadline, exchange.arrived() + *limit);
    }
  }
  return deadline;
}

// Of the sidecar, not of an application. A gRPC client is refused with status 200 and UNAVAILABLE.
bool is_refusal(const http::ResponseHead& head) {
  if (!head.fields.find(http::kSluiceErrorFrom).empty()) return false;
  return head.status == 503 || (head.status == 200 && head.fields.find("grpc-status") == "14");
}

}  // namespace

FrontGateway::State& FrontGateway::state_of(net::Exchange& exchange) {
  return static_cast<State&>(exchange.state());
}

std::unique_ptr<net::ExchangeState> FrontGateway::make_state() {
  return std::make_unique<State>();
}

void FrontGateway::begin_by(net::Exchange& exchange, Router& router) {
  state_of(exchange) = State{};
  if (auto answer = answer_probe(exchange.request(), unready_)) {
    ++counts_.probes;
    answer->extra.append(router.unrouted_fields(exchange.request().target));
    exchange.respond(*answer);
    return;
  }
  Routed routed = router.route(exchange);
  state_of(exchange).routed = true;
  const auto* const internal = std::get_if<InternalRoute>(&routed);
  if (internal != nullptr) state_of(exchange).fields = internal->fields;
  if (const auto* own = std::get_if<http::OwnResponse>(&routed)) {
    ++counts_.unrouted;
    exchange.respond(*own);
  } else if (exchange.request().method == "CONNECT") {
    http::OwnResponse refusal =
        http::response_for(Error::bad_request, "client sent unsupported CONNECT request\n");
    refusal.status = 502;
    exchange.respond(refusal);
  } else if (internal != nullptr) {
    http::RequestRewrite rewrite;
    rewrite.target = internal->target;
    exchange.forward(*internal->pool, rewrite);
  } else {
    const auto handle = std::get<RevisionHandle>(routed);
    state_of(exchange).behind_ingress = router.behind_ingress(handle);
    begin_for(exchange, handle);
  }
}

void FrontGateway::begin_for(net::Exchange& exchange, RevisionHandle handle) {
  Revision& revision = at(handle);
  State& state = state_of(exchange);
  const TimePoint now = exchange.arrived();
  state.revision = &revision;
  state.deadline = deadline_of(exchange, revision.timeouts);
  state.cold = revision.throttler.pods() == 0;
  ++revision.requests;
  ++requests_;
  exchange.set_timeouts(revision.timeouts);
  state.ignored = revision.ignore && revision.ignore->match(exchange.request());
  if (state.ignored) {
    ++counts_.ignored;
    enter(exchange, now);
    return;
  }
  const bool poke = reporter_.in(revision.reporter, now);
  enter(exchange, now);
  // Last, since the owner may start or dispatch in here, and this request may end meanwhile.
  if (poke) owner_.on_poke(handle, reporter_.poke(revision.reporter));
}

void FrontGateway::enter(net::Exchange& exchange, TimePoint now) {
  State& state = state_of(exchange);
  Revision& revision = *state.revision;
  if (state.ignored && revision.throttler.pods() == 0) return turn_away(exchange);
  if (const std::size_t bytes = exchange.memory(); bytes > kLargeRequest && !charge(state, bytes)) {
    return exchange.respond(http::response_for(Error::queue_full));
  }
  const Entered entered = revision.throttler.enter(
      Arrival{.cookie = cookie_of(exchange),
              .since = exchange.arrived(),
              .deadline = state.deadline,
              .tried = std::span<const PodRef>{state.tried.data(), state.tried_count}},
      now);
  switch (entered.entry) {
    case Entry::admitted:
      state.pod_ref = entered.pod;
      if (state.tried_count == 0) {
        counts_.wait[state.cold ? FrontCounts::cold : FrontCounts::warm].observe(0, 0);
      }
      send(exchange, now);
      return;
    case Entry::refused:
      exchange.respond(refusal_of(revision, entered.error, entered.retry_after));
      return;
    case Entry::queued:
      queue(exchange, entered.ticket, now);
      return;
  }
}

void FrontGateway::queue(net::Exchange& exchange, Ticket ticket, TimePoint now) {
  State& state = state_of(exchange);
  Revision& revision = *state.revision;
  if (!budget_.wait(revision.share)) {
    revision.throttler.cancel(ticket);
    exchange.respond(http::response_for(Error::queue_full));
    return;
  }
  exchange.hold();  // first, since it may give a buffer back
  if (!charge(state, exchange.memory())) {
    budget_.leave(revision.share);
    revision.throttler.cancel(ticket);
    exchange.respond(http::response_for(Error::queue_full));
    return;
  }
  state.queued = true;
  state.queued_at = now;
  state.ticket = ticket;
  if (state.ignored) {
    state.ignored_at = revision.ignored_waiting.size();
    revision.ignored_waiting.push_back(&exchange);
  }
  const std::int64_t ahead = revision.throttler.waiting() - 1;
  counts_.depth[state.cold ? FrontCounts::cold : FrontCounts::warm].observe(kDepths.find(ahead),
                                                                            ahead);
  schedule(revision);
  if (revision.throttler.pods() == 0) owner_.on_held(revision.handle);
}

// From now on the request is charged for `bytes` in all, or for what it was before: false.
bool FrontGateway::charge(State& state, std::size_t bytes) {
  const std::int64_t more = static_cast<std::int64_t>(bytes) - state.budget_bytes;
  if (more <= 0) return true;
  if (!budget_.take(state.revision->share, more)) return false;
  state.budget_bytes += more;
  return true;
}

void FrontGateway::discharge(State& state) {
  budget_.give_back(state.revision->share, state.budget_bytes);
  state.budget_bytes = 0;
}

void FrontGateway::grew(net::Exchange& exchange) {
  State& state = state_of(exchange);
  if (!state.queued || charge(state, exchange.memory())) return;
  Revision& revision = *state.revision;
  revision.throttler.cancel(state.ticket);
  leave_queue(exchange, state, clock_.now());
  schedule(revision);
  exchange.respond(http::response_for(Error::queue_full));
}

FrontGateway::Pod& FrontGateway::pod_of(Revision& revision, PodRef ref) {
  if (revision.by_slot.size() <= ref.slot) revision.by_slot.resize(ref.slot + 1U);
  auto& [known, pod] = revision.by_slot[ref.slot];
  if (known != ref || pod == nullptr) {
    known = ref;
    pod = revision.pods.at(revision.throttler.pod_id(ref)).get();
  }
  return *pod;
}

void FrontGateway::send(net::Exchange& exchange, TimePoint now) {
  State& state = state_of(exchange);
  Revision& revision = *state.revision;
  Pod& pod = pod_of(revision, state.pod_ref);
  join_pod(exchange, pod);
  state.reached = true;
  state.pod_full = false;
  if (pod.held) owner_.on_held_pod(revision.handle, pod.id);
  ++counts_.choices[static_cast<std::size_t>(revision.policy)];
  state.dispatched = now;
  http::RequestRewrite rewrite;
  rewrite.peer_ip = exchange.peer_ip();
  if (spec_.entrance) rewrite.proto = exchange.secure() ? "https" : "http";
  rewrite.host = pod.host;
  rewrite.as_activator = true;
  rewrite.original_host =
      state.behind_ingress ? http::OriginalHost::kept : http::OriginalHost::dropped;
  rewrite.passthrough_lb = spec_.pod_addressability;
  rewrite.drop_kubelet_probe = true;
  exchange.forward(pod.pool, rewrite);
}

void FrontGateway::dispatch(Revision& revision, const std::vector<Admission>& admitted) {
  if (admitted.empty()) return;
  const TimePoint now = clock_.now();
  for (const Admission& admission : admitted) {
    net::Exchange& exchange = exchange_of(admission.cookie);
    State& state = state_of(exchange);
    leave_queue(exchange, state, now);
    const auto waited = std::max<std::int64_t>(0, (now - state.queued_at).count());
    counts_.wait[state.cold ? FrontCounts::cold : FrontCounts::warm].observe(
        metrics::kSeconds.find(waited), waited);
    state.pod_ref = admission.pod;
    send(exchange, now);
  }
  schedule(revision);
}

void FrontGateway::dismiss(const std::vector<Dismissal>& dismissed,
                           const http::OwnResponse& response) {
  for (const Dismissal& dismissal : dismissed) {
    net::Exchange& exchange = exchange_of(dismissal.cookie);
    leave_queue(exchange, state_of(exchange), clock_.now());
    exchange.respond(response);
  }
}

void FrontGateway::hand_on(RevisionHandle from, RevisionHandle to) {
  Revision& old = at(from);
  Revision& next = at(to);
  // What that one has replaced and still runs follows too.
  for (const auto& revision : revisions_) {
    if (revision != nullptr && revision->successor == from) revision->successor = to;
  }
  old.successor = to;
  next.successor.reset();
  std::vector<Dismissal> waiting;
  old.throttler.fail_all(waiting);
  schedule(old);
  const TimePoint now = clock_.now();
  bool poke = false;
  for (const Dismissal& one : waiting) {
    net::Exchange& exchange = exchange_of(one.cookie);
    State& state = state_of(exchange);
    leave_queue(exchange, state, now);
    poke = move_to(exchange, next, now) || poke;
  }
  if (poke) owner_.on_poke(to, reporter_.poke(next.reporter));
}

// A request that neither waits nor runs enters another revision. Whether that one was idle.
bool FrontGateway::move_to(net::Exchange& exchange, Revision& next, TimePoint now) {
  State& state = state_of(exchange);
  Revision& old = *state.revision;
  discharge(state);
  --old.requests;
  ++next.requests;
  bool poke = false;
  if (!state.ignored) {
    reporter_.out(old.reporter, now);
    poke = reporter_.in(next.reporter, now);
  }
  state.revision = &next;
  state.deadline = deadline_of(exchange, next.timeouts);
  state.tried_count = 0;  // its pods are others
  exchange.set_timeouts(next.timeouts);
  enter(exchange, now);
  return poke;
}

FrontGateway::Revision* FrontGateway::successor_of(const Revision& revision) const {
  if (!revision.successor) return nullptr;
  const std::size_t index = index_of(*revision.successor);
  Revision* const next = index < revisions_.size() ? revisions_[index].get() : nullptr;
  return next != nullptr && next->handle == *revision.successor && !next->removed ? next : nullptr;
}

void FrontGateway::leave_queue(net::Exchange& exchange, State& state, TimePoint now) {
  state.queued = false;
  if (state.ignored) {
    std::vector<net::Exchange*>& waiting = state.revision->ignored_waiting;
    CHECK(waiting[state.ignored_at] == &exchange);
    state_of(*waiting.back()).ignored_at = state.ignored_at;
    waiting[state.ignored_at] = waiting.back();
    waiting.pop_back();
  }
  state.waited += std::max(Duration{0}, now - state.queued_at);
  budget_.leave(state.revision->share);
  if (state.budget_bytes <= static_cast<std::int64_t>(kLargeRequest)) discharge(state);
}

void FrontGateway::turn_away(net::Exchange& exchange) {
  state_of(exchange).asleep = true;
  http::OwnResponse response = http::response_for(
      Error::cannot_scale,
      "service is scaled to zero; this request matches an ignore rule and does not wake it\n");
  response.sluice_error = "asleep";
  exchange.respond(response);
}

void FrontGateway::join_pod(net::Exchange& exchange, Pod& pod) {
  State& state = state_of(exchange);
  state.pod = &pod;
  state.after = std::exchange(pod.first, &exchange);
  if (state.after != nullptr) state_of(*state.after).before = &exchange;
  ++pod.in_flight;
  ++pod.sent;
}

void FrontGateway::leave_pod(State& state, TimePoint now) {
  Revision& revision = *state.revision;
  Pod& pod = *state.pod;
  (state.before == nullptr ? pod.first : state_of(*state.before).after) = state.after;
  if (state.after != nullptr) state_of(*state.after).before = state.before;
  state.before = state.after = nullptr;
  state.pod = nullptr;
  --pod.in_flight;
  const bool drained = pod.removed && pod.in_flight == 0;
  const PodId id = drained ? pod.id : PodId{};
  std::vector<Admission> admitted;
  if (state.pod_full) {
    revision.throttler.leave_full(state.pod_ref, now + Throttler::kFullPause, admitted);
    schedule(revision);
  } else {
    revision.throttler.leave(state.pod_ref, admitted);
  }
  dispatch(revision, admitted);
  if (drained) owner_.on_pod_drained(revision.handle, id);
}

bool FrontGateway::may_retry(net::Exchange& exchange) const {
  const State& state = state_of(exchange);
  return state.pod != nullptr && !exchange.body_sent() && state.tried_count < kRetriesMax &&
         (!state.revision->removed || successor_of(*state.revision) != nullptr);
}

void FrontGateway::retry(net::Exchange& exchange, PodRefusal refusal) {
  State& state = state_of(exchange);
  ++counts_.retries[static_cast<std::size_t>(refusal)];
  // One that is full rests anyhow, and may be the only one left when another has gone.
  state.tried[state.tried_count++] = refusal == PodRefusal::full ? PodRef{} : state.pod_ref;
  const TimePoint now = clock_.now();
  leave_pod(state, now);
  Revision* const next = successor_of(*state.revision);
  if (next == nullptr) {
    // The owner may have removed it when its last pod was drained.
    if (state.revision->removed) return exchange.respond(http::response_for(Error::draining));
    return enter(exchange, now);
  }
  const bool poke = move_to(exchange, *next, now);
  if (poke) owner_.on_poke(next->handle, reporter_.poke(next->reporter));
}

bool FrontGateway::upstream_failed(net::Exchange& exchange, const net::ConnectFailure& failure) {
  const State& state = state_of(exchange);
  if (state.pod == nullptr) return false;
  const bool unbegun = failure.error == Error::upstream_connect || failure.unbegun;
  owner_.on_pod_refused(state.revision->handle, state.pod->id, PodRefusal::unreachable);
  if (!unbegun || !may_retry(exchange)) return false;
  retry(exchange, PodRefusal::unreachable);
  return true;
}

// A pod that is full is tried again only where another one may take the request: the sidecar's own
// queue has been waited in already, and waiting for the same pod would hide its refusal.
net::ResponseVerdict FrontGateway::response(net::Exchange& exchange, const http::ResponseHead& head,
                                            std::string& extra) {
  State& state = state_of(exchange);
  if (state.pod == nullptr) return net::ResponseVerdict::forward;
  Revision& revision = *state.revision;
  const std::string_view cause = head.fields.get(Known::sluice_error);
  if (!cause.empty() && is_refusal(head)) {
    if (cause.starts_with("draining")) {
      owner_.on_pod_refused(revision.handle, state.pod->id, PodRefusal::draining);
      if (may_retry(exchange)) {
        retry(exchange, PodRefusal::draining);
        return net::ResponseVerdict::retried;
      }
    } else if (cause.starts_with("queue-full")) {
      const bool shared = state.pod->shared;
      state.pod_full = !shared;
      owner_.on_pod_refused(revision.handle, state.pod->id, PodRefusal::full);
      if (may_retry(exchange) && (shared || revision.throttler.pods() > state.tried_count + 1)) {
        retry(exchange, PodRefusal::full);
        return net::ResponseVerdict::retried;
      }
    }
  }
  if (state.cold) {
    extra = owner_.cold_start(revision.handle, state.pod->id, exchange.arrived(), state.dispatched);
  }
  return net::ResponseVerdict::forward;
}

void FrontGateway::refused(net::Exchange& /*exchange*/, const net::Outcome& /*outcome*/) {
  ++counts_.unread;
}

void FrontGateway::explain(net::Exchange& exchange, http::OwnResponse& response) {
  std::string& sluice_error = response.sluice_error;
  const State& state = state_of(exchange);
  response.extra.append(state.routed ? state.fields
                                     : router_.unrouted_fields(exchange.request().target));
  if (state.revision != nullptr) {
    Duration waited = state.waited;
    if (state.queued) waited += clock_.now() - state.queued_at;
    const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
    sluice_error.append("; queued=").append(std::to_string(whole)).append("ms");
  }
  if (sluice_error.find("; at=") == std::string::npos) {
    sluice_error.append("; at=").append(place());
  }
}

void FrontGateway::end(net::Exchange& exchange, const net::Outcome& outcome) {
  State state = state_of(exchange);
  state_of(exchange) = State{};
  if (state.revision == nullptr) return;
  Revision& revision = *state.revision;
  const TimePoint now = clock_.now();
  if (!state.ignored) reporter_.out(revision.reporter, now);
  if (state.queued) {
    revision.throttler.cancel(state.ticket);
    leave_queue(exchange, state, now);
    schedule(revision);
  }
  discharge(state);
  owner_.on_served(revision.handle, {.head = exchange.request(),
                                     .client = exchange.peer_ip(),
                                     .took = now - exchange.arrived(),
                                     .outcome = outcome,
                                     .traffic = exchange.traffic(),
                                     .waited = state.waited,
                                     .cold = state.cold,
                                     .secure = exchange.secure(),
                                     .dispatched = state.reached,
                                     .asleep = state.asleep,
                                     .ignored = state.ignored,
                                     .pod = state.pod == nullptr ? nullptr : &state.pod->id});
  if (state.pod != nullptr) leave_pod(state, now);
  --revision.requests;
  --requests_;
}

}  // namespace sluice::activator
