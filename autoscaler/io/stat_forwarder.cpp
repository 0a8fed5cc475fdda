#include "autoscaler/io/stat_forwarder.h"

#include "autoscaler/core/share/stat_forwarding.h"
#include "autoscaler/io/holder_socket.h"
#include "common/base/lifetime.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace sluice::autoscaler {
struct StatForwarder::Inside {
  Inside(boost::asio::io_context& context, const Clock& time, const log::Logger& logger,
         Holder myself, std::vector<std::string> all, SystemDomain where, Record to)
      : io{context},
        clock{time},
        log{logger},
        self{std::move(myself)},
        system{std::move(where)},
        record{std::move(to)},
        forwarding{std::move(all)},
        timer{context} {}

  void route(std::vector<StatToForward> stats);
  void failed(const std::string& bucket, std::vector<StatToForward> stats);
  void apply(const std::string& bucket);
  void arm();

  boost::asio::io_context& io;
  const Clock& clock;
  const log::Logger& log;
  Holder self;
  SystemDomain system;
  Record record;
  StatForwarding forwarding;
  boost::asio::steady_timer timer;
  std::set<std::string, std::less<>> owned;
  std::map<std::string, Holder> holders;
  std::map<std::string, std::unique_ptr<HolderSocket>> sockets;  // by bucket
  std::set<std::string> told;  // buckets whose holder could not be reached, as logged
  Counts counts;
  Lifetime alive;
};

void StatForwarder::Inside::route(std::vector<StatToForward> stats) {
  std::vector<proto::StatMessage> ours;
  std::map<std::string, std::pair<std::vector<std::string>, HolderSocket::Stats>> others;
  for (StatToForward& stat : stats) {
    const StatForwarding::Route route = forwarding.route(stat.revision);
    switch (route.what) {
      case StatRoute::record:
        ours.push_back(message_of(stat));
        break;
      case StatRoute::forward: {
        auto& [addresses, batch] = others[route.bucket];
        if (addresses.empty()) addresses.assign(route.addresses.begin(), route.addresses.end());
        batch.push_back(std::move(stat));
        break;
      }
      case StatRoute::wait:
        forwarding.postpone(std::move(stat), clock.now());
        break;
    }
  }
  for (auto& [bucket, other] : others) {
    std::unique_ptr<HolderSocket>& socket = sockets[bucket];
    if (!socket) {
      socket = std::make_unique<HolderSocket>(
          io, std::move(other.first),
          HolderSocket::Events{
              .sent =
                  [this, bucket = bucket](std::size_t count) {
                    counts.forwarded += count;
                    told.erase(bucket);
                  },
              .failed = [this, bucket = bucket](
                            HolderSocket::Stats back) { failed(bucket, std::move(back)); }});
    }
    socket->send(std::move(other.second));
  }
  arm();
  if (!ours.empty()) record(ours);
}

void StatForwarder::Inside::failed(const std::string& bucket, std::vector<StatToForward> stats) {
  ++counts.failures;
  if (told.insert(bucket).second) {
    log.write(log::Severity::warning, "stats cannot be sent to the holder of their bucket yet",
              {{"bucket", bucket}});
  }
  for (StatToForward& stat : stats) forwarding.postpone(std::move(stat), clock.now());
  arm();
}

void StatForwarder::Inside::apply(const std::string& bucket) {
  BucketHolder holder{.ours = owned.contains(bucket), .addresses = {}};
  const auto known = holders.find(bucket);
  // A lease in our name that we do not hold is one we have just lost, or are about to take.
  if (!holder.ours && known != holders.end() && known->second != self) {
    holder.addresses = holder_addresses(bucket, known->second, system);
  }
  // Not from within an event of the socket that goes.
  if (!forwarding.set_holder(bucket, std::move(holder))) return;
  const auto socket = sockets.find(bucket);
  if (socket == sockets.end()) return;
  boost::asio::post(io, [last = std::shared_ptr<HolderSocket>{std::move(socket->second)}] {});
  sockets.erase(socket);
}

void StatForwarder::Inside::arm() {
  const auto due = forwarding.next_due();
  if (!due) return;
  timer.expires_after(std::max(Duration{0}, *due - clock.now()));
  timer.async_wait([this, still = alive.watch()](const boost::system::error_code& ec) {
    if (ec || still.over()) return;
    route(forwarding.due(clock.now()));
  });
}

StatForwarder::StatForwarder(boost::asio::io_context& io, const Clock& clock,
                             const log::Logger& log, Holder self, std::vector<std::string> buckets,
                             SystemDomain system, Record record)
    : inside_{std::make_unique<Inside>(io, clock, log, std::move(self), std::move(buckets),
                                       std::move(system), std::move(record))} {}

StatForwarder::~StatForwarder() = default;

void StatForwarder::take(std::span<const proto::StatMessage> messages) {
  const TimePoint now = inside_->clock.now();
  std::vector<StatToForward> stats;
  stats.reserve(messages.size());
  for (const proto::StatMessage& message : messages) stats.push_back(to_forward(message, now));
  inside_->route(std::move(stats));
}

void StatForwarder::set_owned(std::span<const std::string> owned) {
  std::set<std::string> touched{owned.begin(), owned.end()};
  touched.insert(inside_->owned.begin(), inside_->owned.end());
  inside_->owned = {owned.begin(), owned.end()};
  for (const std::string& bucket : touched) inside_->apply(bucket);
}

void StatForwarder::holder_is(const std::string& bucket, const std::optional<Holder>& holder) {
  if (holder) {
    inside_->holders[bucket] = *holder;
  } else {
    inside_->holders.erase(bucket);
  }
  inside_->apply(bucket);
}

StatForwarder::Counts StatForwarder::counts() const {
  Counts counts = inside_->counts;
  counts.dropped = inside_->forwarding.dropped();
  return counts;
}

}  // namespace sluice::autoscaler
