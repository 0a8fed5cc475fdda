#pragma once

#include "common/base/lifetime.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <memory>

namespace sluice::net {

/// Tells when the peer of a socket has finished sending although this side does not read from that
/// socket: a request that waits in a queue leaves its body unread, and its client may leave
/// meanwhile. Asio's own reactor does not ask the kernel for that event.
class HangupWatch {
 public:
  using Hangup = std::function<void(void*)>;

  /// `hangup` receives the key given to `add`, once per add.
  HangupWatch(boost::asio::io_context& io, Hangup hangup);
  ~HangupWatch();
  HangupWatch(const HangupWatch&) = delete;
  HangupWatch& operator=(const HangupWatch&) = delete;

  void add(int descriptor, void* key);
  void remove(int descriptor);

 private:
  void wait();
  void collect();

  boost::asio::posix::stream_descriptor epoll_;
  Hangup hangup_;
  Lifetime alive_;
};

}  // namespace sluice::net
