#pragma once

#include <string_view>
#include <vector>

namespace sluice::local {

/// Tells the service manager that started us something, such as "READY=1" or "WATCHDOG=1", over
/// NOTIFY_SOCKET; does nothing without one.
void notify_init(std::string_view state);

/// Listening sockets passed by the service manager (LISTEN_PID, LISTEN_FDS), in order.
[[nodiscard]] std::vector<int> passed_sockets();

}  // namespace sluice::local
