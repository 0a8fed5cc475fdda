#include "common/kube/client.h"

#include "common/kube/client_inner.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

// A request waits in its lane until a connection is free, its bucket has a token and no 429 holds
// the lane. Of two requests for one object the newer takes the older's place, so that what waits is
// at most one request for each object. All callbacks come from the loop, after send() has returned.
namespace sluice::kube {
namespace asio = boost::asio;

namespace {

// What must wake has a connection where slow requests hold all others; a lease one more.
constexpr std::size_t kUrgentMore = 1;
constexpr std::size_t kFreeMore = 2;
constexpr double kUrgentPerSecond = 50;
constexpr double kUrgentBurst = 100;
// Of a watch: until its head has come.
constexpr Duration kHeadWait = std::chrono::seconds{30};

Failure timed_out(std::string message) {
  return {.kind = Failure::Kind::timed_out, .message = std::move(message)};
}

}  // namespace

Client::Inner::Inner(asio::io_context& loop, const Clock& its_clock, const log::Logger& logger,
                     Access its_access, ClientOptions its_options,
                     std::unique_ptr<ServerTls> its_tls)
    : io{loop},
      clock{its_clock},
      log{logger},
      access{std::move(its_access)},
      options{its_options},
      tls{std::move(its_tls)},
      bearer{access, logger},
      timer{loop} {
  const auto lane = [this](Lane name) -> Waiting& { return lanes[static_cast<std::size_t>(name)]; };
  lane(Lane::normal).bucket.emplace(options.per_second, options.burst);
  lane(Lane::urgent).bucket.emplace(kUrgentPerSecond, kUrgentBurst);
  lane(Lane::normal).connections_max = options.connections_max;
  lane(Lane::urgent).connections_max = options.connections_max + kUrgentMore;
  lane(Lane::free).connections_max = options.connections_max + kFreeMore;
}

Client::Inner::~Inner() {
  alive.end();
  for (const auto& [state, owned] : live) {
    state->inner = nullptr;
    state->pending = false;
    if (state->wire) state->wire->close();
  }
  for (const auto& wire : idle) wire->close();
}

void Client::Inner::begin(const StatePtr& state) {
  live.emplace(state.get(), state);
  const TimePoint now = clock.now();
  state->inner = this;
  state->alarm = alarms.end();
  const Request& request = state->request;
  set_deadline(*state, now + (request.lane == Lane::free ? request.timeout : request.queue_limit));
  enqueue(state);
  pump();
}

void Client::Inner::begin_stream(const StatePtr& state) {
  live.emplace(state.get(), state);
  state->inner = this;
  state->is_stream = true;
  state->alarm = alarms.end();
  const TimePoint now = clock.now();
  set_deadline(*state, now + kHeadWait);
  dispatch(state, now);
  arm(now);
}

void Client::Inner::forget(const StatePtr& state) {
  state->done = {};
  state->stream = {};
  state->pending = false;
  // A request in flight continues, so that its connection can be used again.
  if (state->waiting || state->is_stream) drop(state);
}

void Client::Inner::enqueue(const StatePtr& state) {
  Waiting& lane = lane_of(*state);
  auto place = state->request.first ? lane.after_first() : lane.requests.end();
  StatePtr older;
  if (!state->request.object.empty()) {
    const auto found = objects.find(state->request.object);
    if (found != objects.end()) {
      older = live.at(found->second);
      const bool alike = older->request.lane == state->request.lane &&
                         older->request.first == state->request.first;
      if (alike) place = std::next(older->place);
    }
  }
  if (!older && waiting >= options.waiting_max && state->request.lane != Lane::free) {
    end(state, timed_out("too many requests are waiting (" + std::to_string(waiting) + ")"));
    return;
  }
  state->place = lane.requests.insert(place, state);
  state->waiting = true;
  ++waiting;
  if (older) {
    leave_queue(*older);
    end(older, Failure{.kind = Failure::Kind::superseded});
  }
  if (!state->request.object.empty()) objects[state->request.object] = state.get();
}

void Client::Inner::requeue(const StatePtr& state) {
  // No caller waits for it now.
  if (!state->pending) return drop(state);
  state->status = 0;
  state->body = {};
  const std::string& object = state->request.object;
  if (!object.empty() && objects.count(object) != 0) {
    end(state, Failure{.kind = Failure::Kind::superseded});
    return;
  }
  Waiting& lane = lane_of(*state);
  state->place = lane.requests.insert(
      state->request.first ? lane.requests.begin() : lane.after_first(), state);
  state->waiting = true;
  ++waiting;
  if (!object.empty()) objects[object] = state.get();
}

void Client::Inner::leave_queue(State& state) {
  state.waiting = false;
  --waiting;
  const auto found = objects.find(state.request.object);
  if (found != objects.end() && found->second == &state) objects.erase(found);
  lane_of(state).requests.erase(state.place);
}

void Client::Inner::set_deadline(State& state, TimePoint at) {
  if (state.alarm != alarms.end()) alarms.erase(state.alarm);
  state.alarm = alarms.emplace(at, &state);
}

void Client::Inner::pump() {
  const TimePoint now = clock.now();
  expire(now);
  for (const Lane lane : {Lane::free, Lane::urgent, Lane::normal}) {
    while (pump_lane(lanes[static_cast<std::size_t>(lane)], now)) {
    }
  }
  arm(now);
}

bool Client::Inner::pump_lane(Waiting& lane, TimePoint now) {
  if (lane.requests.empty() || busy >= lane.connections_max || now < lane.paused_until) {
    return false;
  }
  if (lane.bucket && !lane.bucket->take(now)) return false;
  const StatePtr state = lane.requests.front();
  leave_queue(*state);
  dispatch(state, now);
  return true;
}

void Client::Inner::expire(TimePoint now) {
  while (!alarms.empty() && alarms.begin()->first <= now) {
    const StatePtr state = live.at(alarms.begin()->second);
    if (state->is_stream) {
      end_stream_later(state, state->status == 0 ? "the API server did not answer in time"
                                                 : "no data arrived for too long");
      continue;
    }
    std::string why = state->told_to_wait;
    if (state->waiting) {
      leave_queue(*state);
      if (why.empty()) {
        why = state->sent ? "it timed out before it was sent again"
                          : "it timed out in the queue before it was sent";
      }
    } else if (state->wire) {
      state->wire->close();
      state->wire.reset();
      --busy;
    }
    end(state, timed_out(std::move(why)));
  }
}

void Client::Inner::arm(TimePoint now) {
  TimePoint next = alarms.empty() ? TimePoint::max() : alarms.begin()->first;
  for (Waiting& lane : lanes) {
    if (lane.requests.empty() || busy >= lane.connections_max) continue;
    const Duration wait = lane.bucket ? lane.bucket->wait(now) : Duration{0};
    next = std::min(next, std::max(lane.paused_until, now + wait));
  }
  if (next == armed_for) return;
  armed_for = next;
  timer.cancel();
  if (next == TimePoint::max()) return;
  timer.expires_after(std::max(next - now, Duration{0}));
  timer.async_wait([this, alive = alive.watch()](const boost::system::error_code& ec) {
    if (ec || alive.over()) return;
    armed_for = TimePoint{};
    pump();
  });
}

void Client::Inner::end(const StatePtr& state, Answer answer) {
  if (!answer.has_value() && answer.error().kind != Failure::Kind::superseded) ++counts.failures;
  drop(state);
  asio::post(io, [alive = alive.watch(), state, answer = std::move(answer)]() mutable {
    if (alive.over()) return;
    state->pending = false;
    const Done done = std::exchange(state->done, {});
    if (done) done(std::move(answer));
  });
}

// Forgets a request or a stream without a word.
void Client::Inner::drop(const StatePtr& state) {
  if (state->waiting) leave_queue(*state);
  if (state->wire) {
    state->wire->close();
    state->wire.reset();
    if (!state->is_stream) --busy;
  }
  if (state->alarm != alarms.end()) alarms.erase(state->alarm);
  state->alarm = alarms.end();
  state->inner = nullptr;
  live.erase(state.get());
}

Result<std::unique_ptr<Client>, Problem> Client::make(asio::io_context& io, const Clock& clock,
                                                      const log::Logger& log, Access access,
                                                      ClientOptions options) {
  if (access.address.port == 0 && !access.address.is_unix()) {
    return Problem{"the API server has no port", "give its address as https://host:port"};
  }
  std::unique_ptr<ServerTls> tls;
  if (access.tls) {
    auto made = ServerTls::make(access);
    if (!made) return made.error();
    tls = std::move(*made);
  }
  return std::unique_ptr<Client>{new Client{
      std::make_unique<Inner>(io, clock, log, std::move(access), options, std::move(tls))}};
}

Client::Client(std::unique_ptr<Inner> inner) : inner_{std::move(inner)} {}

Client::~Client() = default;

Client::Call Client::send(Request request, Done done) {
  auto state = std::make_shared<Call::State>();
  state->request = std::move(request);
  state->done = std::move(done);
  inner_->begin(state);
  return Call{std::move(state)};
}

void Client::send_and_forget(Request request, Done done) {
  auto state = std::make_shared<Call::State>();
  state->request = std::move(request);
  state->done = std::move(done);
  inner_->begin(state);
}

Client::Call Client::stream(std::string path, Duration silence, StreamEvents events) {
  auto state = std::make_shared<Call::State>();
  state->request.path = std::move(path);
  state->silence = silence;
  state->stream = std::move(events);
  inner_->begin_stream(state);
  return Call{std::move(state)};
}

std::size_t Client::waiting(Lane lane) const {
  return inner_->lanes[static_cast<std::size_t>(lane)].requests.size();
}

const Client::Counts& Client::counts() const {
  return inner_->counts;
}

void Client::write_metrics(metrics::Families& families) const {
  const Counts& counts = inner_->counts;
  families.family("sluice_kubernetes_requests_total", metrics::MetricType::counter,
                  "Requests to the API server.");
  families.value({{"kind", "read"}}, counts.requests - counts.writes - counts.renewals);
  families.value({{"kind", "write"}}, counts.writes);
  families.value({{"kind", "lease"}}, counts.renewals);
  families.counter("sluice_kubernetes_throttled_total",
                   "Requests that the API server answered with 429.", counts.throttled);
  families.counter("sluice_kubernetes_failures_total", "Requests to the API server that failed.",
                   counts.failures);
}

const Access& Client::access() const {
  return inner_->access;
}

Client::Call::Call(std::shared_ptr<State> state) : state_{std::move(state)} {}

Client::Call::~Call() {
  if (!state_) return;
  // Over, but perhaps not told yet.
  state_->pending = false;
  state_->done = {};
  if (state_->inner != nullptr) state_->inner->forget(state_);
}

Client::Call::Call(Call&& other) noexcept = default;

Client::Call& Client::Call::operator=(Call&& other) noexcept {
  const Call old{std::exchange(state_, std::exchange(other.state_, nullptr))};
  return *this;
}

bool Client::Call::waiting() const {
  return active() && state_->waiting;
}

bool Client::Call::active() const {
  return state_ && state_->pending;
}

}  // namespace sluice::kube
