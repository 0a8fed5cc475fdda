#include "common/proto/stat_codec.h"

#include <proto/stat.pb.h>

namespace sluice::proto {

std::string encode(const Stat& stat) {
  metrics::Stat message;
  message.set_pod_name(stat.pod_name);
  message.set_average_concurrent_requests(stat.average_concurrent_requests);
  message.set_average_proxied_concurrent_requests(stat.average_proxied_concurrent_requests);
  message.set_request_count(stat.request_count);
  message.set_proxied_request_count(stat.proxied_request_count);
  message.set_process_uptime(stat.process_uptime);
  message.set_timestamp(stat.timestamp);
  return message.SerializeAsString();
}

Result<Stat> decode_stat(std::string_view bytes) {
  metrics::Stat message;
  if (bytes.size() > kStatBytesMax ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error::bad_request;
  }
  Stat stat;
  stat.pod_name = message.pod_name();
  stat.average_concurrent_requests = message.average_concurrent_requests();
  stat.average_proxied_concurrent_requests = message.average_proxied_concurrent_requests();
  stat.request_count = message.request_count();
  stat.proxied_request_count = message.proxied_request_count();
  stat.process_uptime = message.process_uptime();
  stat.timestamp = message.timestamp();
  return stat;
}

}  // namespace sluice::proto
