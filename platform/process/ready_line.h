#pragma once

#include "common/base/lifetime.h"

#include <boost/asio/posix/stream_descriptor.hpp>

#include "platform/process/unique_fd.h"
#include <array>
#include <functional>
#include <string>

namespace sluice::local {

/// The line that a program of ours writes to SLUICE_READY_FD once its listeners are bound.
class ReadyLine {
 public:
  /// `io` outlives this.
  explicit ReadyLine(boost::asio::io_context& io);
  ReadyLine(const ReadyLine&) = delete;
  ReadyLine(ReadyLine&&) = delete;
  ReadyLine& operator=(const ReadyLine&) = delete;
  ReadyLine& operator=(ReadyLine&&) = delete;
  ~ReadyLine();

  /// Calls `on_line` once, from the loop, when a line has come through `pipe`.
  void await(UniqueFd pipe, std::function<void()> on_line);

  /// No line is awaited any more.
  void close();

 private:
  void read();

  boost::asio::posix::stream_descriptor pipe_;
  std::array<char, 512> chunk_{};
  std::string text_;
  std::function<void()> on_line_;
  Lifetime alive_;
};

}  // namespace sluice::local
