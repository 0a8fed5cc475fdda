#include "common/net/server/hangup_watch.h"

#include "common/base/check.h"

#include <sys/epoll.h>

namespace sluice::net {

HangupWatch::HangupWatch(boost::asio::io_context& io, Hangup hangup)
    : epoll_{io}, hangup_{std::move(hangup)} {
  const int descriptor = ::epoll_create1(EPOLL_CLOEXEC);
  CHECK(descriptor >= 0);
  epoll_.assign(descriptor);
  wait();
}

HangupWatch::~HangupWatch() {
  alive_.end();
}

void HangupWatch::add(int descriptor, void* key) {
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLONESHOT;
  event.data.ptr = key;
  if (::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_MOD, descriptor, &event);
  }
}

void HangupWatch::remove(int descriptor) {
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void HangupWatch::wait() {
  epoll_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this, alive = alive_.watch()](const boost::system::error_code& ec) {
                      if (alive.over() || ec) return;
                      collect();
                      wait();
                    });
}

void HangupWatch::collect() {
  // One event a call: a callback may remove descriptors whose events a larger batch still held.
  epoll_event event{};
  while (::epoll_wait(epoll_.native_handle(), &event, 1, 0) == 1) hangup_(event.data.ptr);
}

}  // namespace sluice::net
