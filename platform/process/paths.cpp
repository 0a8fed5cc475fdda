#include "platform/process/paths.h"

#include <fmt/format.h>

#include "platform/process/engine_variables.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice::local {
namespace {

namespace fs = std::filesystem;

// More engines of one user than this are not looked at.
constexpr std::size_t kEnginesMax = 1000;

std::optional<fs::path> absolute_env(const EnvLookup& env, std::string_view name) {
  const auto value = env(name);
  if (!value || value->empty() || !fs::path(*value).is_absolute()) {
    return std::nullopt;
  }
  return fs::path(*value);
}

std::optional<fs::path> home_of(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr ||
      entry.pw_dir == nullptr || *entry.pw_dir != '/') {
    return std::nullopt;
  }
  return fs::path(entry.pw_dir);
}

Problem cannot(std::string_view doing, const fs::path& path, int error) {
  return {.what = std::string(doing) + " " + path.string() + ": " + std::strerror(error),
          .fix = "make it writable, or set XDG_STATE_HOME and XDG_RUNTIME_DIR to places that are"};
}

// Makes `path` with its parents; parents that exist keep their mode.
std::optional<Problem> make_private_dir(const fs::path& path) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) {
    return cannot("cannot make directory", path.parent_path(), failed.value());
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return cannot("cannot make directory", path, errno);
  }

  struct stat seen {};

  if (::lstat(path.c_str(), &seen) != 0) {
    return cannot("cannot look at", path, errno);
  }
  if (!S_ISDIR(seen.st_mode) || seen.st_uid != ::geteuid()) {
    return Problem{.what = path.string() + " is not a directory of ours",
                   .fix = "remove it, or set XDG_RUNTIME_DIR to a directory of your own"};
  }
  if ((seen.st_mode & 0077U) != 0 && ::chmod(path.c_str(), 0700) != 0) {
    return cannot("cannot close to others", path, errno);
  }
  return std::nullopt;
}

bool accepts_connections(const fs::path& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = socket_path.string();
  if (text.size() > kSocketPathMax) {
    return false;
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return false;
  }
  const int done = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  // A full backlog is an engine that is alive and busy.
  const bool alive = done == 0 || errno == EAGAIN;
  ::close(fd);
  return alive;
}

