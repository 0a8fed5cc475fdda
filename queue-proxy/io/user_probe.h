#pragma once

#include "common/loop/loop.h"
#include "common/net/address.h"
#include "queue-proxy/core/readiness.h"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace sluice::queue_proxy {

/// Probes the user's containers. One run at a time: a caller during a run shares its result. Runs
/// do not depend on their callers; one that goes away changes nothing. All containers are probed at
/// once and all must pass. Why a run failed goes to standard error.
class UserProbe {
 public:
  using Answer = std::function<void(bool)>;

  /// `always_ready`: there is no probe and every answer is yes.
  UserProbe(boost::asio::io_context& io, const Loop& loop, const std::vector<ProbeSpec>& specs,
            const net::Address& user, bool always_ready);
  ~UserProbe();
  UserProbe(const UserProbe&) = delete;
  UserProbe& operator=(const UserProbe&) = delete;

  /// `answer` is called once, at once or when the present run ends.
  void ask(Answer answer);

 private:
  class Target;

  void target_done(bool ready);

  boost::asio::io_context& io_;
  const Loop& loop_;
  bool always_ready_;
  std::vector<std::unique_ptr<Target>> targets_;
  std::vector<Answer> waiting_;
  std::size_t running_ = 0;
  bool all_ready_ = true;
};

}  // namespace sluice::queue_proxy
