#include "autoscaler/io/refusals.h"

namespace sluice::autoscaler {
namespace {

// `ipv4:10.0.0.1:40123` without its port.
std::string host_of(const std::string& peer) {
  const std::size_t colon = peer.rfind(':');
  const bool with_port = colon != std::string::npos && peer.find(':') != colon &&
                         peer.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return with_port ? peer.substr(0, colon) : peer;
}

}  // namespace

std::optional<std::uint64_t> Refusals::noted(std::string_view reason, const std::string& peer) {
  auto counted = counts_.find(reason);
  if (counted == counts_.end()) counted = counts_.emplace(reason, 0).first;
  ++counted->second;
  return notes_.note(host_of(peer), reason, clock_.now());
}

void Refusals::tell(std::string_view reason, const std::string& peer, std::uint64_t count,
                    const std::string& why) const {
  log_.write(log::Severity::warning,
             "a peer is refused; further refusals like it are only counted for an hour",
             {{"peer", host_of(peer)},
              {"reason", std::string{reason}},
              {"times", std::to_string(count)},
              {"why", why}});
}

void Refusals::write_metrics(metrics::Families& families) const {
  families.family("sluice_autoscaler_refused_total", metrics::MetricType::counter,
                  "Connections, calls and claims refused, by reason");
  for (const auto& [reason, count] : counts_) {
    families.value({{"reason", reason}}, count);
  }
}

}  // namespace sluice::autoscaler
