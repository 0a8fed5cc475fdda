#include "programs/sluice/commands/plugin_token.h"

#include "common/kube/exec_credential.h"

#include <boost/asio/post.hpp>

#include "programs/sluice/commands/plugin_run.h"
#include <utility>

namespace sluice::commands {
namespace {

constexpr Duration kAhead = std::chrono::minutes{1};
constexpr Duration kPause = std::chrono::seconds{10};  // between two runs

}  // namespace

PluginToken::PluginToken(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                         kube::ExecPlugin plugin, std::optional<TimePoint> expires,
                         std::function<void(const std::string& token)> renewed)
    : io_{io},
      clock_{clock},
      log_{log},
      plugin_{std::move(plugin)},
      expires_{expires},
      renewed_{std::move(renewed)} {}

void PluginToken::used() {
  if (expires_ && clock_.now() >= *expires_ - kAhead) run();
}

void PluginToken::refused() {
  run();
}

void PluginToken::run() {
  const TimePoint now = clock_.now();
  if (running_ || (now < run_at_ + kPause && run_at_ != TimePoint::min())) return;
  run_at_ = now;
  running_ = true;
  thread_ = std::jthread{[this, alive = alive_.watch()](const std::stop_token& stop) {
    auto credential = run_plugin(plugin_, false, clock_, {}, stop);
    if (stop.stop_requested()) return;
    boost::asio::post(io_, [this, alive, credential = std::move(credential)] {
      if (alive.over()) return;
      running_ = false;
      if (!credential) {
        log_.write(log::Severity::error, credential.error().text());
        return;
      }
      expires_ = credential->expires;
      if (!credential->token.empty()) renewed_(credential->token);
    });
  }};
}

}  // namespace sluice::commands
