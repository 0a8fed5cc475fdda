#include "common/proto/stat_codec.h"

#include "common/proto/stat_fields.h"

#include <proto/stat.pb.h>

namespace sluice::proto {

std::string encode(const Stat& stat) {
  metrics::Stat message;
  write_stat(stat, message);
  return message.SerializeAsString();
}

Result<Stat> decode_stat(std::string_view bytes) {
  metrics::Stat message;
  if (bytes.size() > kStatBytesMax ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error::bad_request;
  }
  return read_stat(message);
}

}  // namespace sluice::proto
