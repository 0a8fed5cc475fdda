#include "activator/io/front_gateway.h"

#include "common/http/probe.h"

#include <algorithm>
#include <unordered_map>

namespace sluice::activator {

using http::Known;

namespace {

constexpr std::size_t kRetriesMax = 2;  // activator.md 14.5

net::UpstreamLimits pod_limits() {
  net::UpstreamLimits limits;
  limits.idle_max = 100;
  limits.repeat_repeatable = false;
  return limits;
}

std::uint64_t cookie_of(net::Exchange& exchange) {
  return reinterpret_cast<std::uint64_t>(&exchange);
}

net::Exchange& exchange_of(std::uint64_t cookie) {
  return *reinterpret_cast<net::Exchange*>(cookie);
}

http::OwnResponse start_failed(Duration left) {
  http::OwnResponse response = http::response_for(Error::start_failed);
  const double seconds = to_seconds(left);
  response.retry_after_s = std::max(1, static_cast<int>(seconds) + 1);
  return response;
}

}  // namespace

struct FrontGateway::Pod {
  PodId id;
  net::UpstreamPool pool;
  std::uint32_t in_flight = 0;
  bool removed = false;
};

struct FrontGateway::Revision {
  Revision(RevisionHandle own, const FrontRevision& spec, RequestReporter::Handle reported,
           boost::asio::io_context& io)
      : handle{own},
        id{spec.id},
        timeouts{spec.timeouts},
        throttler{spec.throttler},
        reporter{reported},
        expiry_timer{io} {}