std::vector<fs::path> engine_dirs(const fs::path& root) {
  std::vector<fs::path> found;
  std::error_code failed;
  fs::directory_iterator entry(root, failed);
  for (; !failed && entry != fs::directory_iterator() && found.size() < kEnginesMax;
       entry.increment(failed)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && fs::exists(entry->path() / "lock", ignored)) {
      found.push_back(entry->path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string pid_in(int fd) {
  std::array<char, 32> text{};
  const ssize_t length = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  pid.erase(std::find_if(pid.begin(), pid.end(), [](char c) { return c < '0' || c > '9'; }),
            pid.end());
  return pid.empty() ? "unknown" : pid;
}

// 0, or errno.
int try_lock(int fd, int kind) {
  return ::flock(fd, kind | LOCK_NB) == 0 ? 0 : errno;
}

constexpr std::chrono::milliseconds kLook{5};

// Sixteen characters, whatever the length of the name.
std::string hash_text(std::string_view name) {
  return fmt::format("{:016x}", std::hash<std::string_view>{}(name));
}

}  // namespace

std::optional<std::string> process_env(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<fs::path> settings_files(const EnvLookup& env) {
  std::vector<fs::path> files;
  if (const auto config = absolute_env(env, kConfigHomeVariable.name)) {
    files.push_back(*config / "sluice/config.yaml");
  } else if (const auto home = env("HOME")) {
    files.push_back(fs::path{*home} / ".config/sluice/config.yaml");
  }
  files.emplace_back("/etc/sluice/config.yaml");
  return files;
}

Result<PathRoots, Problem> path_roots(const EnvLookup& env, uid_t uid) {
  PathRoots roots;
  if (const auto state = absolute_env(env, kStateHomeVariable.name)) {
    roots.state = *state / "sluice";
  } else {
    auto home = absolute_env(env, "HOME");
    if (!home) {
      home = home_of(uid);
    }
    if (!home) {
      return Problem{.what = "no home directory is known for user " + std::to_string(uid),
                     .fix = "set HOME or XDG_STATE_HOME"};
    }
    roots.state = *home / ".local" / "state" / "sluice";
  }
  const auto runtime = absolute_env(env, kRuntimeDirVariable.name);
  roots.runtime = runtime ? *runtime / "sluice" : fs::path("/tmp/sluice-" + std::to_string(uid));
  return roots;
}

EnginePaths::EnginePaths(const PathRoots& roots, std::string name)
    : name_(std::move(name)), state_(roots.state / name_), runtime_(roots.runtime / name_) {}

std::array<fs::path, 2> EnginePaths::replicas_dirs() const {
  return {runtime_ / "r", runtime_.parent_path() / ".r" / hash_text(name_)};
}

fs::path EnginePaths::replica_dir(std::string_view replica) const {
  const auto [plain, hashed] = replicas_dirs();
  fs::path directory = plain / fs::path(replica);
  const bool fits = (directory / kServingSocket).native().size() <= kSocketPathMax;
  return fits ? directory : hashed / hash_text(replica);
}

std::optional<Problem> make_runtime_dir(const EnginePaths& paths) {
  if (paths.api_socket().native().size() > kSocketPathMax) {
    return Problem{.what = "socket path " + paths.api_socket().string() + " is longer than " +
                           std::to_string(kSocketPathMax) + " bytes",
                   .fix = "use a shorter --name, or set XDG_RUNTIME_DIR to a shorter path"};
  }
  for (const fs::path& path : {paths.runtime_dir().parent_path(), paths.runtime_dir()}) {
    if (auto problem = make_private_dir(path)) {
      return problem;
    }
  }
  return std::nullopt;
}

std::optional<Problem> make_state_dir(const EnginePaths& paths) {
  for (const fs::path& path :
       {paths.state_dir(), paths.logs_dir(), paths.specs_dir(), paths.ran_dir(),
        paths.revisions_dir(), paths.kept_revisions_dir()}) {
    if (auto problem = make_private_dir(path)) {
      return problem;
    }
  }
  return std::nullopt;
}

Result<EngineLock, LockFailure> EngineLock::take(const EnginePaths& paths) {
  const fs::path file = paths.lock_file();
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return LockFailure{.problem = cannot("cannot open", file, errno), .exit_code = 1};
  }
  EngineLock lock(fd);
  int error = 0;
  for (auto left = kLooksPatience;
       (error = try_lock(fd, LOCK_EX)) == EWOULDBLOCK && left.count() > 0; left -= kLook) {
    ::poll(nullptr, 0, static_cast<int>(kLook.count()));
  }
  if (error == EWOULDBLOCK) {
    return LockFailure{
        .problem = {.what =
                        "engine " + paths.name() + " is already running (pid " + pid_in(fd) + ")",
                    .fix = "start another one with --engine NAME, or stop that one: sluice down " +
                           paths.name()},
        .exit_code = 75};
  }
  if (error != 0) {
    return LockFailure{.problem = cannot("cannot lock", file, error), .exit_code = 1};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return LockFailure{.problem = cannot("cannot write", file, errno), .exit_code = 1};
  }
  return lock;
}

EngineLock::EngineLock(EngineLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

EngineLock& EngineLock::operator=(EngineLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

EngineLock::~EngineLock() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

std::optional<std::string> name_holder(const EnginePaths& paths) {
  const int fd = ::open(paths.lock_file().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) {
    return std::nullopt;
  }
  const bool held = try_lock(fd, LOCK_SH) == EWOULDBLOCK;
  auto holder = held ? std::optional(pid_in(fd)) : std::nullopt;
  ::close(fd);
  return holder;
}

std::vector<std::string> held_names(const PathRoots& roots) {
  std::vector<std::string> names;
  for (const fs::path& dir : engine_dirs(roots.runtime)) {
    std::string name = dir.filename().string();
    if (name_holder(EnginePaths(roots, name))) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<RunningEngine> running_engines(const fs::path& runtime_root) {
  std::vector<RunningEngine> engines;
  for (const fs::path& dir : engine_dirs(runtime_root)) {
    if (accepts_connections(dir / "api.sock")) {
      engines.push_back({.name = dir.filename().string(), .api_socket = dir / "api.sock"});
    }
  }
  return engines;
}

std::vector<fs::path> leftover_engines(const fs::path& runtime_root) {
  std::vector<fs::path> left;
  for (const fs::path& dir : engine_dirs(runtime_root)) {
    std::error_code ignored;
    if (fs::exists(dir / "api.sock", ignored) && !accepts_connections(dir / "api.sock")) {
      left.push_back(dir);
    }
  }
  return left;
}

}  // namespace sluice::local
