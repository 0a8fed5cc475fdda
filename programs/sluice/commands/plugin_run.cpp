#include "programs/sluice/commands/plugin_run.h"

#include "common/settings/reader.h"

#include "platform/process/child.h"
#include "platform/process/unique_fd.h"
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::commands {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStopEach{100};  // how long the end of its caller may go unseen

// Ours, with the plugin's in place of those of the same names.
std::vector<std::string> environment_of(const kube::ExecPlugin& plugin, bool interactive) {
  std::vector<std::pair<std::string, std::string>> own = plugin.environment;
  own.emplace_back(kube::kExecInfo, kube::exec_info(plugin, interactive));
  std::vector<std::string> all;
  for (std::string& line : local::own_environment()) {
    bool replaced = false;
    for (const auto& [name, value] : own) replaced = replaced || line.starts_with(name + "=");
    if (!replaced) all.push_back(std::move(line));
  }
  for (const auto& [name, value] : own) all.emplace_back(name).append("=").append(value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

Problem not_started(const kube::ExecPlugin& plugin, int failed) {
  const std::string fix =
      plugin.install_hint.empty() ? "install it, or correct the kubeconfig" : plugin.install_hint;
  if (failed == ENOENT) return {"the plugin " + plugin.name() + " is not installed", fix};
  return {"the plugin " + plugin.name() +
              " cannot be started: " + std::generic_category().message(failed),
          fix};
}

// A plugin that runs; killed with all that it started where it does not end itself.
class Running {
 public:
  Running(const kube::ExecPlugin& plugin, bool interactive) : own_group_{!interactive} {
    auto pipe = local::make_pipe();
    if (!pipe) {
      failed_ = pipe.error();
      return;
    }
    output_ = std::move(pipe->first);
    ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    std::vector<std::string> words = plugin.command;
    std::vector<std::string> environment = environment_of(plugin, interactive);
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    if (own_group_) {
      ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
      ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    }
    ::posix_spawn_file_actions_adddup2(&actions, pipe->second.get(), STDOUT_FILENO);
    const int failed = ::posix_spawnp(&child_, words.front().c_str(), &actions, &attributes,
                                      pointers(words).data(), pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
      failed_ = not_started(plugin, failed);
      return;
    }
    ended_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0U)));
  }

  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  ~Running() {
    if (failed_ || reaped_) return;
    ::kill(own_group_ ? -child_ : child_, SIGKILL);
    reap();
  }

  /// Why it does not run; absent: it does.
  [[nodiscard]] const std::optional<Problem>& failed() const { return failed_; }

  /// Waits for output or for the end, and reads what there is, up to `bytes_max` and some. False at
  /// the end.
  bool read(std::string& text, std::size_t bytes_max) {
    std::array<pollfd, 2> all{{{output_.get(), POLLIN, 0}, {ended_.get(), POLLIN, 0}}};
    ::poll(all.data(), all.size(), static_cast<int>(kStopEach.count()));
    const bool ended = all[1].revents != 0;
    std::array<char, 4096> piece{};
    ssize_t size = 0;
    // A reader of one that has ended takes all; others as much as one look finds.
    while ((size = ::read(output_.get(), piece.data(), piece.size())) > 0) {
      text.append(piece.data(), static_cast<std::size_t>(size));
      if (!ended || text.size() > bytes_max) break;
    }
    if (size == 0) output_.reset();  // no more is printed; its end is still awaited
    return !ended;
  }

  /// Of one that has ended: its status of wait().
  int reap() {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return status;
  }

 private:
  bool own_group_;
  bool reaped_ = false;
  std::optional<Problem> failed_;
  pid_t child_ = -1;
  local::UniqueFd output_;
  local::UniqueFd ended_;
};

}  // namespace

Result<kube::ExecCredential, Problem> run_plugin(const kube::ExecPlugin& plugin, bool terminal,
                                                 const Clock& clock, const PluginLimits& limits,
                                                 const std::stop_token& stop) {
  using kube::Interactive;
  const bool may_ask = terminal && ::isatty(STDIN_FILENO) != 0;
  if (plugin.interactive == Interactive::always && !may_ask) {
    return Problem{"the plugin " + plugin.name() + " has to ask a person (interactiveMode: Always)",
                   "run this in a terminal"};
  }
  Running running{plugin, may_ask && plugin.interactive != Interactive::never};
  if (running.failed()) return *running.failed();
  const std::string by_hand = "run it by hand to see: " + plugin.name();
  const TimePoint end = clock.now() + limits.time;
  std::string text;
  while (running.read(text, limits.bytes_max)) {
    if (stop.stop_requested()) return Problem{"it is not needed any more", ""};
    if (clock.now() >= end) {
      return Problem{"the plugin " + plugin.name() + " did not end within " +
                         std::to_string(limits.time.count() / 1000) + " s",
                     by_hand};
    }
    if (text.size() > limits.bytes_max) break;
  }
  if (text.size() > limits.bytes_max) {
    return Problem{"the plugin " + plugin.name() + " printed more than 1 MiB", by_hand};
  }
  const int status = running.reap();
  if (WIFSIGNALED(status)) {
    return Problem{
        "the plugin " + plugin.name() + " was ended by signal " + std::to_string(WTERMSIG(status)),
        by_hand};
  }
  if (WEXITSTATUS(status) != 0) {
    return Problem{"the plugin " + plugin.name() + " failed with status " +
                       std::to_string(WEXITSTATUS(status)),
                   "it may have said why above; " + by_hand};
  }
  return kube::read_exec_credential(plugin, text, clock.now());
}

Result<PersonAccess, Problem> access_of_person(const Clock& clock, kube::AccessChoice choice) {
  choice.plugins = true;
  auto access = kube::find_access(settings::process_environment(), choice);
  if (!access) return access.error();
  PersonAccess person{.access = std::move(*access)};
  if (!person.access.plugin) return person;
  auto credential = run_plugin(*person.access.plugin, true, clock);
  if (!credential) return credential.error();
  person.expires = credential->expires;
  kube::use_credential(person.access, std::move(*credential));
  return person;
}

}  // namespace sluice::commands
