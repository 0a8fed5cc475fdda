#pragma once

#include "common/base/lifetime.h"
#include "common/base/result.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sluice::node_agent {

/// The agent's end of its guardian: a process of the same program that gives back what the journal
/// lists when the agent is gone, or hangs, for longer than the lease (memory-pressure.md 5.7).
class Guardian {
 public:
  struct Options {
    std::string state_dir;
    std::string socket;  ///< path of the runtime's
    std::string memory_source = "proc";
    double lower = 0;  ///< as RestorationOptions
    Duration lease = std::chrono::seconds{10};
    std::string program = "/proc/self/exe";  ///< tests only set another
  };

  Guardian(boost::asio::io_context& io, const log::Logger& log, Options options);

  /// Leaves the guardian to its task: without a word from us it does it when the lease has passed.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Starts the process, renews its lease from now on, and starts another if it ends.
  [[nodiscard]] std::optional<Problem> start();

  /// Everything was given back: the guardian may go.
  void dismiss();

  /// Whether we said nothing for as long as the lease, because we were frozen or hung: the guardian
  /// may have given everything back, or be at it.
  [[nodiscard]] bool lapsed();

  /// Ends the process, whatever it is at, so that no other process acts in our name.
  void end();

  /// 0: none runs.
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  [[nodiscard]] std::optional<Problem> spawn();
  void renew();
  void watch_line();
  void again();
  void bury();

  const log::Logger& log_;  // of App
  Options options_;
  Clock clock_;
  boost::asio::posix::stream_descriptor line_;
  boost::asio::steady_timer timer_;
  pid_t pid_ = 0;
  TimePoint renewed_at_;
  bool lapsed_ = false;
  bool wanted_ = false;
  Lifetime alive_;
};

/// The guardian's end. Reads the agent's words from a descriptor until the agent has dismissed it
/// or the lease has passed.
class Vigil {
 public:
  enum class End : unsigned char {
    dismissed,  ///< nothing to do
    lapsed,     ///< the lease has passed without a word
  };

  Vigil(boost::asio::io_context& io, int descriptor, Duration lease);

  /// `done` runs once.
  void keep(std::function<void(End)> done);

  /// Ends the lease of an agent that is gone at once.
  void hurry();

  /// The agent has ended without a word.
  [[nodiscard]] bool agent_is_gone() const { return gone_; }

 private:
  void listen();
  void renew();
  void end(End how);

  boost::asio::posix::stream_descriptor line_;
  boost::asio::steady_timer timer_;
  Duration lease_;
  std::function<void(End)> done_;
  char word_ = 0;
  bool gone_ = false;
};

/// The descriptor that the guardian reads its line from.
inline constexpr int kGuardLine = 3;

/// Words on the line between the two.
inline constexpr char kStillHere = '.';
inline constexpr char kDismissed = 'q';

}  // namespace sluice::node_agent
