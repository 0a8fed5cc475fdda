#pragma once

#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <random>

namespace sluice::kube {

/// What code that follows collections needs. All of it outlives them.
struct Place {
  boost::asio::io_context& io;
  const Clock& clock;
  std::mt19937_64& random;
  const log::Logger& log;
  Client& client;
};

}  // namespace sluice::kube
