#pragma once

#include "autoscaler/io/stat_source.h"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

namespace sluice::autoscaler {

/// Asks the sidecars over HTTP.
class HttpStatSource final : public StatSource {
 public:
  /// `io` outlives this.
  explicit HttpStatSource(boost::asio::io_context& io) : io_{io} {}

  [[nodiscard]] std::unique_ptr<Question> ask(const std::string& address,
                                              Answered answered) override;

 private:
  boost::asio::io_context& io_;
};

}  // namespace sluice::autoscaler
