#pragma once

#include "common/base/result.h"
#include "common/scaling/cluster_config.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Revisions are dealt out to buckets, and each bucket is held by one autoscaler replica
// (autoscaler.md 1.3, 10.1, 10.2): names, identities and settings, without the leases themselves.
namespace sluice::autoscaler {

inline constexpr std::int32_t kBucketsMax = 10;

/// Names of all `count` buckets in the lease mode: "autoscaler-bucket-00-of-03" and so on.
[[nodiscard]] std::vector<std::string> bucket_names(std::int32_t count);

/// Where the autoscaler itself lives, for the names of its services.
struct SystemDomain {
  std::string space;                     ///< its namespace
  std::string domain = "cluster.local";  ///< of the cluster
};

/// The replica that holds a bucket.
struct Holder {
  std::string pod;
  std::string address;  ///< an IP

  friend bool operator==(const Holder&, const Holder&) = default;
};

/// Who holds buckets, as one of the replicas sees it.
struct Holders {
  std::vector<Holder> others{};       ///< other replicas, each name once, in the order of names
  std::vector<std::string> unheld{};  ///< buckets that no replica is known to hold
  std::optional<Holder> leader{};     ///< of the first bucket; absent: `self`, or none

  friend bool operator==(const Holders&, const Holders&) = default;
};

/// From the holder of each bucket, if one is known.
[[nodiscard]] Holders holders_of(
    std::span<const std::string> buckets, const Holder& self,
    const std::function<std::optional<Holder>(const std::string& bucket)>& holder);

/// What a holder writes into its lease: "<pod>_<address>".
[[nodiscard]] std::string identity(const Holder& holder);

/// Reads the holder written into a lease. On a problem the caller warns and ignores the change.
[[nodiscard]] Result<Holder, Problem> parse_identity(std::string_view identity);

/// Where the holder of `bucket` takes stats, in the order they are tried: the replica itself, then
/// the bucket's service for clusters that do not let pods reach each other by IP.
[[nodiscard]] std::vector<std::string> holder_addresses(std::string_view bucket,
                                                        const Holder& holder,
                                                        const SystemDomain& system);

/// Whether a connection whose Host header is `host` is accepted. One that names a bucket is meant
/// for its owner; after a refusal the sender looks up the owner again. Any other host is accepted.
[[nodiscard]] bool accepts_connection(std::string_view host, std::span<const std::string> owned);

/// Whether the replica that holds `owned` of all buckets leads: it holds the first one.
[[nodiscard]] bool leads(std::span<const std::string> all, std::span<const std::string> owned);

/// The keys of `config-leader-election`. The initial values are the documented defaults.
struct LeaderElection {
  std::int32_t buckets = 1;
  Duration lease_duration = std::chrono::seconds{60};  ///< a lease not renewed so long is free
  Duration renew_deadline = std::chrono::seconds{40};  ///< a holder gives up after trying so long
  Duration retry_period = std::chrono::seconds{10};    ///< between two tries

  friend bool operator==(const LeaderElection&, const LeaderElection&) = default;
};

/// Reads `data` over the defaults. Durations have an older camelCase name too; it is read first, so
/// that the dashed one wins where both are given. Unknown keys are ignored.
[[nodiscard]] Result<LeaderElection, Problem> parse_leader_election(const StringMap& data);

}  // namespace sluice::autoscaler
