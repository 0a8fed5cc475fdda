#include "autoscaler/core/buckets.h"

#include "autoscaler/core/go_syntax.h"
#include "common/base/check.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::string_view kPrefix = "autoscaler-bucket";
constexpr std::size_t kPodNameMax = 253;  // of a DNS subdomain
constexpr std::size_t kAddressMax = 45;   // of the longest notation of an IPv6 address
constexpr std::int64_t kPortMax = 65535;

std::string two_digits(std::int32_t number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

// Absent or empty: whoever sets a variable to nothing has not set it.
std::string found(const StringMap& environment, std::string_view key) {
  const auto at = environment.find(key);
  return at == environment.end() ? "" : at->second;
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

Result<Holder, Problem> read_self(const StringMap& environment) {
  Holder self{found(environment, "POD_NAME"), found(environment, "POD_IP")};
  if (self.pod.empty()) return Problem{"POD_NAME is not set", "set it to the name of this pod"};
  if (self.address.empty()) return Problem{"POD_IP is not set", "set it to the IP of this pod"};
  // Read back as others will: what they would ignore must not get into a lease.
  if (auto read = parse_identity(identity(self)); !read || *read != self) {
    return Problem{
        "POD_NAME \"" + self.pod + "\" and POD_IP \"" + self.address + "\" make no holder identity",
        "set them to the name and the IP of this pod"};
  }
  return self;
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

std::optional<StatefulReplica> read_stateful(const StringMap& environment, std::int32_t buckets) {
  const std::string name = found(environment, "STATEFUL_CONTROLLER_ORDINAL");
  const auto dash = name.rfind('-');
  if (dash == std::string::npos || dash == 0) return std::nullopt;
  const std::string digits = name.substr(dash + 1);
  const auto ordinal = read_go_int(digits, 32);
  if (!ordinal || digits.front() == '+' || *ordinal >= buckets) return std::nullopt;

  StatefulReplica self;
  self.set = name.substr(0, dash);
  self.ordinal = static_cast<std::int32_t>(*ordinal);
  self.service = found(environment, "STATEFUL_SERVICE_NAME");
  if (self.service.empty()) return std::nullopt;
  if (const std::string text = found(environment, "STATEFUL_SERVICE_PORT"); !text.empty()) {
    const auto port = read_go_int(text, 32);
    if (!port || *port < 1 || *port > kPortMax) return std::nullopt;
    self.port = static_cast<std::int32_t>(*port);
  }
  if (std::string text = found(environment, "STATEFUL_SERVICE_PROTOCOL"); !text.empty()) {
    self.protocol = std::move(text);
  }
  return self;
}

std::vector<std::string> stateful_bucket_names(const StatefulReplica& self, std::int32_t count,
                                               const SystemDomain& system) {
  CHECK(count >= 1 && count <= kBucketsMax);
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) {
    names.push_back(self.protocol + "://" + self.set + "-" + std::to_string(i) + "." +
                    self.service + "." + system.space + ".svc." + system.domain + ":" +
                    std::to_string(self.port));
  }
  return names;
}

}  // namespace sluice::autoscaler
