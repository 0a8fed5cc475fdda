#pragma once

#include "activator/io/pool_probe.h"

#include <boost/asio/io_context.hpp>

#include <memory>

namespace sluice::activator {

/// How pods are probed.
class PodAsker {
 public:
  /// A question on its way; destroyed, it is not answered.
  class Question {
   public:
    virtual ~Question() = default;
  };

  virtual ~PodAsker() = default;

  /// Asks the pod of `pool`, which outlives the question. `done` is called once, not before this
  /// returns; it may destroy the question.
  [[nodiscard]] virtual std::unique_ptr<Question> ask(net::UpstreamPool& pool,
                                                      PoolProbeRequest request,
                                                      PoolProbe::Done done) = 0;
};

/// Over the connections that requests will use.
class PoolAsker final : public PodAsker {
 public:
  /// `io` outlives this.
  explicit PoolAsker(boost::asio::io_context& io) : io_{io} {}

  [[nodiscard]] std::unique_ptr<Question> ask(net::UpstreamPool& pool, PoolProbeRequest request,
                                              PoolProbe::Done done) override;

 private:
  boost::asio::io_context& io_;
};

}  // namespace sluice::activator
