#pragma once

#include "autoscaler/io/refusals.h"
#include "common/base/result.h"
#include "common/certificates/certificates.h"
#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/net/server/own_gateway.h"
#include "common/net/server/proxy_server.h"
#include "common/net/tls/tls_context.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include "platform/kubernetes/core/enrolment_pace.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// The bearer of a token by its TokenReview.
struct ReviewedToken {
  std::string node{};  ///< where the bearer runs; empty: not in the review
  std::string pod{};   ///< which pod it is; empty likewise
};

/// The TokenReview for a token.
[[nodiscard]] std::string token_review(const std::string& token);

/// Reads the answer. A problem has the reason why the bearer is no node agent: not authenticated,
/// for another audience, or another service account than `system:serviceaccount:SPACE:node-agent`.
[[nodiscard]] Result<ReviewedToken, Problem> read_token_review(std::string_view json,
                                                               const std::string& space);

/// Where node agents get their certificates: a listener of its own, HTTPS, for agents that have no
/// certificate yet and send the token of the node agents' service account. The API server verifies
/// it and names the node of its bearer. Belongs to one thread.
class Enrolment final : public net::OwnGateway {
 public:
  /// Connections at a time. For one more, the one goes whose request or handshake has begun longest
  /// ago and is not complete, or the one that is silent longest.
  static constexpr std::size_t kConnectionsMax = 256;

  /// From accepting a connection to the end of its request.
  static constexpr std::chrono::seconds kRequestLimit{3};

  /// From there to the answer.
  static constexpr std::chrono::seconds kAnswerLimit{15};

  using Sign = std::function<Result<certificates::Signed, Problem>(const std::string& node,
                                                                   const std::string& public_key)>;

  /// All references outlive this. `space`: SYSTEM_NAMESPACE.
  Enrolment(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
            kube::Client& client, Refusals& refusals, std::string space, Sign sign);
  ~Enrolment() override;
  Enrolment(const Enrolment&) = delete;
  Enrolment& operator=(const Enrolment&) = delete;

  /// Listens with that certificate; the address in force. Called again, new handshakes are made
  /// with another certificate, and the address stays.
  [[nodiscard]] Result<net::Address, Problem> serve(const net::Address& address,
                                                    const net::TlsPair& pair);

  /// Ends every connection, and accepts no new one.
  void close();

  /// Certificates that were given.
  [[nodiscard]] std::uint64_t given() const { return given_; }

  [[nodiscard]] std::unique_ptr<net::ExchangeState> make_state() override;
  void begin(net::Exchange& exchange) override;
  void end(net::Exchange& exchange, const net::Outcome& outcome) override;

  [[nodiscard]] std::string_view timeout_text() const override {
    return "the enrolment takes too long: the API server does not answer";
  }

 private:
  struct Asking;
  class PacedSessions;

  void reviewed(net::Exchange& exchange, const kube::Answer& answer);
  void have_pod(net::Exchange& exchange, const kube::Answer& answer);
  void give(net::Exchange& exchange, const std::string& node);
  void no_agent(net::Exchange& exchange, const std::string& why);
  void refuse(net::Exchange& exchange, int status, const std::string& why, int retry_after = 0);

  const Clock& clock_;  // App's, as the others
  const log::Logger& log_;
  kube::Client& client_;
  Refusals& refusals_;
  std::string space_;
  Sign sign_;
  EnrolmentPace pace_;
  std::uint64_t given_ = 0;
  std::unique_ptr<PacedSessions> tls_;  // outlives the server
  net::Address bound_;
  net::ProxyServer server_;
};

}  // namespace sluice::autoscaler
