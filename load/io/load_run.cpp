#include "load/io/load_run.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "load/core/quantity.h"
#include "load/io/load_run_inner.h"
#include "load/io/machine.h"
#include <algorithm>
#include <utility>

namespace sluice::loadgen {

namespace {

// A closed loop against a dead server would otherwise turn into a busy loop.
constexpr Duration kRetryPause = std::chrono::milliseconds{100};
constexpr Duration kStopGrace = std::chrono::seconds{1};
// Requests taken up in one go before the answers on their way get a turn.
constexpr int kBurst = 64;

}  // namespace

void LoadRun::Impl::begin() {
  watch_generator();
  if (plan.duration) at(end, plan.warmup + *plan.duration, [this] { sending_ends(); });
  if (plan.loop == Loop::open) {
    pump();
    return;
  }
  const std::size_t senders = plan.connections * (pools[0].h2 ? plan.streams.value_or(1) : 1);
  for (std::size_t i = 0; i < senders && left > 0; ++i) {
    dispatch(free_exchange(0), at_once());
  }
  finish_if_over();
}

void LoadRun::Impl::watch_generator() {
  const Duration time = now();
  generator.tick({.at = time, .cpu = thread_cpu_time(), .wall = machine_clock()});
  at(tick, time + GeneratorWatch::kInterval, [this] { watch_generator(); });
}

// Takes up what is due, and sees to being called again when more is.
void LoadRun::Impl::pump() {
  if (ended_all || interrupted || given_up) return;
  for (int i = 0; i < kBurst && pacer.due(now()); ++i) {
    const Destination& to = destinations[pacer.next()->target];
    if (to.ws) {
      if (!may_open()) return;
      start_session(pacer.take());
      continue;
    }
    const std::size_t pool = to.pool;
    const bool free = pools[pool].h2 ? pools[pool].h2->has_room() : !pools[pool].idle.empty();
    if (!free && !may_open()) return;
    dispatch(free_exchange(pool), pacer.take());
  }
  if (!pacer.due(now())) {
    arm_arrival();
    finish_if_over();
  } else if (!pump_posted) {
    pump_posted = true;
    ++pending;
    asio::post(loop, [this] {
      --pending;
      pump_posted = false;
      pump();
    });
  }
}

void LoadRun::Impl::arm_arrival() {
  if (pacer.next()) at(arrival, pacer.next()->at, [this] { pump(); });
}

Request LoadRun::Impl::request_of(Exchange& exchange) {
  Destination& to = destinations[exchange.planned.target];
  return to.request(exchange, plan.ids, pools[to.pool].h2 != nullptr);
}

// Closed loop: the next request.
PlannedRequest LoadRun::Impl::at_once() {
  const std::uint64_t index = share.thread + taken_up++ * share.threads;
  return {.at = now(), .index = index, .number = index + 1};
}

void LoadRun::Impl::dispatch(Exchange& connection, const PlannedRequest& planned) {
  if (plan.loop == Loop::closed) --left;
  const Duration taken = now();
  connection.planned = planned;
  connection.taken = std::max(taken, planned.at);
  results.sent(planned, connection.taken);
  move_to(busy, busy.end(), connection);
  connection.send(request_of(connection));
  if (!expiry_armed) watch_timeouts();
}

void LoadRun::Impl::ended(Exchange& connection, Ending ending) {
  const Duration done_at = record(connection, ending);
  if (plan.reuse && connection.carried() >= *plan.reuse) connection.close();
  if (connection.is_open()) {
    connection.idle_since = done_at;
    Exchanges& idle = pools[destinations[connection.planned.target].pool].idle;
    move_to(idle, idle.begin(), connection);
  } else {
    move_to(*connection.home, connection.home->begin(), connection);
  }
  again(connection, ending);
}

// A connection has become free.
void LoadRun::Impl::again(Exchange& connection, Ending ending) {
  if (plan.loop == Loop::open) {
    if (pacer.due(now())) pump();
  } else if (!over()) {
    if (has_latency(ending)) {
      dispatch(connection, at_once());
    } else {
      move_to(paused, paused.end(), connection);
      if (!pause_armed) at(pause, now() + kRetryPause, [this] { resume(); });
      pause_armed = true;
    }
  }
  finish_if_over();
}

void LoadRun::Impl::resume() {
  pause_armed = false;
  while (!paused.empty() && !over()) dispatch(*paused.front(), at_once());
  finish_if_over();
}

void LoadRun::Impl::dropped(Exchange& connection) {
  move_to(spare, spare.begin(), connection);
}

Duration LoadRun::Impl::record(Exchange& connection, Ending ending) {
  const Answer answer = connection.answer();
  Outcome outcome{connection.planned.at, connection.taken, now(), ending, 0, false, answer.bytes};
  if (ending == Ending::answered) {
    outcome.status = answer.status;
    outcome.refused = answer.refused;
  }
  if (ending == Ending::answered || ending == Ending::grpc) outcome.grpc = answer.grpc;
  results.finished(connection.planned, outcome);
  return outcome.done;
}

// One timer for all: the oldest request is in front, and each has the same time.
void LoadRun::Impl::watch_timeouts() {
  expiry_armed = !busy.empty();
  if (!expiry_armed) return;
  at(expiry, busy.front()->taken + plan.timeout, [this] {
    expire(now() - plan.timeout);
    watch_timeouts();
  });
}

// Ends every request taken up at `before` or earlier.
void LoadRun::Impl::expire(Duration before) {
  // A freed connection may take up the next request at once, at the back of the list: later than
  // `before`, so this ends.
  while (!busy.empty() && busy.front()->taken <= before && !ended_all) {
    Exchange& connection = *busy.front();
    const bool unconnected = connection.is_connecting();
    samples.add(now(), std::string{unconnected ? "no connection" : "no whole answer"} +
                           " within the timeout of " + spoken(plan.timeout));
    connection.close();
    ended(connection, unconnected ? Ending::connect_timeout : Ending::timeout);
  }
}

// The plan's time is over. What fell due in it is still sent: leaving it out would hide the stall
// that delayed it.
void LoadRun::Impl::sending_ends() {
  sending_over = true;
  at(end, now() + plan.timeout, [this] { give_up(); });
  finish_if_over();
}

// One timeout after the end: nothing that is left will be answered in time.
void LoadRun::Impl::give_up() {
  given_up = true;
  pacer.skip_until(now(), [this](const PlannedRequest& planned) {
    const Destination& to = destinations[planned.target];
    std::uint64_t left_out = to.ws ? ws_messages(to.plan, planned.at, last_instant()) : 1;
    for (; left_out > 0; --left_out) results.unsent(planned);
  });
  expire(now());
  sessions.give_up();
  finish_if_over();
}

// After a signal: what is on its way is neither answered nor failed.
void LoadRun::Impl::cut() {
  sessions.close();
  while (!busy.empty()) {
    Exchange& connection = *busy.front();
    connection.close();
    move_to(*connection.home, connection.home->begin(), connection);
  }
  finish_if_over();
}

bool LoadRun::Impl::over() const {
  if (interrupted || given_up) return true;
  if (plan.loop == Loop::closed) return left == 0 || sending_over;
  if (pacer.next()) return false;
  return sending_over || plan.count.has_value();
}

void LoadRun::Impl::finish_if_over() {
  if (ended_all || !over() || !busy.empty() || sessions.size() > 0) return;
  ended_all = true;
  for (asio::steady_timer* timer : {&arrival, &expiry, &end, &pause, &tick}) timer->cancel();
  for (Pool& pool : pools) {
    for (const auto& connection : pool.idle) connection->close();
    if (pool.h2) pool.h2->close();
  }
  wait_until_quiet();
}

// Cancelled operations still complete, and they refer to this object: it is done when they have.
void LoadRun::Impl::wait_until_quiet() {
  const auto is_quiet = [](const auto& connection) { return connection->pending() == 0; };
  bool quiet = pending == 0 && sessions.is_quiet();
  for (const Exchanges* list : {&busy, &spare, &paused}) {
    quiet = quiet && std::all_of(list->begin(), list->end(), is_quiet);
  }
  for (const Pool& pool : pools) {
    quiet = quiet && std::all_of(pool.idle.begin(), pool.idle.end(), is_quiet);
    quiet = quiet && (!pool.h2 || pool.h2->is_quiet());
  }
  if (quiet) {
    asio::post(loop, std::exchange(done, nullptr));
    return;
  }
  asio::post(loop, [this] { wait_until_quiet(); });
}

LoadRun::LoadRun(asio::io_context& loop, const Clock& clock, const LoadPlan& plan,
                 const std::vector<std::string>& addresses, std::vector<CellReader> cells,
                 const net::ClientTls* tls, Share share)
    : impl_{std::make_unique<Impl>(loop, clock, plan, addresses, std::move(cells), tls, share)} {}

LoadRun::~LoadRun() = default;

void LoadRun::start(std::function<void()> done, std::optional<TimePoint> began) {
  impl_->began = began.value_or(impl_->clock.now());
  impl_->done = std::move(done);
  impl_->begin();
}

void LoadRun::stop() {
  Impl& run = *impl_;
  if (run.interrupted || run.ended_all) return;
  run.interrupted = true;
  run.at(run.end, run.now() + kStopGrace, [&run] { run.cut(); });
  run.finish_if_over();
}

const Results& LoadRun::results() const {
  return impl_->results;
}

TimePoint LoadRun::began() const {
  return impl_->began;
}

std::size_t LoadRun::connections() const {
  return std::max({impl_->made, impl_->most_h2, impl_->most_ws});
}

std::uint64_t LoadRun::cap_waits() const {
  return impl_->cap_waits;
}

bool LoadRun::interrupted() const {
  return impl_->interrupted;
}

const GeneratorWatch& LoadRun::generator() const {
  return impl_->generator;
}

const ErrorSamples& LoadRun::error_samples() const {
  return impl_->samples;
}

}  // namespace sluice::loadgen
