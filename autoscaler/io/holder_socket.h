#pragma once

#include "autoscaler/core/share/stat_forwarding.h"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// A WebSocket to the replica that holds a bucket. The first of its addresses that answers within
/// half a second is kept until it breaks. Dials when there is something to send. Belongs to one
/// thread.
class HolderSocket {
 public:
  using Stats = std::vector<StatToForward>;

  struct Events {
    std::function<void(std::size_t)> sent;  ///< so many were written
    std::function<void(Stats)> failed;      ///< these went nowhere; from the loop
  };

  /// Most stats that wait for a connection or for their turn.
  static constexpr std::size_t kWaitingMax = 10'000;

  HolderSocket(boost::asio::io_context& io, std::vector<std::string> addresses, Events events);

  /// Closes at once; what was not sent is forgotten.
  ~HolderSocket();
  HolderSocket(const HolderSocket&) = delete;
  HolderSocket& operator=(const HolderSocket&) = delete;

  /// Those for which there is no room come back in `failed`.
  void send(Stats stats);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with operations that end later than this
};

/// A frame of stats as they are sent on, with the stamps they came with.
[[nodiscard]] std::string frame_of(std::span<const StatToForward> stats);

}  // namespace sluice::autoscaler
