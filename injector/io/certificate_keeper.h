#pragma once

#include "common/certificates/keeper.h"
#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/net/tls/tls_context.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sluice::injector {

struct CertificateKeeperSpec {
  std::string space;                          ///< where the Secret is
  std::vector<std::string> names;             ///< we are called by
  Duration pause = std::chrono::seconds{20};  ///< between two rounds
  Duration retry = std::chrono::seconds{2};   ///< after a failure, doubling up to `pause`
};

/// Keeps the certificates of the injector, and sees that the webhook configurations hold the bundle
/// of its CAs.
class CertificateKeeper {
 public:
  /// `serve` gets each new pair. All references outlive this.
  CertificateKeeper(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                    kube::Client& client, CertificateKeeperSpec spec,
                    std::function<void(const net::TlsPair&)> serve);

  void start() { keeper_.start(); }

  /// Why the last round failed; empty: it did not.
  [[nodiscard]] const std::string& problem() const { return keeper_.problem(); }

  /// Until when the certificate in service is good; TimePoint{}: there is none.
  [[nodiscard]] TimePoint good_until() const { return keeper_.good_until(); }

  /// The webhook configurations held the bundle when they were last seen. The one for pods has to
  /// be there, the one for RequestScalers may be missing.
  [[nodiscard]] bool registered() const { return registered_; }

 private:
  using Carried = certificates::Keeper::Carried;

  void check_bundle(std::size_t which, const std::string& bundle, const Carried& done);
  void miss(std::size_t which, const std::string& bundle, const Carried& done,
            const std::string& what);
  void patch_bundle(std::size_t which, const std::string& bundle, const Carried& done,
                    std::string steps);

  const log::Logger& log_;  // App's, as the client
  kube::Client& client_;
  std::function<void(const net::TlsPair&)> serve_;
  kube::Client::Call call_;
  net::TlsPair pair_;  // in service
  bool registered_ = false;
  bool unchecked_ = false;  // RequestScalers: their configuration is missing
  certificates::Keeper keeper_;
};

}  // namespace sluice::injector
