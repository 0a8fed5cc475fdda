#pragma once

#include "autoscaler/core/share/buckets.h"
#include "autoscaler/core/share/lease_election.h"
#include "common/base/lifetime.h"
#include "common/kube/client.h"
#include "common/kube/informer.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// Where the leases are, and whose they are to be.
struct BucketLeasesSpec {
  std::string space;  ///< SYSTEM_NAMESPACE
  Holder self;
  LeaderElection rules;  ///< of `config-leader-election`
};

/// The buckets of this replica, by Lease objects on the API server: requests and events between a
/// client and the election. Belongs to one thread.
class BucketLeases {
 public:
  /// Called on the loop, never from within a method but start(), confirm() and
  /// release().
  struct Events {
    /// Which buckets are ours now, sorted, and the epoch they are held under. When the call
    /// returns, all work for buckets that are no longer listed has stopped.
    std::function<void(const std::vector<std::string>& owned, std::uint64_t epoch)> owned;
    /// A bucket's holder is another now; absent: none, or one that cannot be read.
    std::function<void(const std::string& bucket, const std::optional<Holder>& holder)> holder;
  };

  struct Counts {
    std::uint64_t taken = 0;     ///< buckets
    std::uint64_t lost = 0;      ///< otherwise than by release()
    std::uint64_t failures = 0;  ///< requests that failed
  };

  /// All references outlive this.
  BucketLeases(boost::asio::io_context& io, const Clock& clock, std::mt19937_64& random,
               const log::Logger& log, kube::Client& client, BucketLeasesSpec spec, Events events);
  ~BucketLeases();
  BucketLeases(const BucketLeases&) = delete;
  BucketLeases& operator=(const BucketLeases&) = delete;

  void start();

  /// Reports the leases that have expired by now. To be called before acting: the whole program may
  /// have been paused since the last event.
  void confirm() { pump(); }

  /// Gives every bucket back, at once as far as events.owned goes; holders are followed on. `done`
  /// is called when the leases say so, or `limit` is over.
  void release(Duration limit, std::function<void()> done);

  [[nodiscard]] const std::vector<std::string>& owned() const { return owned_; }

  [[nodiscard]] std::optional<Holder> holder(std::string_view bucket) const;

  [[nodiscard]] const std::vector<std::string>& buckets() const { return election_.buckets(); }

  [[nodiscard]] const Counts& counts() const { return counts_; }

  /// Why leases cannot be read or written now; empty: they can.
  [[nodiscard]] std::string problem() const;

 private:
  void observed(const kube::ObjectName& name, const std::optional<LeaseView>& lease);
  void pump();
  void send(const LeaseStep& step);
  void answered(std::uint64_t step, const std::string& bucket, const kube::Answer& answer);
  void tell();
  void arm();
  void finish_release();

  const Clock& clock_;
  const log::Logger& log_;
  kube::Client& client_;
  BucketLeasesSpec spec_;
  Events events_;
  std::string self_;
  LeaseElection election_;
  kube::Informer<LeaseView> informer_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer release_timer_;
  std::map<std::string, kube::Client::Call> calls_;  // by bucket
  std::vector<std::string> owned_;
  std::uint64_t told_epoch_ = 0;
  std::map<std::string, std::string, std::less<>> holders_;  // identities, as last reported
  std::function<void()> on_released_;
  std::string problem_;
  Counts counts_;
  bool releasing_ = false;
  Lifetime alive_;
};

}  // namespace sluice::autoscaler
