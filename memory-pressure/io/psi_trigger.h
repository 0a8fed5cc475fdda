#pragma once

#include "common/base/lifetime.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::node_agent {

/// Asks the kernel to wake us when memory stalls begin, between two samples. A wake-up only: the
/// timer stays the truth (memory-pressure.md 5.1).
class PsiTrigger {
 public:
  /// Writes a trigger to an open file; 0 or errno. Replaced by tests.
  using Write = std::function<int(int descriptor, std::string_view trigger)>;

  /// `woken` runs on the io thread.
  PsiTrigger(boost::asio::io_context& io, std::function<void()> woken);
  PsiTrigger(boost::asio::io_context& io, std::function<void()> woken, Write write);

  /// `path`: a file of stall information. Returns the window that the kernel has taken, in seconds:
  /// 1, or 2 where the privilege for less is missing (row 60); 0: no trigger, the timer must do.
  int arm(const std::string& path);

 private:
  void wait();

  boost::asio::posix::stream_descriptor file_;
  std::function<void()> woken_;
  Write write_;
  Lifetime alive_;
};

}  // namespace sluice::node_agent
