#pragma once

#include "common/loop/loop.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>

namespace sluice {

/// The loop of a program: an io_context that one thread runs, and the program's clock.
class AsioLoop final : public Loop {
 public:
  /// Both outlive this.
  AsioLoop(boost::asio::io_context& io, const Clock& clock) : io_{io}, clock_{clock} {}

  [[nodiscard]] TimePoint now() const override { return clock_.now(); }

  void post(std::function<void()> action) override;
  [[nodiscard]] std::unique_ptr<Timer> timer() override;

 private:
  boost::asio::io_context& io_;
  const Clock& clock_;
};

}  // namespace sluice
