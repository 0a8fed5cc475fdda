#include "common/rpc/byte_message.h"

#include <grpcpp/support/byte_buffer.h>
#include <vector>

namespace sluice::rpc {

std::optional<std::string> bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return std::nullopt;
  std::string bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

grpc::ByteBuffer buffer_of(const std::string& bytes) {
  const grpc::Slice slice{bytes};
  return {&slice, 1};
}

}  // namespace sluice::rpc
