#include "autoscaler/core/share/stat_forwarding.h"

#include "autoscaler/core/activators/pushed_stat.h"
#include "common/base/check.h"
#include "common/ring/hash_ring.h"

#include <utility>

namespace sluice::autoscaler {

StatToForward to_forward(const proto::StatMessage& message, TimePoint now) {
  return {.revision = message.revision,
          .stat = figures_of(message.stat),
          .at = stamp_of(message.stat).value_or(now)};
}

proto::StatMessage message_of(const StatToForward& stat) {
  proto::StatMessage message;
  message.revision = stat.revision;
  message.stat.average_concurrent_requests = stat.stat.average_concurrency;
  message.stat.average_proxied_concurrent_requests = stat.stat.average_proxied_concurrency;
  message.stat.request_count = stat.stat.request_count;
  message.stat.proxied_request_count = stat.stat.proxied_request_count;
  message.stat.timestamp =
      std::chrono::floor<std::chrono::seconds>(stat.at).time_since_epoch().count();
  return message;
}

StatForwarding::StatForwarding(std::vector<std::string> buckets) : buckets_(std::move(buckets)) {
  CHECK(!buckets_.empty());
  for (const std::string& bucket : buckets_) holders_.emplace(bucket, BucketHolder{});
}

bool StatForwarding::set_holder(std::string_view bucket, BucketHolder holder) {
  const auto at = holders_.find(bucket);
  if (at == holders_.end() || at->second == holder) return false;
  at->second = std::move(holder);
  return true;
}

StatForwarding::Route StatForwarding::route(const RevisionId& revision) const {
  Route route;
  route.bucket = ring::bucket_owner(buckets_, revision.space + "/" + revision.name);
  const BucketHolder& holder = holders_.find(route.bucket)->second;
  if (holder.ours) {
    route.what = StatRoute::record;
  } else if (!holder.addresses.empty()) {
    route.what = StatRoute::forward;
    route.addresses = holder.addresses;
  }
  return route;
}

void StatForwarding::postpone(StatToForward stat, TimePoint now) {
  const bool nameable = stat.revision.space.size() <= kRevisionNameMax &&
                        stat.revision.name.size() <= kRevisionNameMax;
  if (!nameable || stat.retries >= kForwardRetriesMax) {
    ++dropped_;
    return;
  }
  if (backlog_.size() == kForwardBacklogMax) {
    backlog_.pop_front();
    ++dropped_;
  }
  ++stat.retries;
  backlog_.push_back({std::move(stat), now});
}

std::vector<StatToForward> StatForwarding::due(TimePoint now) {
  std::vector<StatToForward> stats;
  while (!backlog_.empty()) {
    const TimePoint since = backlog_.front().since;
    // A clock that stepped back must not hold a stat until it has caught up.
    if (now >= since && now - since < kForwardRetry) break;
    stats.push_back(std::move(backlog_.front().stat));
    backlog_.pop_front();
  }
  return stats;
}

std::optional<TimePoint> StatForwarding::next_due() const {
  if (backlog_.empty()) return std::nullopt;
  return backlog_.front().since + kForwardRetry;
}

}  // namespace sluice::autoscaler
