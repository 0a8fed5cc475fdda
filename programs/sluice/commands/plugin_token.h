#pragma once

#include "common/base/lifetime.h"
#include "common/kube/access.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace sluice::commands {

/// Keeps the token of a kubeconfig's plugin good: runs the plugin again, on a thread beside the
/// loop, a minute before its token expires and where the server refuses it. It asks no person. A
/// client certificate is not renewed.
class PluginToken {
 public:
  /// The first three outlive this. `renewed` gets each new token on the loop.
  PluginToken(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
              kube::ExecPlugin plugin, std::optional<TimePoint> expires,
              std::function<void(const std::string& token)> renewed);

  /// A request is about to be sent.
  void used();

  /// The server refuses the token.
  void refused();

 private:
  void run();

  boost::asio::io_context& io_;
  const Clock& clock_;
  const log::Logger& log_;
  kube::ExecPlugin plugin_;
  std::optional<TimePoint> expires_;
  std::function<void(const std::string&)> renewed_;
  TimePoint run_at_ = TimePoint::min();  // when it was run last
  bool running_ = false;
  Lifetime alive_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace sluice::commands
