#include "common/program/end_signals.h"

#include <utility>

namespace sluice::program {

void EndSignals::listen(std::function<void()> on_first, std::function<void()> on_again) {
  on_first_ = std::move(on_first);
  on_again_ = std::move(on_again);
  wait();
}

void EndSignals::wait() {
  signals_.async_wait([this](const boost::system::error_code& ec, int /*number*/) {
    if (ec) return;
    const bool first = !std::exchange(seen_, true);
    wait();
    first ? on_first_() : on_again_();
  });
}

}  // namespace sluice::program
