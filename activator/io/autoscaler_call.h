#pragma once

#include "activator/io/autoscaler_line.h"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

namespace sluice::activator {

struct CallSpec {
  std::string tls_dir;        ///< empty: clear text
  std::string tls_name = {};  ///< in every replica's certificate; empty: its target's own
  std::string activator;      ///< our name
};

/// Lines over gRPC (protocols.md 3).
class AutoscalerCalls final : public AutoscalerDialler {
 public:
  /// `io` outlives this and the lines.
  AutoscalerCalls(boost::asio::io_context& io, CallSpec spec) : io_{io}, spec_{std::move(spec)} {}

  [[nodiscard]] Result<std::unique_ptr<AutoscalerLine>, Problem> dial(
      const std::string& target, AutoscalerLine::Events events) override;

 private:
  boost::asio::io_context& io_;
  CallSpec spec_;
};

}  // namespace sluice::activator
