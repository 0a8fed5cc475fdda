#pragma once

#include "bench/compare/held/tally.h"
#include "common/base/result.h"
#include "common/net/address.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::held {

/// Applications behind sidecars: each has a port of its own and counts the requests it runs at
/// once. All of them answer `GET /ready` alike: 503 until they are opened.
class Apps {
 public:
  explicit Apps(boost::asio::io_context& io);
  ~Apps();
  Apps(const Apps&) = delete;
  Apps& operator=(const Apps&) = delete;

  /// One more application; returns where it listens.
  [[nodiscard]] Result<net::Address, Problem> add();

  void open(bool opened) { open_ = opened; }

  /// How long a request takes from now on.
  void delay(std::chrono::microseconds each) { delay_ = each; }

  /// What was seen since the last time, as JSON: the first /ready that got a 200, the first request
  /// and the number of them, the most at once of each application, and how often a request was
  /// older than one before it by `step` numbers or more.
  [[nodiscard]] std::string report(std::uint64_t step);

 private:
  struct App;
  friend struct App;

  boost::asio::io_context& io_;
  Clock clock_;
  std::vector<std::unique_ptr<App>> apps_;
  std::vector<std::uint64_t> order_;
  std::chrono::microseconds delay_{0};
  std::int64_t ready_ns_ = 0;
  std::int64_t first_ns_ = 0;
  bool open_ = false;
};

}  // namespace sluice::held
