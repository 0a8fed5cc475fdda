#include "common/proto/stat_fields.h"

#include "common/messages/activator_stream.h"

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

void write_stat_message(const StatMessage& message, metrics::WireStatMessage& wire) {
  wire.set_namespace_(message.revision.space);
  wire.set_name(message.revision.name);
  write_stat(message.stat, *wire.mutable_stat());
}

std::optional<StatMessage> read_stat_message(const metrics::WireStatMessage& wire) {
  if (!wire.has_stat() || wire.stat().pod_name().size() > kNameBytesMax ||
      !is_revision_name(wire.namespace_()) || !is_revision_name(wire.name())) {
    return std::nullopt;
  }
  return StatMessage{{wire.namespace_(), wire.name()}, read_stat(wire.stat())};
}

}  // namespace sluice::proto
