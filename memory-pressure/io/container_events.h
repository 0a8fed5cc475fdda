#pragma once

#include "common/log/log.h"
#include "common/rpc/client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>

namespace sluice::node_agent {

/// Receives the runtime's events of containers that were made, started, ended or removed (CRI's
/// GetContainerEvents), so that the next look at them comes at once. A mere wake-up: what has
/// happened is read from the list. A runtime that has no such stream, containerd before 1.7, is
/// asked once and left alone. Used on the io thread.
class ContainerEvents {
 public:
  /// `news` runs for the first event, and once for all that follow within kPause.
  ContainerEvents(boost::asio::io_context& io, const log::Logger& log, std::function<void()> news);

  static constexpr Duration kPause = std::chrono::milliseconds{100};

  /// Listens to the runtime on a Unix socket, and again whenever it ends the call. Once.
  void start(const std::string& socket);

  /// Keeps the io_context no longer.
  void stop();

  /// The runtime has no events.
  [[nodiscard]] bool unsupported() const { return unsupported_; }

 private:
  void heard();
  void closed(const rpc::Client::Closed& closed);

  boost::asio::io_context& io_;  // of App
  const log::Logger& log_;       // of App
  std::function<void()> news_;
  std::unique_ptr<rpc::Client> client_;
  boost::asio::steady_timer pause_;
  bool pausing_ = false;
  bool again_ = false;  // something happened in the pause
  bool unsupported_ = false;
};

}  // namespace sluice::node_agent
