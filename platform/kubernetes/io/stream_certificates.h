#pragma once

#include "common/certificates/keeper.h"
#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>
#include <string>

namespace sluice::autoscaler {

/// How long a node agent's certificate is good. It requests the next when two thirds are over.
inline constexpr Duration kAgentLife = std::chrono::hours{24};

struct StreamCertificatesSpec {
  std::string space;   ///< SYSTEM_NAMESPACE
  std::string domain;  ///< of the cluster
  std::string secret;  ///< SLUICE_TLS_SECRET
  std::string dir;     ///< SLUICE_TLS_DIR
  Duration pause = std::chrono::seconds{20};
  Duration retry = std::chrono::seconds{2};
};

/// The certificates of the streams between activators, autoscaler and node agents: keeps the Secret
/// of the autoscaler, writes what it holds into a directory for gRPC, and carries to the others
/// what they need: a certificate to activators (Secret sluice-activator-tls), the CAs to node
/// agents (ConfigMap sluice-ca). Belongs to one thread.
class StreamCertificates {
 public:
  struct Events {
    /// The directory holds a good pair: now, and after each change.
    std::function<void()> ready;
    /// The directory cannot be written: nothing can be served.
    std::function<void(const Problem&)> failed;
  };

  /// All references outlive this.
  StreamCertificates(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                     kube::Client& client, StreamCertificatesSpec spec, Events events);

  void start() { keeper_.start(); }

  [[nodiscard]] const certificates::Keeper& keeper() const { return keeper_; }

  /// A certificate for an agent of that node. A problem: there is no CA to sign with, or a new one
  /// is on its way to the programs that must trust it.
  [[nodiscard]] Result<certificates::Signed, Problem> sign_agent(
      const std::string& node, const std::string& public_key) const;

 private:
  using Carried = certificates::Keeper::Carried;

  void write_files(const certificates::Set& set);
  void carry(const certificates::Set& set, const Carried& done);
  void settle_activators(const certificates::Set& set,
                         const std::optional<certificates::Secret>& is, const Carried& done);
  void carry_bundle(const certificates::Set& set, const Carried& done);
  void put(const std::string& kind, const std::string& name, bool creates, std::string document,
           std::function<void(std::optional<std::string>)> done);

  [[nodiscard]] std::string path_of(const std::string& kind, const std::string& name = {}) const;

  const Clock& clock_;  // App's, as the others
  const log::Logger& log_;
  kube::Client& client_;
  StreamCertificatesSpec spec_;
  Events events_;
  kube::Client::Call call_;
  certificates::Keeper keeper_;
};

}  // namespace sluice::autoscaler
