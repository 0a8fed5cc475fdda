#pragma once

#include "autoscaler/io/refusals.h"
#include "common/base/result.h"
#include "common/certificates/certificates.h"
#include "common/kube/client.h"
#include "common/kube/token_bucket.h"
#include "common/log/log.h"
#include "common/messages/node_stream.h"
#include "common/rpc/call.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// What a TokenReview says of the bearer.
struct ReviewedToken {
  std::string node{};  ///< where the bearer runs; empty: the API server does not say
  std::string pod{};   ///< which pod it is; empty likewise
};

/// The TokenReview that asks about a token.
[[nodiscard]] std::string token_review(const std::string& token);

/// Reads the answer. A problem says why the bearer is no node agent: not authenticated, for another
/// audience, or another service account than `system:serviceaccount:SPACE:node-agent`.
[[nodiscard]] Result<ReviewedToken, Problem> read_token_review(std::string_view json,
                                                               const std::string& space);

/// Where node agents get their certificates: calls of proto::kNodeEnrollMethod, from callers that
/// show the token of the node agents' service account. The API server says whose it is and which
/// node its bearer runs on. Belongs to one thread.
class Enrolment {
 public:
  /// Calls at a time, and how long each may take.
  static constexpr std::size_t kCallsMax = 256;
  static constexpr std::chrono::seconds kCallLimit{15};

  /// Questions to the API server a second, and at once after a rest: any caller of the door may
  /// ask, and must not use up what writes to the API server need.
  static constexpr double kPerSecond = 5;
  static constexpr double kBurst = 20;

  using Sign = std::function<Result<certificates::Signed, Problem>(const std::string& node,
                                                                   const std::string& public_key)>;

  /// All references outlive this. `space`: SYSTEM_NAMESPACE.
  Enrolment(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
            kube::Client& client, Refusals& refusals, std::string space, Sign sign);
  ~Enrolment();
  Enrolment(const Enrolment&) = delete;
  Enrolment& operator=(const Enrolment&) = delete;

  /// A new call.
  void take(std::unique_ptr<rpc::Call> call);

  /// Ends every call.
  void close();

  /// Certificates that were given.
  [[nodiscard]] std::uint64_t given() const { return given_; }

 private:
  struct Line {
    std::unique_ptr<rpc::Call> call;
    std::unique_ptr<boost::asio::steady_timer> limit;
    std::string public_key;
    kube::Client::Call question;
  };

  void received(std::uint64_t id, const std::string& bytes);
  void reviewed(std::uint64_t id, const kube::Answer& answer);
  void have_pod(std::uint64_t id, const kube::Answer& answer);
  void give(std::uint64_t id, const std::string& node);
  void end(std::uint64_t id, const rpc::Ending& ending);

  boost::asio::io_context& io_;  // App's, as the others
  const Clock& clock_;
  const log::Logger& log_;
  kube::Client& client_;
  Refusals& refusals_;
  std::string space_;
  Sign sign_;
  kube::TokenBucket pace_{kPerSecond, kBurst};
  std::map<std::uint64_t, Line> lines_;
  std::uint64_t next_ = 1;
  std::uint64_t given_ = 0;
};

}  // namespace sluice::autoscaler
