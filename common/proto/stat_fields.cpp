#include "common/proto/stat_fields.h"

#include <proto/stat.pb.h>

namespace sluice::proto {

bool is_revision_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax;
}

void write_stat(const Stat& stat, metrics::Stat& wire) {
  wire.set_pod_name(stat.pod_name);
  wire.set_average_concurrent_requests(stat.average_concurrent_requests);
  wire.set_average_proxied_concurrent_requests(stat.average_proxied_concurrent_requests);
  wire.set_request_count(stat.request_count);
  wire.set_proxied_request_count(stat.proxied_request_count);
  wire.set_process_uptime(stat.process_uptime);
  wire.set_timestamp(stat.timestamp);
}

Stat read_stat(const metrics::Stat& wire) {
  Stat stat;
  stat.pod_name = wire.pod_name();
  stat.average_concurrent_requests = wire.average_concurrent_requests();
  stat.average_proxied_concurrent_requests = wire.average_proxied_concurrent_requests();
  stat.request_count = wire.request_count();
  stat.proxied_request_count = wire.proxied_request_count();
  stat.process_uptime = wire.process_uptime();
  stat.timestamp = wire.timestamp();
  return stat;
}

}  // namespace sluice::proto
