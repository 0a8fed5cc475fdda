#pragma once

#include "memory-pressure/core/node.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::node_agent {

/// Why a container is never throttled nor sacrificed (memory-pressure.md 5.2).
enum class Exemption : std::uint8_t {
  opt_out,         ///< annotated `sluice.dev/throttle: never`
  lock_holder,     ///< others would wait for what it holds
  system,          ///< the node would suffer with it
  init,            ///< gates the start of a pod whose memory is held meanwhile
  request_proxy,   ///< requests of healthy containers pass through it
  exclusive_cpus,  ///< its cores would idle
  undescribed,     ///< it may be any of the above: the runtime has not said yet
  sibling,         ///< pauses with its whole pod, in which one of the above applies
};

/// Why `container` may not be touched; absent: it may. `node` is where its siblings are found.
[[nodiscard]] std::optional<Exemption> exemption(const Container& container,
                                                 std::span<const Container> node);

[[nodiscard]] std::string_view name(Exemption why);

}  // namespace sluice::node_agent
