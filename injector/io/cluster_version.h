#pragma once

#include "common/kube/client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <string_view>

namespace sluice::injector {

/// The version of Kubernetes, requested until it is known.
class ClusterVersion {
 public:
  /// `client` outlives this.
  ClusterVersion(boost::asio::io_context& io, kube::Client& client) : client_{client}, timer_{io} {}

  void start();

  [[nodiscard]] bool known() const { return minor_.has_value(); }

  /// Native sidecars are there, and on, from 1.29 on.
  [[nodiscard]] bool has_native_sidecars() const { return minor_.value_or(0) >= 29; }

  /// The minor of an answer of `/version`; managed clusters write it with a plus behind. 99 with
  /// another major than 1.
  [[nodiscard]] static std::optional<long> minor_of(std::string_view json);

 private:
  kube::Client& client_;
  boost::asio::steady_timer timer_;
  kube::Client::Call call_;
  std::optional<long> minor_;
};

}  // namespace sluice::injector
