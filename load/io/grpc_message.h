#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// A message as gRPC has it in a body: uncompressed, behind its length in four bytes.
[[nodiscard]] inline std::string grpc_message(std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string out(1, '\0');
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    out += static_cast<char>((size >> shift) & 0xffU);
  }
  return out.append(message);
}

}  // namespace sluice::loadgen
