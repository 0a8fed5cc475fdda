#include "load/io/load_run.h"

#include "common/base/check.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "load/core/quantity.h"
#include "load/io/connection.h"
#include "load/io/machine.h"
#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <random>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Connections = std::list<Connection>;

namespace {

// Servers close idle connections after 5 s and more; a request that races with such a close is lost
// without a fault of either side. So a connection idle for longer than this is opened again.
constexpr Duration kIdleMax = std::chrono::seconds{4};
// A closed loop against a dead server would otherwise turn into a busy loop.
constexpr Duration kRetryPause = std::chrono::milliseconds{100};
constexpr Duration kStopGrace = std::chrono::seconds{1};
// Requests taken up in one go before the answers on their way get a turn.
constexpr int kBurst = 64;
// An open loop opens at most so many connections at once, and one each kOpenInterval after that.
// Opening is the expensive part on both sides: a server that stalls for a moment at a high rate
// would otherwise get a new connection for each due request, and never recover.
constexpr int kOpenedAtOnce = 100;
constexpr Duration kOpenInterval = std::chrono::microseconds{500};

// What is the same for all requests to a target.
struct Destination {
  Destination(const TargetPlan& what, std::size_t where, const LoadPlan& all)
      : plan{what},
        pool{where},
        always_same{plan.path.is_fixed() && all.ids.empty()},
        random{all.seed + static_cast<std::uint64_t>(&what - all.targets.data())} {
    for (std::size_t i = 0; i < kSentAs; ++i) {
      const auto as = static_cast<SentAs>(i);
      begins[i] = std::string{method_of(plan, as)} + " ";
      ends[i] = request_head(plan, as, all.reuse == 1U);
      if (!always_same) continue;
      plan.path.append_to(begins[i], 0, random);
      begins[i] += ends[i] + "\r\n";
    }
  }

  const TargetPlan& plan;  // of the run's plan
  std::size_t pool;
  bool always_same;  // all requests have the same head
  std::mt19937_64 random;
  std::uint64_t number = 0;
  // By SentAs: the head before and after the path; one that is always the same is all in `begins`.
  std::array<std::string, kSentAs> begins;
  std::array<std::string, kSentAs> ends;
};

// Connections to one peer, which all targets there share.
struct Pool {
  Peer peer;
  Connections idle;  // open; most recently used first, so that surplus ones grow old
};

}  // namespace

struct LoadRun::Impl final : Connection::Owner {
  Impl(asio::io_context& io, const Clock& time, const LoadPlan& what,
       const std::vector<std::string>& addresses, std::vector<CellReader> cells,
       const net::ClientTls* tls)
      : loop{io},
        clock{time},
        plan{what},
        pacer{plan, std::move(cells)},
        results{plan},
        left{what.count.value_or(std::numeric_limits<std::uint64_t>::max())} {
    for (std::size_t i = 0; i < plan.targets.size(); ++i) {
      const TargetPlan& target = plan.targets[i];
      Peer peer{{asio::ip::make_address(addresses.at(i)), target.target.port}};
      if (target.target.tls) {
        CHECK(tls != nullptr);
        peer.tls = tls;
        peer.name = target.target.host;
      }
      destinations.emplace_back(target, pool_of(std::move(peer)), plan);
    }
  }

  std::size_t pool_of(Peer peer) {
    const auto found = std::find_if(pools.begin(), pools.end(), [&peer](const Pool& pool) {
      return pool.peer.endpoint == peer.endpoint && pool.peer.tls == peer.tls &&
             pool.peer.name == peer.name;
    });
    const auto place = static_cast<std::size_t>(found - pools.begin());
    if (found == pools.end()) pools.emplace_back().peer = std::move(peer);
    return place;
  }

  [[nodiscard]] Duration now() const { return clock.now() - began; }

  // Runs `step` at offset `at`, unless the timer is set again before.
  template <class Step>
  void at(asio::steady_timer& timer, Duration when, Step step) {
    timer.expires_after(std::max(when - now(), Duration::zero()));
    ++pending;
    timer.async_wait([this, step](ErrorCode error) {
      --pending;
      if (!error && !ended_all) step();
    });
  }

  void begin();
  void watch_generator();
  void pump();
  void arm_arrival();
  bool may_open();
  Connection* idle_elsewhere();
  Connection& free_connection(std::size_t pool);
  std::string_view head_of(Connection& connection);
  static void move_to(Connections& to, Connections::iterator where, Connection& connection);
  void dispatch(Connection& connection, const PlannedRequest& planned);
  void again(Connection& connection, Ending ending);
  void resume();
  void watch_timeouts();
  void expire(Duration before);
  Duration record(Connection& connection, Ending ending);
  void sending_ends();
  void give_up();
  void cut();
  void finish_if_over();
  void wait_until_quiet();
  [[nodiscard]] bool over() const;

