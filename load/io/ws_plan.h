#pragma once

#include "load/core/load_plan.h"
#include <cstdint>
#include <string>

namespace sluice::loadgen {

/// What all sessions of WebSocket with one target send.
struct WsPlan {
  /// `seed`: of the key of the handshake and of the mask.
  WsPlan(const TargetPlan& plan, std::uint64_t seed);

  std::string head;    ///< of the handshake, whole
  std::string accept;  ///< what the server has to answer to its key
  std::string frame;   ///< one message, masked
};

/// A control frame of a client: `opcode` 8 to 10, at most 125 bytes.
[[nodiscard]] std::string ws_control_frame(unsigned char opcode, std::string_view payload);

}  // namespace sluice::loadgen
