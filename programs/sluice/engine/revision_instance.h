#pragma once

#include "programs/sluice/engine/revision.h"

namespace sluice::local {

/// A replica as its revision sees it.
struct Revision::Instance {
  std::unique_ptr<Replica> replica;
  std::int32_t number = 0;
  std::optional<TimePoint> ready_at;
  std::unique_ptr<boost::asio::steady_timer> drain_timer;
  bool draining = false;   // takes no new requests
  bool throttled = false;  // takes none while another can, and is no capacity
  bool ended = false;      // failed or exited; only its remains are waited for

  [[nodiscard]] bool counts() const { return !draining && !ended; }

  [[nodiscard]] bool is_ready() const { return counts() && ready_at.has_value(); }
};

}  // namespace sluice::local
