#pragma once

#include "common/log/log.h"
#include "common/loop/loop.h"

#include <boost/asio/io_context.hpp>

#include "memory-pressure/nri/nri_codec.h"
#include "memory-pressure/nri/trunk.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// The agent as a plugin of the runtime's NRI: it receives each start of a container before the
/// program begins, and again afterwards. It answers before it does anything else, refuses no start
/// and changes nothing: a start takes longer by one message there and back. A runtime without NRI,
/// or with it switched off, is dialled again each minute, one that was lost also at once. Used on
/// the io thread.
class NriPlugin {
 public:
  struct Options {
    std::string socket;  ///< of the runtime's NRI; empty: NRI is not used
  };

  /// Gets each start, once before its program begins and once after it has.
  using Received = std::function<void(const nri::Start&)>;

  static constexpr Duration kPause = std::chrono::minutes{1};
  static constexpr Duration kRegistrationLimit = std::chrono::seconds{10};

  /// All outlive this.
  NriPlugin(boost::asio::io_context& io, Loop& loop, const log::Logger& log, Options options,
            Received on_start);
  ~NriPlugin();
  NriPlugin(const NriPlugin&) = delete;
  NriPlugin& operator=(const NriPlugin&) = delete;

  /// Once.
  void start();

  /// The runtime sends its starts.
  [[nodiscard]] bool is_connected() const;

 private:
  struct Line;

  void connect();
  void connected();
  void read();
  void received(std::size_t size);
  [[nodiscard]] std::string take(const nri::Message& message, std::vector<nri::Start>& starts);
  [[nodiscard]] std::string called(const nri::Message& message, std::vector<nri::Start>& starts);
  [[nodiscard]] std::string answer_to(const nri::Call& call);
  void send(const nri::Message& message);
  void write();
  void fail(const std::string& why);
  [[nodiscard]] Duration pause_after_failure();
  void log_once(const std::string& what, const log::Logger::Field& more);

  boost::asio::io_context& io_;  // of App
  Loop& loop_;                   // of App
  const log::Logger& log_;       // of App
  Options options_;
  Received on_start_;
  std::unique_ptr<Timer> timer_;  // of the next attempt, or of the registration
  std::unique_ptr<Line> line_;    // while there is a connection, or an attempt at one
  std::uint32_t failures_;        // in a row, since the runtime was lost
  std::uint32_t drops_ = 0;       // in a row, each soon after the runtime sent starts
  std::string logged_;
};

}  // namespace sluice::node_agent
