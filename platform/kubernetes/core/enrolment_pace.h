#pragma once

#include "common/kube/token_bucket.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>

namespace sluice::autoscaler {

/// Who may shake hands and have a token reviewed, and when. Reviews are questions to the API
/// server, and any caller of the door may show a token: none may use up what the others, or writes
/// to the API server, need. So each address has a pace of its own and one question at a time, and
/// addresses whose last token was no agent's share a small pace among themselves, apart from that
/// of all others. Belongs to one thread.
class EnrolmentPace {
 public:
  /// Handshakes of one address: a second, and at once after a rest. Each takes some 0.4 ms of the
  /// thread that decides.
  static constexpr double kHandshakesPerSecond = 5;
  static constexpr double kHandshakesBurst = 20;

  /// Questions of one address.
  static constexpr double kPeerPerSecond = 1;
  static constexpr double kPeerBurst = 10;

  /// Of all addresses that have shown no wrong token.
  static constexpr double kPerSecond = 5;
  static constexpr double kBurst = 20;

  /// Of all addresses whose last token was wrong.
  static constexpr double kStrangersPerSecond = 1;
  static constexpr double kStrangersBurst = 10;

  /// Addresses that are remembered; for one more, the one with the oldest request is dropped.
  static constexpr std::size_t kPeersMax = 4096;

  /// Whether the address may shake hands now; it has done so then.
  [[nodiscard]] bool connects(const std::string& address, TimePoint now) {
    return remember(address).handshakes.take(now);
  }

  /// How long the peer should wait before its next request; zero: its token is to be reviewed now,
  /// and settled() is to follow.
  [[nodiscard]] Duration ask(const std::string& address, TimePoint now);

  enum class Verdict : std::uint8_t {
    agent,     ///< the token was an agent's
    stranger,  ///< it was not, or its bearer did not wait for the answer
    unknown,   ///< the API server has not said
  };

  /// The result for that address.
  void settled(const std::string& address, Verdict verdict);

  [[nodiscard]] std::size_t peers() const { return peers_.size(); }

 private:
  struct Peer {
    kube::TokenBucket handshakes{kHandshakesPerSecond, kHandshakesBurst};
    kube::TokenBucket pace{kPeerPerSecond, kPeerBurst};
    std::list<std::string>::iterator place;  // in order_
    bool asks = false;                       // a question is on its way
    bool stranger = false;                   // by its last token
  };

  Peer& remember(const std::string& address);

  kube::TokenBucket all_{kPerSecond, kBurst};
  kube::TokenBucket strangers_{kStrangersPerSecond, kStrangersBurst};
  std::map<std::string, Peer> peers_;
  std::list<std::string> order_;  // of peers_, the oldest request in front
};

}  // namespace sluice::autoscaler
