#pragma once

#include "autoscaler/core/share/buckets.h"
#include "autoscaler/io/fleet.h"
#include "autoscaler/io/health_page.h"
#include "autoscaler/io/stat_forwarder.h"
#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/messages/stat.h"
#include "common/metrics/families.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "platform/kubernetes/io/bucket_leases.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace sluice::autoscaler {

struct BucketShareSpec {
  Holder self;
  std::string space;   ///< SYSTEM_NAMESPACE
  std::string domain;  ///< of the cluster
};

/// The part of the revisions that this replica scales, among several (autoscaler.md 10): leases say
/// which buckets are ours, and stats of other buckets are forwarded to their holders. A bucket that
/// becomes ours comes without its last holder's data: nothing in it is lowered for one stable
/// window. Belongs to one thread.
class BucketShare {
 public:
  struct Events {
    /// Which of `all` buckets are ours now. When the call returns, all work for buckets that are no
    /// longer listed has stopped.
    std::function<void(const std::vector<std::string>& all, const std::vector<std::string>& owned,
                       std::uint64_t epoch)>
        owned;
  };

  /// All references outlive this.
  BucketShare(boost::asio::io_context& io, const Clock& clock, std::mt19937_64& random,
              const log::Logger& log, kube::Client& client, Fleet& fleet, BucketShareSpec spec,
              Events events);

  /// Reads `config-leader-election`, then takes part in the leases. Nothing is ours before
  /// events.owned is called.
  void start();

  /// Before anything is written: events.owned is called at once if leases have expired.
  void confirm() {
    if (leases_ != nullptr) leases_->confirm();
  }

  /// Pushed stats, of any revisions.
  void pushed(std::span<const proto::StatMessage> messages);

  /// Gives everything back; `done` when that is over, or after `limit`.
  void leave(Duration limit, std::function<void()> done);

  /// The other replica that governs a revision of that name; absent: this one does, or none is
  /// known.
  [[nodiscard]] std::optional<Holder> elsewhere(const RevisionId& revision) const;

  /// All of them; absent: it is not known yet which buckets there are.
  [[nodiscard]] std::optional<Holders> holders() const;

  [[nodiscard]] HealthCheck check() const;
  void write_metrics(metrics::Families& families) const;

 private:
  void read_rules();
  void stand(const LeaderElection& rules);
  void owned(const std::vector<std::string>& owned, std::uint64_t epoch);

  boost::asio::io_context& io_;
  const Clock& clock_;
  std::mt19937_64& random_;
  const log::Logger& log_;
  kube::Client& client_;
  Fleet& fleet_;
  BucketShareSpec spec_;
  Events events_;
  boost::asio::steady_timer retry_;
  kube::Client::Call call_;
  std::optional<StatForwarder> forwarder_;
  std::unique_ptr<BucketLeases> leases_;
  std::vector<std::string> owned_;
};

}  // namespace sluice::autoscaler
