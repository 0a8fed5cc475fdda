#include "programs/sluice/commands/detach.h"

#include "programs/sluice/commands/await_ready.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <ostream>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::commands {
namespace {

constexpr int kReadyMilliseconds = 60'000;
constexpr std::size_t kTailMax = 16U << 10U;
constexpr std::size_t kAnnouncementMax = 4U << 20U;  // a line or two for each service

Problem cannot_detach(const std::string& doing, int error) {
  return {.what = "cannot detach: " + doing + ": " + std::strerror(error), .fix = "run without -d"};
}

// Everything the child says until its end is closed; nothing when the time limit passed first.
std::optional<std::string> read_announcement(int fd) {
  std::string text;
  std::array<char, 4096> piece{};
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  while (true) {
    const int ready = ::poll(&waiting, 1, kReadyMilliseconds);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      return std::nullopt;
    }
    const ssize_t size = ::read(fd, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size <= 0 || text.size() > kAnnouncementMax) {
      return text;
    }
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
}

std::string tail_since(const std::filesystem::path& log, std::uintmax_t begin) {
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string text(kTailMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

int run_child(UpOptions options, const UpRunner& up, int log, int ready_fd) {
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) {
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::close(log);
  options.ready_fd = ready_fd;
  return up(options);
}

// The engine runs; whether what it is to start becomes ready shows later.
int await_services(const Surroundings& with, const std::string& name) {
  with.out.flush();
  with.err.flush();
  const auto engine = find_engine(with, name);
  if (!engine) {
    return report(with, {kExitUnavailable, "engine " + name + " was stopped"});
  }
  const int code = await_ready(with, *engine, {});
  if (code == kExitNotReady) {
    with.err << "engine " << name << " keeps running; end it: sluice down " << name << "\n";
  }
  return code;
}

int await_child(const Surroundings& with, pid_t child, int ready_fd,
                const std::filesystem::path& log, std::uintmax_t begin, const std::string& name) {
  const auto announced = read_announcement(ready_fd);
  ::close(ready_fd);
  if (announced && !announced->empty()) {
    // The banner ends with a NUL; what is wrong with it all follows (announce_ready).
    const std::size_t end = std::min(announced->find('\0'), announced->size());
    with.out << announced->substr(0, end);
    with.err << announced->substr(std::min(end + 1, announced->size()));
    return await_services(with, name);
  }
  // A pipe closed without a word is closed by the child's end: waiting for it does not last.
  int status = 0;
  const pid_t ended = ::waitpid(child, &status, announced ? 0 : WNOHANG);
  if (ended != child) {
    with.err << "the engine (pid " << child << ") is not ready; see " << log.string() << "\n";
    return kExitNotReady;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNameHeld) {
    return kNameHeld;  // and the child has written nothing
  }
  with.err << tail_since(log, begin);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailure;
}

}  // namespace

int run_detached(const Surroundings& with, UpOptions options, const UpRunner& up) {
  const local::EnginePaths paths(with.roots, options.engine);
  if (const auto problem = local::make_state_dir(paths)) {
    return report(with, {kExitFailure, problem->text()});
  }
  const std::string name = options.engine;
  const auto log_path = paths.engine_log();
  const int log = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) {
    return report(with, {kExitFailure, cannot_detach(log_path.string(), errno).text()});
  }
  std::error_code ignored;
  const std::uintmax_t begin = std::filesystem::file_size(log_path, ignored);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ::close(log);
    return report(with, {kExitFailure, cannot_detach("pipe", errno).text()});
  }
  with.out.flush();
  with.err.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    const int code = run_child(std::move(options), up, log, ends[1]);
    if (code == kNameHeld) ::_exit(code);  // the parent continues
    return code;
  }
  const int fork_error = errno;
  ::close(log);
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return report(with, {kExitFailure, cannot_detach("fork", fork_error).text()});
  }
  return await_child(with, child, ends[0], log_path, begin, name);
}

}  // namespace sluice::commands
