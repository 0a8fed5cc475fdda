#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <functional>

namespace sluice::program {

/// SIGINT and SIGTERM of this process, caught from its making on. Must go before its io_context.
class EndSignals {
 public:
  explicit EndSignals(boost::asio::io_context& io) : signals_{io, SIGINT, SIGTERM} {}

  /// `on_first` is called for the first signal, `on_again` for every later one: the operator has no
  /// more patience.
  void listen(std::function<void()> on_first, std::function<void()> on_again);

  /// One has come.
  [[nodiscard]] bool seen() const { return seen_; }

 private:
  void wait();

  boost::asio::signal_set signals_;
  std::function<void()> on_first_;
  std::function<void()> on_again_;
  bool seen_ = false;
};

}  // namespace sluice::program
