#pragma once

#include "common/log/log.h"
#include "common/rpc/client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>

namespace sluice::node_agent {

/// Receives the runtime's events of containers that were made, started, ended or removed, so that
/// the next look at them comes at once: CRI's GetContainerEvents, and those of containerd's own
/// service on the same socket. Both are asked once, and one that the runtime lacks is left alone:
/// containerd before 1.7 has only its own, CRI-O only CRI's. What has happened is read from the
/// list; only a start in containerd's stream, which has its process, is passed on. Used on the io
/// thread.
class ContainerEvents {
 public:
  struct Receivers {
    /// Runs for the first event, and once for all that follow within kPause.
    std::function<void()> news;
    /// The program of a container, or of a pod's sandbox, begins in this process.
    std::function<void(const std::string& id, pid_t pid)> started;
  };

  ContainerEvents(boost::asio::io_context& io, const log::Logger& log, Receivers receivers);

  static constexpr Duration kPause = std::chrono::milliseconds{100};

  /// Listens to the runtime on a Unix socket, and again whenever it ends a call. Once.
  void start(const std::string& socket);

  /// Keeps the io_context no longer.
  void stop();

  /// The runtime has no events.
  [[nodiscard]] bool unsupported() const { return absent_ == kStreams; }

 private:
  using Stream = std::unique_ptr<rpc::Client>;

  static constexpr int kStreams = 2;

  void subscribe(Stream& stream, rpc::ClientOptions call, std::function<void(std::string)> heard);
  void heard();
  void heard_of_task(const std::string& bytes);
  void closed(Stream& stream, const rpc::Client::Closed& closed);

  boost::asio::io_context& io_;  // of App
  const log::Logger& log_;       // of App
  Receivers receivers_;
  Stream cri_;
  Stream containerd_;
  boost::asio::steady_timer pause_;
  int absent_ = 0;  // streams that the runtime lacks
  bool pausing_ = false;
  bool again_ = false;  // something happened in the pause
};

}  // namespace sluice::node_agent
