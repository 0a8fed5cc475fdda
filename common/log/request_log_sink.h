#pragma once

#include "common/log/log.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <string>

namespace sluice::log {

/// Writes lines of the request log to a descriptor from time to time, without ever waiting for its
/// reader. A reader that does not keep up loses lines, and the log has how many.
class RequestLogSink {
 public:
  static constexpr std::size_t kPendingMax = 256 * 1024;

  /// `descriptor` stays open and in its blocking mode, which others may share. `log` outlives the
  /// sink.
  RequestLogSink(boost::asio::io_context& io, int descriptor, const Logger& log);

  /// Where the next line is to be appended, at its whole length; nothing when there is no room.
  [[nodiscard]] std::string* line();

  /// A line was appended.
  void appended();

  /// Writes all that the reader takes now; at exit.
  void flush();

  /// Lines lost so far.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void arm();
  void write_some();

  const Logger& log_;
  boost::asio::steady_timer timer_;
  int descriptor_;
  std::string pending_;
  std::size_t written_ = 0;  // of pending_
  std::uint64_t dropped_ = 0;
  std::uint64_t told_ = 0;
  bool armed_ = false;
  bool broken_ = false;  // standard output is closed
};

}  // namespace sluice::log
