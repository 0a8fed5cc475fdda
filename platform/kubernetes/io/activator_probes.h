#pragma once

#include "common/net/fetch.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "platform/kubernetes/core/probe_book.h"
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Probes activators on the ports of scalers (activator.md 3): before
/// traffic is sent to one, and again before the last pod goes.
class ActivatorProbes {
 public:
  /// `changed`: an activator that did not count for this scaler does from now on, or the other way
  /// round. `clock` outlives this.
  ActivatorProbes(boost::asio::io_context& io, const Clock& clock,
                  std::function<void(const RevisionId&)> changed);

  /// `standing`: see ProbeBook.
  void set_port(const RevisionId& id, std::uint16_t port, const std::set<std::string>& standing);
  void forget(const RevisionId& id);

  /// Those that are ready. Returns whether that is news.
  bool set_activators(std::set<std::string> addresses);

  /// The activators that answered on the scaler's port, or count as such.
  [[nodiscard]] std::vector<std::string> proven(const RevisionId& id) const {
    return book_.proven(id);
  }

  /// Asks all of `addresses` at once; `done` gets later whether each answered. One probe per scaler
  /// at a time: a newer one replaces the one before, whose answer is false.
  void ask(const RevisionId& id, std::uint16_t port, const std::vector<std::string>& addresses,
           std::function<void(bool ok)> done);

 private:
  struct Question {
    std::size_t open = 0;
    bool ok = true;
    std::function<void(bool)> done;
    std::vector<std::unique_ptr<net::Fetch>> fetches;
  };

  void arm();
  void probe_due();
  void end(const RevisionId& id, bool ok);

  boost::asio::io_context& io_;
  const Clock& clock_;
  std::function<void(const RevisionId&)> changed_;
  ProbeBook book_;
  std::map<ProbeBook::Target, std::unique_ptr<net::Fetch>> flying_;
  std::map<RevisionId, std::unique_ptr<Question>> questions_;
  boost::asio::steady_timer timer_;
};

}  // namespace sluice::autoscaler
