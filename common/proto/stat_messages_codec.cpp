#include "common/proto/stat_messages_codec.h"

#include "common/proto/stat_fields.h"

#include <proto/stat.pb.h>
#include <utility>

namespace sluice::proto {

std::string encode_stat_messages(std::span<const StatMessage> messages) {
  metrics::WireStatMessages wire;
  for (const StatMessage& message : messages) write_stat_message(message, *wire.add_messages());
  return wire.SerializeAsString();
}

Result<std::vector<StatMessage>> decode_stat_messages(std::string_view bytes) {
  if (bytes.size() > kStatFrameBytesMax) return Error::too_large;
  metrics::WireStatMessages wire;
  if (!wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error::bad_request;
  }
  if (static_cast<std::size_t>(wire.messages_size()) > kFrameStatsMax) return Error::too_large;
  std::vector<StatMessage> messages;
  messages.reserve(static_cast<std::size_t>(wire.messages_size()));
  for (const metrics::WireStatMessage& each : wire.messages()) {
    if (auto message = read_stat_message(each)) messages.push_back(std::move(*message));
  }
  return messages;
}

}  // namespace sluice::proto
