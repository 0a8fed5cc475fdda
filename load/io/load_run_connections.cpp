#include "load/io/connection.h"
#include "load/io/load_run_inner.h"
#include <algorithm>
#include <utility>

// Which connections a run has, and which of them carries a request.
namespace sluice::loadgen {

namespace {

// Servers close idle connections after 5 s and more; a request that races with such a close is lost
// without a fault of either side. So a connection idle for longer than this is opened again.
constexpr Duration kIdleMax = std::chrono::seconds{4};

// An open loop opens at most so many connections at once, and one each kOpenInterval after that.
// Opening is the expensive part on both sides: a server that stalls for a moment at a high rate
// would otherwise get a new connection for each due request, and never recover.
constexpr int kOpenedAtOnce = 100;
constexpr Duration kOpenInterval = std::chrono::microseconds{500};

}  // namespace

// Whether another connection may be opened now; if not, pump() is called again when one may, or
// when a request ends.
bool LoadRun::Impl::may_open() {
  if (in_use() >= plan.connections) {
    Exchange* const idle = idle_elsewhere();
    if (idle == nullptr) {
      ++cap_waits;
      return false;
    }
    idle->close();
    move_to(spare, spare.begin(), *idle);
  }
  const Duration time = now();
  if (open_from > time + kOpenedAtOnce * kOpenInterval) {
    at(arrival, time + kOpenInterval, [this] { pump(); });
    return false;
  }
  open_from = std::max(open_from, time) + kOpenInterval;
  return true;
}

std::size_t LoadRun::Impl::h2_connections() const {
  std::size_t count = 0;
  for (const Pool& pool : pools) count += pool.h2 ? pool.h2->size() : 0;
  return count;
}

// Connections that are open or being opened.
std::size_t LoadRun::Impl::in_use() const {
  return made - spare.size() + h2_connections() + sessions.size();
}

// The connection that has been idle longest; nothing if none is.
Exchange* LoadRun::Impl::idle_elsewhere() {
  Exchange* oldest = nullptr;
  for (Pool& pool : pools) {
    if (pool.idle.empty()) continue;
    Exchange& last = *pool.idle.back();
    if (oldest == nullptr || last.idle_since < oldest->idle_since) oldest = &last;
  }
  return oldest;
}

// What the next request is sent with. The caller has seen to it that there may be one.
Exchange& LoadRun::Impl::free_exchange(std::size_t pool) {
  if (pools[pool].h2) return free_stream(*pools[pool].h2);
  if (!pools[pool].idle.empty()) {
    Exchange& connection = *pools[pool].idle.front();
    if (now() - connection.idle_since > kIdleMax) connection.close();
    return connection;
  }
  if (spare.empty()) {
    ++made;
    Exchange& connection = *spare.emplace_front(std::make_unique<Connection>(loop, *this));
    connection.home = connection.list = &spare;
    connection.place = spare.begin();
  }
  static_cast<Connection&>(*spare.front()).aim(pools[pool].peer);
  return *spare.front();
}

Exchange& LoadRun::Impl::free_stream(H2Pool& pool) {
  if (streams.empty()) {
    Exchange& stream = *streams.emplace_front(std::make_unique<H2Exchange>(*this));
    stream.home = stream.list = &streams;
    stream.place = streams.begin();
  }
  static_cast<H2Exchange&>(*streams.front()).aim(pool);
  return *streams.front();
}

// Nothing is planned for it or later.
Duration LoadRun::Impl::last_instant() const {
  return plan.duration ? plan.warmup + *plan.duration : Duration::max();
}

void LoadRun::Impl::start_session(const PlannedRequest& planned) {
  const Destination& to = destinations[planned.target];
  sessions.start({.planned = planned,
                  .taken = std::max(now(), planned.at),
                  .what = &*to.ws,
                  .peer = &pools[to.pool].peer,
                  .every = to.plan.every,
                  .messages = ws_messages(to.plan, planned.at, last_instant()),
                  .until = std::min(planned.at + to.plan.hold, last_instant()),
                  .timeout = plan.timeout});
}

// The request continues as a stream, in its place among those on their way.
void LoadRun::Impl::chose_h2(Exchange& connection, net::Stream stream) {
  Pool& pool = pools[destinations[connection.planned.target].pool];
  connected(connection);
  pool.peer.protocol = Protocol::h2;
  if (!pool.h2) use_h2(pool);
  pool.h2->adopt(std::move(stream));
  Exchange& to = free_stream(*pool.h2);
  to.planned = connection.planned;
  to.taken = connection.taken;
  move_to(busy, connection.place, to);
  move_to(spare, spare.begin(), connection);
  to.send(request_of(to));
}

void LoadRun::Impl::move_to(Exchanges& to, Exchanges::iterator where, Exchange& connection) {
  to.splice(where, *connection.list, connection.place);
  connection.list = &to;
}

}  // namespace sluice::loadgen
