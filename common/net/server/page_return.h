#pragma once

#include "common/base/lifetime.h"
#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <memory>

namespace sluice::net {

/// For a program whose buffers of bodies come and go, at its start: giving their pages back each
/// time costs more than keeping a megabyte.
void keep_freed_pages();

/// Gives the pages of freed memory back to the system a moment after much has been freed: the
/// allocator keeps what lies between blocks in use, which after a flood is nearly all of it.
/// Belongs to one thread.
class PageReturn {
 public:
  explicit PageReturn(boost::asio::io_context& io) : timer_{io} {}

  ~PageReturn() { alive_.end(); }

  PageReturn(const PageReturn&) = delete;
  PageReturn& operator=(const PageReturn&) = delete;

  /// `bytes` have been freed, or are before the next turn of the loop ends. Small sums add up.
  void freed(std::size_t bytes) {
    freed_ += bytes;
    if (freed_ >= kMuch && !waiting_) wait();
  }

 private:
  /// Less than this is not worth the look for pages.
  static constexpr std::size_t kMuch = 4 << 20;

  void wait();

  boost::asio::steady_timer timer_;
  std::size_t freed_ = 0;
  bool waiting_ = false;
  Lifetime alive_;
};

}  // namespace sluice::net
