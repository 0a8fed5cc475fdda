#pragma once

#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/time/clock.h"
#include "queue-proxy/injector/io/certificate_documents.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

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

/// Keeps the certificates of the injector: reads the Secret that all replicas share, takes the next
/// step of a rotation when one is due, and sees that the webhook configurations hold the bundle.
/// Two replicas that take a step at once are told apart by the Secret's version; the loser reads
/// again.
class CertificateKeeper {
 public:
  /// `serve` is told each new pair. All references outlive this.
  CertificateKeeper(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                    kube::Client& client, CertificateKeeperSpec spec,
                    std::function<void(const net::TlsPair&)> serve);

  void start() { begin(); }

  /// Why the last round failed; empty: it did not.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Until when the certificate in service is good; TimePoint{}: there is none.
  [[nodiscard]] TimePoint good_until() const { return good_until_; }

  /// The webhook configurations held the bundle when they were last seen. The one for pods has to
  /// be there, the one for RequestScalers may be missing.
  [[nodiscard]] bool registered() const { return registered_; }

 private:
  void begin();
  void have_secret(kube::Answer answer);
  void settle(CertificateSecret secret, bool exists);
  void write(CertificateSecret next, CertificateStep step);
  void take_up(const CertificateSet& set);
  void check_bundle(std::size_t which);
  void miss(std::size_t which, const std::string& what, const kube::Failure& failure);
  void patch_bundle(std::size_t which, std::string steps);
  void fail(const std::string& what, const kube::Failure& failure);
  void rest(Duration pause);

  [[nodiscard]] std::string secrets_path() const;

  const Clock& clock_;  // App's, as the others
  const log::Logger& log_;
  kube::Client& client_;
  CertificateKeeperSpec spec_;
  std::function<void(const net::TlsPair&)> serve_;
  boost::asio::steady_timer timer_;
  kube::Client::Call call_;
  CertificateSet set_;
  TimePoint good_until_{};
  std::string problem_;
  Duration retry_;
  bool registered_ = false;
  bool unchecked_ = false;  // RequestScalers: their configuration is missing
};

}  // namespace sluice::injector
