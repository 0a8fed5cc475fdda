#pragma once

#include <optional>
#include <string>

namespace grpc {
class ByteBuffer;
}

namespace sluice::rpc {

/// The bytes of a message that gRPC received; absent when it cannot be read.
[[nodiscard]] std::optional<std::string> bytes_of(const grpc::ByteBuffer& buffer);

/// A message for gRPC to send.
[[nodiscard]] grpc::ByteBuffer buffer_of(const std::string& bytes);

}  // namespace sluice::rpc
