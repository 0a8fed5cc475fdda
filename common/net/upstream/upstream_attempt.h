#pragma once

#include "common/net/upstream/dial_plan.h"
#include "common/net/upstream/upstream_pool.h"

#include <boost/asio/steady_timer.hpp>

#include <list>
#include <memory>

namespace sluice::net {

/// One dial of a pool: the tries of its plan, then the TLS handshake if there is to be one. The
/// first try continues beside the later ones: a peer that is merely distant answers it, and costs
/// one round trip whatever the plan's steps are. The pool's own; its functions are in
/// upstream_dial.cpp.
struct UpstreamPool::Attempt {
  std::uint64_t id;
  Socket first;
  Socket again;  // of the tries after the first
  boost::asio::steady_timer timer;
  UpstreamUser* user;
  TlsSessions* tls;  // null: cleartext
  Connected done;
  DialPlan plan;
  Socket* won = nullptr;      // the connected one of the two
  Upstream* given = nullptr;  // instead of one of its own: another request left it behind
  std::unique_ptr<TlsSession> session{};
  int round = 0;       // of tries; a connect of an earlier one is ignored
  int pending = 0;     // waits and connects that still point here
  unsigned waits = 0;  // of the timer; the newest counts
  bool resting = false;
  bool answered = false;
  std::list<std::unique_ptr<Attempt>>::iterator place{};
};

/// Whether nothing has come and the peer has not closed.
[[nodiscard]] bool is_silent(Socket& socket);

}  // namespace sluice::net
