#pragma once

#include "common/base/lifetime.h"
#include "common/kube/bearer.h"
#include "common/kube/client.h"
#include "common/kube/server_tls.h"
#include "common/kube/token_bucket.h"
#include "common/net/h1/h1_client.h"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

// The inside of the client, for its sources only.
namespace sluice::kube {

/// A request from send() until its answer has been reported, or a stream until it has ended.
struct Client::Call::State {
  Client::Inner* inner = nullptr;  // null: over, or the client is gone
  Request request;
  Done done;
  StreamEvents stream;
  bool is_stream = false;
  Duration silence{};    // of a stream
  bool pending = true;   // a callback may still follow
  bool waiting = false;  // it is in a lane
  bool repeated = false;
  bool reauthorized = false;
  bool sent = false;  // once at least
  std::list<std::shared_ptr<State>>::iterator place;
  std::multimap<TimePoint, State*>::iterator alarm;
  std::shared_ptr<net::H1Client> wire;  // while it is on its way
  bool on_used_wire = false;
  int status = 0;
  std::string retry_after;
  std::string body;
  std::string told_to_wait;  // what the server said with its last 429
};

struct Client::Inner {
  using State = Call::State;
  using StatePtr = std::shared_ptr<State>;

  struct Waiting {
    std::optional<TokenBucket> bucket;
    TimePoint paused_until{};
    std::list<StatePtr> requests;  // those that go first before the others
    std::size_t connections_max = 0;

    [[nodiscard]] std::list<StatePtr>::iterator after_first() {
      return std::find_if(requests.begin(), requests.end(),
                          [](const StatePtr& each) { return !each->request.first; });
    }
  };

  Inner(boost::asio::io_context& loop, const Clock& its_clock, const log::Logger& logger,
        Access its_access, ClientOptions its_options, std::unique_ptr<ServerTls> its_tls);
  ~Inner();
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

  void begin(const StatePtr& state);
  void begin_stream(const StatePtr& state);
  void forget(const StatePtr& state);

  // The queue.
  void enqueue(const StatePtr& state);
  void requeue(const StatePtr& state);
  void leave_queue(State& state);
  void set_deadline(State& state, TimePoint at);
  void pump();
  bool pump_lane(Waiting& lane, TimePoint now);
  void expire(TimePoint now);
  void arm(TimePoint now);
  void end(const StatePtr& state, Answer answer);
  void drop(const StatePtr& state);

  // One exchange.
  void dispatch(const StatePtr& state, TimePoint now);
  std::shared_ptr<net::H1Client> take_wire();
  void keep_wire(std::shared_ptr<net::H1Client> wire);
  void exchange_ended(const StatePtr& state, const net::H1Client::Ending& ending);
  void answered(const StatePtr& state);
  void stream_head(const StatePtr& state, const http::ResponseHead& head);
  void stream_ended(const StatePtr& state, const std::string& why);
  void end_stream_later(const StatePtr& state, std::string why);

  [[nodiscard]] Waiting& lane_of(const State& state) {
    return lanes[static_cast<std::size_t>(state.request.lane)];
  }

  boost::asio::io_context& io;  // the three are the program's and outlive the client
  const Clock& clock;
  const log::Logger& log;
  Access access;
  ClientOptions options;
  std::shared_ptr<ServerTls> tls;
  Bearer bearer;
  Counts counts;
  std::array<Waiting, 3> lanes;
  std::size_t waiting = 0;
  std::map<std::string, State*, std::less<>> objects;  // the waiting request for each
  std::multimap<TimePoint, State*> alarms;
  std::unordered_map<State*, StatePtr> live;
  std::vector<std::shared_ptr<net::H1Client>> idle;
  std::size_t busy = 0;
  boost::asio::steady_timer timer;
  TimePoint armed_for{};
  Lifetime alive;
};

}  // namespace sluice::kube
