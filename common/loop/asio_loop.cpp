#include "common/loop/asio_loop.h"

#include "common/base/lifetime.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sluice {
namespace {

class AsioTimer final : public Timer {
 public:
  AsioTimer(boost::asio::io_context& io, const Clock& clock) : clock_{clock}, timer_{io} {}

  void after(Duration wait, Action action) override {
    action_ = std::move(action);
    timer_.expires_after(std::max(Duration{0}, wait));
    timer_.async_wait([this, alive = alive_.watch(), setting = ++setting_](const auto& /*ec*/) {
      // One that has expired and was set again or cancelled since comes with success, too.
      if (alive.over() || setting != setting_) return;
      std::exchange(action_, nullptr)();
    });
  }

  void at(TimePoint when, Action action) override { after(when - clock_.now(), std::move(action)); }

  void cancel() override {
    ++setting_;
    action_ = nullptr;
    timer_.cancel();
  }

 private:
  const Clock& clock_;
  boost::asio::steady_timer timer_;
  Action action_;
  std::uint64_t setting_ = 0;
  Lifetime alive_;
};

}  // namespace

void AsioLoop::post(std::function<void()> action) {
  boost::asio::post(io_, std::move(action));
}

std::unique_ptr<Timer> AsioLoop::timer() {
  return std::make_unique<AsioTimer>(io_, clock_);
}

}  // namespace sluice