  void ended(Connection& connection, Ending ending) override;
  void dropped(Connection& connection) override;

  void connected(Connection& connection) override {
    results.connected(connection.planned, now() - connection.taken);
  }

  void failed(const std::string& text) override { samples.add(now(), text); }

  asio::io_context& loop;
  const Clock& clock;
  const LoadPlan plan;
  Pacer pacer;
  Results results;
  std::uint64_t left;                     // closed loop: requests still to be sent
  std::vector<Destination> destinations;  // by target
  std::deque<Pool> pools;
  std::function<void()> done;
  TimePoint began;

  Connections busy;    // oldest request first, which is the next to time out
  Connections spare;   // closed
  Connections paused;  // closed loop: waiting out kRetryPause
  std::size_t made = 0;

  asio::steady_timer arrival{loop};
  asio::steady_timer expiry{loop};
  asio::steady_timer end{loop};
  asio::steady_timer pause{loop};
  asio::steady_timer tick{loop};
  Duration open_from{0};  // when the next connection might open, were there no first lot
  bool expiry_armed = false;
  bool pause_armed = false;
  bool pump_posted = false;
  bool sending_over = false;
  bool given_up = false;
  bool interrupted = false;
  bool ended_all = false;
  unsigned pending = 0;
  std::uint64_t next_id = 1;
  std::uint64_t cap_waits = 0;
  ErrorSamples samples;
  GeneratorWatch generator;
};

