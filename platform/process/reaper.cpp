#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include "platform/process/child.h"
#include "platform/process/proc_files.h"
#include <cerrno>
#include <csignal>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sluice::local {
namespace asio = boost::asio;

struct Reaper::Impl {
  explicit Impl(asio::io_context& io_in) : io(io_in), signals(io_in, SIGCHLD) {}

  asio::io_context& io;  // outlives the Reaper
  asio::signal_set signals;
  int holds = 0;
  std::map<pid_t, Callback> callbacks;  // one entry per live child of ours

  // The handler holds the state alive, not the Reaper: a signal that is already on its way when the
  // Reaper goes finds it stopped.
  static void wait(const std::shared_ptr<Impl>& impl) {
    impl->signals.async_wait([impl](const boost::system::error_code& failed, int) {
      if (failed) return;
      impl->reap();
      wait(impl);
    });
  }

  // The leader is a zombie, and what it left behind has become ours.
  [[nodiscard]] std::string survivor_of(pid_t group) const {
    for (const pid_t child : children_of(::getpid())) {
      if (callbacks.count(child) != 0) continue;
      const auto stat = process_stat(child);
      if (stat && stat->group == group && !stat->zombie) return stat->name;
    }
    return {};
  }

  void reap() {
    // A callback may start programs, which are held until they are watched.
    while (holds == 0) {
      if (!reap_one(P_ALL, 0)) return;
    }
    std::vector<pid_t> pids;
    for (const auto& [pid, callback] : callbacks) pids.push_back(pid);
    for (const pid_t pid : pids) {
      if (callbacks.contains(pid)) (void)reap_one(P_PID, static_cast<id_t>(pid));
    }
  }

  // False: none of them has ended.
  bool reap_one(idtype_t which, id_t id) {
    siginfo_t info{};
    // Looked at first and reaped second: as long as the leader is a zombie its group id is taken,
    // so the kill between the two cannot hit a stranger.
    if (::waitid(which, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
      return false;
    }
    const pid_t pid = info.si_pid;
    const auto found = callbacks.find(pid);
    ExitStatus end;
    if (found != callbacks.end()) {
      if (info.si_code == CLD_EXITED && info.si_status == 0) end.survivor = survivor_of(pid);
      kill_group(pid, SIGKILL);
    }
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) != pid) return false;
    if (found == callbacks.end()) return true;
    const Callback callback = std::move(found->second);
    callbacks.erase(found);
    if (WIFEXITED(status))
      end.exit_code = WEXITSTATUS(status);
    else
      end.signal = WTERMSIG(status);
    callback(end);
    return true;
  }
};

Reaper::Reaper(asio::io_context& io) : impl_(std::make_shared<Impl>(io)) {
  Impl::wait(impl_);
}

Reaper::~Reaper() {
  stop();
}

void Reaper::watch(pid_t pid, Callback callback) {
  impl_->callbacks.insert_or_assign(pid, std::move(callback));
}

void Reaper::unwatch(pid_t pid) {
  // An empty callback stays in the table until the end: the group is still killed with its leader.
  const auto found = impl_->callbacks.find(pid);
  if (found != impl_->callbacks.end()) found->second = [](ExitStatus) {};
}

void Reaper::hold() {
  ++impl_->holds;
}

// What has ended meanwhile has sent its signal already.
void Reaper::release() {
  --impl_->holds;
  asio::post(impl_->io, [impl = impl_] { impl->reap(); });
}

std::vector<pid_t> Reaper::watched() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, callback] : impl_->callbacks) pids.push_back(pid);
  return pids;
}

void Reaper::stop() {
  boost::system::error_code ignored;
  impl_->signals.cancel(ignored);
  impl_->callbacks.clear();
}

}  // namespace sluice::local
