#include "autoscaler/core/share/buckets.h"

#include "common/base/check.h"
#include "common/values/duration.h"
#include "common/values/go_syntax.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::string_view kPrefix = "autoscaler-bucket";
constexpr std::size_t kPodNameMax = 253;  // of a DNS subdomain
constexpr std::size_t kAddressMax = 45;   // of the longest notation of an IPv6 address

std::string two_digits(std::int32_t number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

bool is_address(std::string_view text) {
  const auto known = text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
  return !text.empty() && text.size() <= kAddressMax && known;
}

Problem unreadable(std::string_view key, std::string_view value, std::string_view wanted) {
  return {std::string{key} + " \"" + std::string{value} + "\" cannot be read",
          "write " + std::string{wanted}};
}

std::optional<Problem> take_duration(const StringMap& data, std::string_view key, Duration& field) {
  const auto given = data.find(key);
  if (given == data.end()) return std::nullopt;
  const auto value = read_go_duration(given->second);
  if (!value) return unreadable(key, given->second, "a duration such as 15s or 1m30s");
  if (*value <= Duration{0}) {
    return Problem{std::string{key} + " \"" + given->second + "\" must be positive",
                   "accepted: a duration above 0s"};
  }
  field = *value;
  return std::nullopt;
}

std::optional<Problem> take_buckets(const StringMap& data, std::int32_t& field) {
  const auto given = data.find("buckets");
  if (given == data.end()) return std::nullopt;
  const auto value = read_go_int(given->second, 32);
  const std::string accepted = "1 to " + std::to_string(kBucketsMax);
  if (!value) return unreadable("buckets", given->second, "a whole number, " + accepted);
  if (*value < 1 || *value > kBucketsMax) {
    return Problem{"buckets \"" + given->second + "\" is out of range", "accepted: " + accepted};
  }
  field = static_cast<std::int32_t>(*value);
  return std::nullopt;
}

// A holder must notice that it lost its lease before another may take it, and must have tried more
// than once by then.
std::optional<Problem> out_of_order(const LeaderElection& config) {
  const auto too_long = [](std::string_view key, Duration value, std::string_view than,
                           Duration limit) {
    return Problem{std::string{key} + " \"" + show_duration(value) + "\" must be shorter than " +
                       std::string{than},
                   "accepted: a duration below " + show_duration(limit)};
  };
  if (config.renew_deadline >= config.lease_duration) {
    return too_long("renew-deadline", config.renew_deadline, "lease-duration",
                    config.lease_duration);
  }
  if (config.retry_period >= config.renew_deadline) {
    return too_long("retry-period", config.retry_period, "renew-deadline", config.renew_deadline);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> bucket_names(std::int32_t count) {
  CHECK(count >= 1 && count <= kBucketsMax);
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) {
    names.push_back(std::string{kPrefix} + "-" + two_digits(i) + "-of-" + two_digits(count));
  }
  return names;
}

Holders holders_of(std::span<const std::string> buckets, const Holder& self,
                   const std::function<std::optional<Holder>(const std::string& bucket)>& holder) {
  Holders all;
  std::map<std::string, Holder> others;
  for (const std::string& bucket : buckets) {
    const auto found = holder(bucket);
    // A holder of our name at another address was an earlier start of this pod.
    if (!found || (found->pod == self.pod && *found != self)) {
      all.unheld.push_back(bucket);
    } else if (*found != self) {
      others.emplace(found->pod, *found);
      if (&bucket == &buckets.front()) all.leader = *found;
    }
  }
  for (auto& [name, other] : others) all.others.push_back(std::move(other));
  return all;
}

std::string identity(const Holder& holder) {
  return holder.pod + "_" + holder.address;
}

Result<Holder, Problem> parse_identity(std::string_view identity) {
  const auto cut = identity.find('_');
  if (cut != std::string_view::npos && cut > 0 && cut <= kPodNameMax &&
      is_address(identity.substr(cut + 1))) {
    return Holder{std::string{identity.substr(0, cut)}, std::string{identity.substr(cut + 1)}};
  }
  return Problem{"holder \"" + std::string{identity.substr(0, kPodNameMax)} + "\" cannot be read",
                 "a holder is written <pod name>_<pod ip>"};
}

std::vector<std::string> holder_addresses(std::string_view bucket, const Holder& holder,
                                          const SystemDomain& system) {
  const bool six = holder.address.find(':') != std::string::npos;
  const std::string host = six ? "[" + holder.address + "]" : holder.address;
  return {"ws://" + host + ":8080",
          "ws://" + std::string{bucket} + "." + system.space + ".svc." + system.domain + ":8080"};
}

bool accepts_connection(std::string_view host, std::span<const std::string> owned) {
  if (!host.starts_with(kPrefix)) return true;
  const std::string_view bucket = host.substr(0, host.find_first_of(".:"));
  return std::find(owned.begin(), owned.end(), bucket) != owned.end();
}

bool leads(std::span<const std::string> all, std::span<const std::string> owned) {
  return !all.empty() && std::find(owned.begin(), owned.end(), all.front()) != owned.end();
}

Result<LeaderElection, Problem> parse_leader_election(const StringMap& data) {
  LeaderElection config;
  const std::array<std::pair<std::string_view, Duration*>, 6> durations{{
      {"leaseDuration", &config.lease_duration},
      {"renewDeadline", &config.renew_deadline},
      {"retryPeriod", &config.retry_period},
      {"lease-duration", &config.lease_duration},
      {"renew-deadline", &config.renew_deadline},
      {"retry-period", &config.retry_period},
  }};
  for (const auto& [key, field] : durations) {
    if (auto problem = take_duration(data, key, *field)) return std::move(*problem);
  }
  if (auto problem = take_buckets(data, config.buckets)) return std::move(*problem);
  if (auto problem = out_of_order(config)) return std::move(*problem);
  return config;
}

}  // namespace sluice::autoscaler