void LoadRun::Impl::begin() {
  began = clock.now();
  watch_generator();
  if (plan.duration) at(end, plan.warmup + *plan.duration, [this] { sending_ends(); });
  if (plan.loop == Loop::open) {
    pump();
    return;
  }
  for (std::size_t i = 0; i < plan.connections && left > 0; ++i) {
    dispatch(free_connection(0), {now()});
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
    const std::size_t pool = destinations[pacer.next()->target].pool;
    if (pools[pool].idle.empty() && !may_open()) return;
    dispatch(free_connection(pool), pacer.take());
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

// Whether another connection may be opened now; if not, pump() is called again when one may, or
// when a request ends.
bool LoadRun::Impl::may_open() {
  if (spare.empty() && made >= plan.connections && idle_elsewhere() == nullptr) {
    ++cap_waits;
    return false;
  }
  const Duration time = now();
  if (open_from > time + kOpenedAtOnce * kOpenInterval) {
    at(arrival, time + kOpenInterval, [this] { pump(); });
    return false;
  }
  open_from = std::max(open_from, time) + kOpenInterval;
  return true;
}

void LoadRun::Impl::arm_arrival() {
  if (pacer.next()) at(arrival, pacer.next()->at, [this] { pump(); });
}

// The connection that has been idle longest; nothing if none is.
Connection* LoadRun::Impl::idle_elsewhere() {
  Connection* oldest = nullptr;
  for (Pool& pool : pools) {
    if (pool.idle.empty()) continue;
    Connection& last = pool.idle.back();
    if (oldest == nullptr || last.idle_since < oldest->idle_since) oldest = &last;
  }
  return oldest;
}

// The connection for the next request, open or not. The caller has seen to it that there is one.
Connection& LoadRun::Impl::free_connection(std::size_t pool) {
  if (!pools[pool].idle.empty()) {
    Connection& connection = pools[pool].idle.front();
    if (now() - connection.idle_since > kIdleMax) connection.close();
    return connection;
  }
  if (spare.empty() && made < plan.connections) {
    ++made;
    Connection& connection = spare.emplace_front(loop, *this);
    connection.list = &spare;
    connection.place = spare.begin();
  } else if (spare.empty()) {
    Connection& connection = *idle_elsewhere();
    connection.close();
    move_to(spare, spare.begin(), connection);
  }
  spare.front().aim(pools[pool].peer);
  return spare.front();
}

void LoadRun::Impl::move_to(Connections& to, Connections::iterator where, Connection& connection) {
  to.splice(where, *connection.list, connection.place);
  connection.list = &to;
}

// The head of the connection's next request, whole; valid until the request has ended.
std::string_view LoadRun::Impl::head_of(Connection& connection) {
  Destination& to = destinations[connection.planned.target];
  const auto as = static_cast<std::size_t>(connection.planned.as);
  if (to.always_same) return to.begins[as];
  std::string& head = connection.head;
  head.assign(to.begins[as]);
  to.plan.path.append_to(head, ++to.number, to.random);
  head += to.ends[as];
  if (!plan.ids.empty()) {
    head.append("X-Request-Id: ").append(plan.ids).append("-");
    head.append(std::to_string(next_id++)).append("\r\n");
  }
  return head += "\r\n";
}

void LoadRun::Impl::dispatch(Connection& connection, const PlannedRequest& planned) {
  if (plan.loop == Loop::closed) --left;
  const Duration taken = now();
  connection.planned = planned;
  connection.taken = std::max(taken, planned.at);
  results.sent(planned, connection.taken);
  move_to(busy, busy.end(), connection);
  const TargetPlan& target = destinations[planned.target].plan;
  const std::string_view body = has_body(planned.as) ? target.body : std::string_view{};
  connection.send(head_of(connection), body, method_of(target, planned.as) == "HEAD");
  if (!expiry_armed) watch_timeouts();
}

void LoadRun::Impl::ended(Connection& connection, Ending ending) {
  const Duration done_at = record(connection, ending);
  if (plan.reuse && connection.carried() >= *plan.reuse) connection.close();
  if (connection.is_open()) {
    connection.idle_since = done_at;
    Connections& idle = pools[destinations[connection.planned.target].pool].idle;
    move_to(idle, idle.begin(), connection);
  } else {
    move_to(spare, spare.begin(), connection);
  }
  again(connection, ending);
}

// A connection has become free.
void LoadRun::Impl::again(Connection& connection, Ending ending) {
  if (plan.loop == Loop::open) {
    if (pacer.due(now())) pump();
  } else if (!over()) {
    if (ending == Ending::answered || timed_out(ending)) {
      dispatch(connection, {now()});
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
  while (!paused.empty() && !over()) dispatch(paused.front(), {now()});
  finish_if_over();
}

void LoadRun::Impl::dropped(Connection& connection) {
  move_to(spare, spare.begin(), connection);
}

Duration LoadRun::Impl::record(Connection& connection, Ending ending) {
  const WireResponse& response = connection.response();
  Outcome outcome{connection.planned.at, connection.taken, now(), ending, 0, false, 0};
  if (ending == Ending::answered) {
    outcome.status = response.status();
    outcome.refused = response.refused();
  }
  outcome.bytes = response.body_bytes();
  results.finished(connection.planned, outcome);
  return outcome.done;
}

// One timer for all: the oldest request is in front, and each has the same time.
void LoadRun::Impl::watch_timeouts() {
  expiry_armed = !busy.empty();
  if (!expiry_armed) return;
  at(expiry, busy.front().taken + plan.timeout, [this] {
    expire(now() - plan.timeout);
    watch_timeouts();
  });
}

// Ends every request taken up at `before` or earlier.
void LoadRun::Impl::expire(Duration before) {
  // A freed connection may take up the next request at once, at the back of the list: later than
  // `before`, so this ends.
  while (!busy.empty() && busy.front().taken <= before && !ended_all) {
    Connection& connection = busy.front();
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
  pacer.skip_until(now(), [this](const PlannedRequest& planned) { results.unsent(planned); });
  expire(now());
  finish_if_over();
}

// After a signal: what is on its way is neither answered nor failed.
void LoadRun::Impl::cut() {
  while (!busy.empty()) {
    Connection& connection = busy.front();
    connection.close();
    move_to(spare, spare.begin(), connection);
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
  if (ended_all || !over() || !busy.empty()) return;
  ended_all = true;
  for (asio::steady_timer* timer : {&arrival, &expiry, &end, &pause, &tick}) timer->cancel();
  for (Pool& pool : pools) {
    for (Connection& connection : pool.idle) connection.close();
  }
  wait_until_quiet();
}

// Cancelled operations still complete, and they refer to this object: it is done when they have.
void LoadRun::Impl::wait_until_quiet() {
  const auto is_quiet = [](const Connection& connection) { return connection.pending() == 0; };
  bool quiet = pending == 0;
  for (const Connections* list : {&busy, &spare, &paused}) {
    quiet = quiet && std::all_of(list->begin(), list->end(), is_quiet);
  }
  for (const Pool& pool : pools) {
    quiet = quiet && std::all_of(pool.idle.begin(), pool.idle.end(), is_quiet);
  }
  if (quiet) {
    asio::post(loop, std::exchange(done, nullptr));
    return;
  }
  asio::post(loop, [this] { wait_until_quiet(); });
}

LoadRun::LoadRun(asio::io_context& loop, const Clock& clock, const LoadPlan& plan,
                 const std::vector<std::string>& addresses, std::vector<CellReader> cells,
                 const net::ClientTls* tls)
    : impl_{std::make_unique<Impl>(loop, clock, plan, addresses, std::move(cells), tls)} {}

LoadRun::~LoadRun() = default;

void LoadRun::start(std::function<void()> done) {
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
  return impl_->made;
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