  RevisionHandle handle;
  RevisionId id;
  net::Timeouts timeouts;
  Throttler throttler;
  RequestReporter::Handle reporter;
  std::unordered_map<PodId, std::unique_ptr<Pod>> pods;
  std::vector<std::pair<PodRef, Pod*>> by_slot;  // what a PodRef meant last
  std::vector<std::unique_ptr<Pod>> leaving;     // removed, and not yet at rest
  boost::asio::steady_timer expiry_timer;
  std::optional<TimePoint> refused_until;
  std::int64_t requests = 0;  // between begin and end
  bool expiry_armed = false;
  bool removed = false;
};

struct FrontGateway::State final : net::ExchangeState {
  Revision* revision = nullptr;  // lives while any of its requests does
  Pod* pod = nullptr;            // likewise
  PodRef pod_ref;
  Ticket ticket;
  std::array<PodRef, Throttler::kTriedMax> tried{};
  std::size_t tried_count = 0;
  std::int64_t budget_bytes = 0;
  TimePoint dispatched{};
  bool queued = false;
  bool waited_for_pod = false;
};

FrontGateway::FrontGateway(boost::asio::io_context& io, const Clock& clock, Router& router,
                           FrontOwner& owner, const QueueBudgetSpec& budget)
    : io_{io}, clock_{clock}, router_{router}, owner_{owner}, budget_{budget} {}

FrontGateway::~FrontGateway() = default;

FrontGateway::Revision& FrontGateway::at(RevisionHandle revision) {
  return *revisions_.at(revision);
}

const FrontGateway::Revision& FrontGateway::at(RevisionHandle revision) const {
  return *revisions_.at(revision);
}

FrontGateway::State& FrontGateway::state_of(net::Exchange& exchange) {
  return static_cast<State&>(exchange.state());
}

std::unique_ptr<net::ExchangeState> FrontGateway::make_state() { return std::make_unique<State>(); }

RevisionHandle FrontGateway::add(const FrontRevision& revision) {
  const RevisionHandle handle{next_handle_++};
  revisions_.emplace(handle, std::make_unique<Revision>(handle, revision,
                                                        reporter_.open(revision.id), io_));
  return handle;
}

void FrontGateway::remove(RevisionHandle handle) {
  Revision& revision = at(handle);
  set_pods(handle, {});
  revision.removed = true;
  revision.expiry_timer.cancel();
  std::vector<Dismissal> dismissed;
  revision.throttler.fail_all(dismissed);
  dismiss(dismissed, http::response_for(Error::draining));
  reporter_.close(revision.reporter);
  sweep();
}

void FrontGateway::set_pods(RevisionHandle handle, std::span<const FrontPod> pods) {
  Revision& revision = at(handle);
  std::vector<PodState> states;
  states.reserve(pods.size());
  for (auto& [id, pod] : revision.pods) pod->removed = true;
  for (const FrontPod& wanted : pods) {
    states.push_back({wanted.id, wanted.avoid, 0});
    auto& pod = revision.pods[wanted.id];
    if (!pod) {
      pod.reset(new Pod{wanted.id, {io_, wanted.address, pod_limits()}, 0, false});
    }
    pod->removed = false;
  }
  if (!pods.empty()) revision.refused_until.reset();
  std::vector<Admission> admitted;
  revision.throttler.set_pods(states, admitted);
  dispatch(admitted);
  for (auto next = revision.pods.begin(); next != revision.pods.end();) {
    if (!next->second->removed) {
      ++next;
      continue;
    }
    next->second->pool.close();
    revision.leaving.push_back(std::move(next->second));
    next = revision.pods.erase(next);
  }
}

void FrontGateway::set_timeouts(RevisionHandle revision, const net::Timeouts& timeouts) {
  at(revision).timeouts = timeouts;
}

void FrontGateway::refuse_starts(RevisionHandle handle, TimePoint until) {
  Revision& revision = at(handle);
  revision.refused_until = until;
  std::vector<Dismissal> dismissed;
  revision.throttler.fail_all(dismissed);
  dismiss(dismissed, start_failed(until - clock_.now()));
}

void FrontGateway::refuse_waiting() {
  for (const auto& [handle, revision] : revisions_) {
    std::vector<Dismissal> dismissed;
    revision->throttler.fail_all(dismissed);
    dismiss(dismissed, http::response_for(Error::draining));
  }
}

std::int32_t FrontGateway::waiting(RevisionHandle revision) const {
  return at(revision).throttler.waiting();
}

std::int64_t FrontGateway::in_flight(RevisionHandle revision) const {
  return at(revision).throttler.in_flight();
}

std::uint32_t FrontGateway::in_flight(RevisionHandle handle, const PodId& id) const {
  const Revision& revision = at(handle);
  if (const auto found = revision.pods.find(id); found != revision.pods.end()) {
    return found->second->in_flight;
  }
  for (const auto& pod : revision.leaving) {
    if (pod->id == id && pod->in_flight > 0) return pod->in_flight;
  }
  return 0;
}

void FrontGateway::sweep() {
  for (auto next = revisions_.begin(); next != revisions_.end();) {
    Revision& revision = *next->second;
    std::erase_if(revision.leaving, [&revision](const std::unique_ptr<Pod>& pod) {
      if (pod->in_flight > 0 || !pod->pool.at_rest()) return false;
      for (auto& [ref, cached] : revision.by_slot) {
        if (cached == pod.get()) cached = nullptr;
      }
      return true;
    });
    const bool over = revision.removed && revision.requests == 0 && revision.leaving.empty() &&
                      !revision.expiry_armed;
    next = over ? revisions_.erase(next) : std::next(next);
  }
}

// Probes are told from traffic as activator.md 3 says; method and path do not matter.
bool FrontGateway::answer_probe(net::Exchange& exchange) {
  const http::FieldList& fields = exchange.request().fields;
  if (fields.get(Known::user_agent).starts_with("kube-probe/")) {
    exchange.respond(http::plain_response(200, ""));
    return true;
  }
  const std::string_view probe = fields.get(Known::k_network_probe);
  if (probe.empty()) return false;
  if (probe == "probe") {
    const http::ProbeAnswer answer = http::network_answer(exchange.request(), false);
    http::OwnResponse response = http::plain_response(answer.status, answer.body);
    if (!answer.hash.empty()) response.extra = "K-Network-Hash: " + answer.hash + "\r\n";
    exchange.respond(response);
  } else if (probe == "activator") {
    exchange.respond(http::plain_response(200, "activator"));
  } else {
    exchange.respond(http::plain_response(
        400, "unexpected probe header value: \"" + std::string{probe} + "\"\n"));
  }
  return true;
}

void FrontGateway::begin(net::Exchange& exchange) {
  state_of(exchange) = State{};
  if (exchange.request().method == "CONNECT") {
    http::OwnResponse refusal =
        http::response_for(Error::bad_request, "CONNECT is not supported\n");
    refusal.status = 405;
    exchange.respond(refusal);
    return;
  }
  if (answer_probe(exchange)) return;
  Routed routed = router_.route(exchange.request());
  if (const auto* own = std::get_if<http::OwnResponse>(&routed)) {
    exchange.respond(*own);
  } else if (const auto* internal = std::get_if<InternalRoute>(&routed)) {
    http::RequestRewrite rewrite;
    rewrite.target = internal->target;
    exchange.forward(*internal->pool, rewrite);
  } else {
    begin_for(exchange, std::get<RevisionHandle>(routed));
  }
}

void FrontGateway::begin_for(net::Exchange& exchange, RevisionHandle handle) {
  Revision& revision = at(handle);
  State& state = state_of(exchange);
  const TimePoint now = exchange.arrived();
  state.revision = &revision;
  ++revision.requests;
  ++requests_;
  exchange.set_timeouts(revision.timeouts);
  const bool poke = reporter_.in(revision.reporter, now);
  if (revision.refused_until && revision.throttler.pods() == 0 && now < *revision.refused_until) {
    exchange.respond(start_failed(*revision.refused_until - now));
    return;
  }
  enter(exchange);
  // Last, since the owner may start or dispatch in here, and this request may end meanwhile.
  const RevisionHandle named = revision.handle;
  if (poke) owner_.on_poke(named, reporter_.poke(revision.reporter));
}

void FrontGateway::enter(net::Exchange& exchange) {
  State& state = state_of(exchange);
  Revision& revision = *state.revision;
  const auto entered =
      revision.throttler.enter(exchange.arrived(), cookie_of(exchange),
                               std::span<const PodRef>{state.tried.data(), state.tried_count});
  switch (entered.entry) {
    case Entry::admitted:
      state.pod_ref = entered.pod;
      send(exchange);
      return;
    case Entry::refused:
      exchange.respond(http::response_for(entered.error));
      return;
    case Entry::queued:
      break;
  }
  const auto bytes = static_cast<std::int64_t>(exchange.memory());
  if (!budget_.take(bytes)) {
    revision.throttler.cancel(entered.ticket);
    exchange.respond(http::response_for(Error::queue_full));
    return;
  }
  state.queued = true;
  state.ticket = entered.ticket;
  state.budget_bytes = bytes;
  state.waited_for_pod = revision.throttler.pods() == 0;
  exchange.hold();
  arm_expiry(revision);
  if (state.waited_for_pod) owner_.on_held(revision.handle);
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

void FrontGateway::send(net::Exchange& exchange) {
  State& state = state_of(exchange);
  Pod& pod = pod_of(*state.revision, state.pod_ref);
  state.pod = &pod;
  ++pod.in_flight;
  state.dispatched = clock_.now();
  http::RequestRewrite rewrite;
  rewrite.peer_ip = exchange.peer_ip();
  rewrite.host = pod.id.name;
  rewrite.as_activator = true;
  rewrite.drop_kubelet_probe = true;
  exchange.forward(pod.pool, rewrite);
}

void FrontGateway::dispatch(const std::vector<Admission>& admitted) {
  for (const Admission& admission : admitted) {
    net::Exchange& exchange = exchange_of(admission.cookie);
    State& state = state_of(exchange);
    leave_queue(state);
    state.pod_ref = admission.pod;
    send(exchange);
  }
}

void FrontGateway::dismiss(const std::vector<Dismissal>& dismissed,
                           const http::OwnResponse& response) {
  for (const Dismissal& dismissal : dismissed) {
    net::Exchange& exchange = exchange_of(dismissal.cookie);
    leave_queue(state_of(exchange));
    exchange.respond(response);
  }
}

void FrontGateway::leave_queue(State& state) {
  state.queued = false;
  budget_.give_back(state.budget_bytes);
  state.budget_bytes = 0;
}

void FrontGateway::leave_pod(State& state) {
  Revision& revision = *state.revision;
  Pod& pod = *state.pod;
  state.pod = nullptr;
  --pod.in_flight;
  const bool drained = pod.removed && pod.in_flight == 0;
  const PodId id = drained ? pod.id : PodId{};
  std::vector<Admission> admitted;
  revision.throttler.leave(state.pod_ref, admitted);
  if (!admitted.empty()) dispatch(admitted);
  if (drained) owner_.on_pod_drained(revision.handle, id);
}

bool FrontGateway::retry(net::Exchange& exchange) {
  State& state = state_of(exchange);
  if (exchange.body_sent() || state.tried_count >= kRetriesMax) return false;
  state.tried[state.tried_count++] = state.pod_ref;
  leave_pod(state);
  enter(exchange);
  return true;
}

bool FrontGateway::upstream_failed(net::Exchange& exchange, const net::ConnectFailure& failure) {
  const State& state = state_of(exchange);
  if (state.pod == nullptr || failure.error != Error::upstream_connect) return false;
  return retry(exchange);
}

net::ResponseVerdict FrontGateway::response(net::Exchange& exchange,
                                            const http::ResponseHead& head, std::string& extra) {
  State& state = state_of(exchange);
  if (state.pod == nullptr) return net::ResponseVerdict::forward;
  if (head.status == 503) {
    const std::string_view cause = head.fields.get(Known::sluice_error);
    if ((cause.starts_with("draining") || cause.starts_with("queue-full")) && retry(exchange)) {
      return net::ResponseVerdict::retried;
    }
  }
  if (state.waited_for_pod) {
    extra = owner_.cold_start(state.revision->handle, exchange.arrived(), state.dispatched);
  }
  return net::ResponseVerdict::forward;
}

void FrontGateway::end(net::Exchange& exchange, const net::Outcome& outcome) {
  State state = state_of(exchange);
  state_of(exchange) = State{};
  if (state.revision == nullptr) return;
  Revision& revision = *state.revision;
  const TimePoint now = clock_.now();
  reporter_.out(revision.reporter, now);
  owner_.on_served(revision.handle, {exchange.request(), exchange.peer_ip(),
                                     now - exchange.arrived(), outcome});
  if (state.queued) {
    revision.throttler.cancel(state.ticket);
    leave_queue(state);
  }
  if (state.pod != nullptr) leave_pod(state);
  --revision.requests;
  --requests_;
}

void FrontGateway::arm_expiry(Revision& revision) {
  if (revision.expiry_armed) return;
  const auto due = revision.throttler.next_expiry();
  if (!due) return;
  revision.expiry_armed = true;
  revision.expiry_timer.expires_after(std::max(Duration{0}, *due - clock_.now()));
  revision.expiry_timer.async_wait([this, &revision](const boost::system::error_code& ec) {
    revision.expiry_armed = false;
    if (ec) return;
    while (const auto expired = revision.throttler.expire(clock_.now())) {
      dismiss({*expired}, http::response_for(Error::queue_wait));
    }
    arm_expiry(revision);
  });
}

}  // namespace sluice::activator
