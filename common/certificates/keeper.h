#pragma once

#include "common/base/lifetime.h"
#include "common/certificates/documents.h"
#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <optional>
#include <string>

namespace sluice::certificates {

struct KeeperSpec {
  Place place;                                ///< of the Secret
  LeafSpec leaf;                              ///< what its certificate is for
  Duration leaf_spreads = kLeafSpreads;       ///< how long an old CA is trusted
  Duration pause = std::chrono::seconds{20};  ///< between two rounds
  Duration retry = std::chrono::seconds{2};   ///< after a failure, doubling up to `pause`
};

/// Keeps the certificates of a program: reads the Secret that all its replicas share, takes the
/// next step of a rotation when one is due, and passes the result to the programs that trust it.
/// When two replicas take a step at once, the Secret's version decides; the loser reads again.
///
/// A Secret with a certificate and no key of a CA is the user's: it is used as it is.
class Keeper {
 public:
  /// Called once, later: why it failed, or nothing.
  using Carried = std::function<void(std::optional<std::string>)>;

  struct Events {
    std::function<void(const Set&)> took;  ///< another set than before, with a good certificate
    /// Each round; empty: nothing is carried anywhere.
    std::function<void(const Set&, Carried)> carry;
  };

  /// All references outlive this.
  Keeper(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
         kube::Client& client, KeeperSpec spec, Events events);

  void start() { begin(); }

  /// Why the last round failed; empty: it did not.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Until when the certificate in service is good; TimePoint{}: there is none.
  [[nodiscard]] TimePoint good_until() const { return good_until_; }

  /// What the Secret held when it was last read.
  [[nodiscard]] const Set& set() const { return set_; }

 private:
  void begin();
  void have_secret(kube::Answer answer);
  void settle(Secret secret, bool exists);
  void write(Secret next, Step step);
  void take_up(const Set& set, bool foreign);
  void carry();
  void fail(const std::string& what);
  void rest(Duration pause);

  [[nodiscard]] std::string path() const;

  const Clock& clock_;  // App's, as the others
  const log::Logger& log_;
  kube::Client& client_;
  KeeperSpec spec_;
  Events events_;
  boost::asio::steady_timer timer_;
  kube::Client::Call call_;
  Set set_;
  TimePoint good_until_{};
  std::string problem_;
  std::optional<std::string> carried_;  // the bundle that all have by the last round
  Duration retry_;
  bool foreign_told_ = false;
  Lifetime alive_;
};

}  // namespace sluice::certificates
