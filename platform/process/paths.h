#pragma once

#include "common/base/result.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <sys/un.h>
#include <vector>

namespace sluice::local {

/// Of the path of a Unix socket, in bytes.
inline constexpr std::size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

/// In the directory of a replica, where no socket has a longer name.
inline constexpr std::string_view kServingSocket = "serving.sock";

/// Reads one environment variable; nothing when it is unset.
using EnvLookup = std::function<std::optional<std::string>(std::string_view)>;

/// Looks into this process's environment.
[[nodiscard]] std::optional<std::string> process_env(std::string_view name);

/// The two places of one-machine.md 7 that hold every engine of a user.
struct PathRoots {
  std::filesystem::path state;    ///< $XDG_STATE_HOME/sluice, else ~/.local/state/sluice
  std::filesystem::path runtime;  ///< $XDG_RUNTIME_DIR/sluice, else /tmp/sluice-<uid>
};

/// Relative XDG values are ignored, as the XDG rules say. Fails when no home directory is known.
[[nodiscard]] Result<PathRoots, Problem> path_roots(const EnvLookup& env, uid_t uid);

/// Where an engine looks for its config.yaml, first place first (one-machine.md 8).
[[nodiscard]] std::vector<std::filesystem::path> settings_files(const EnvLookup& env);

/// The files of one engine.
class EnginePaths {
 public:
  EnginePaths(const PathRoots& roots, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const std::filesystem::path& state_dir() const { return state_; }

  [[nodiscard]] const std::filesystem::path& runtime_dir() const { return runtime_; }

  [[nodiscard]] std::filesystem::path history_db() const { return state_ / "history.db"; }

  [[nodiscard]] std::filesystem::path logs_dir() const { return state_ / "logs"; }

  [[nodiscard]] std::filesystem::path specs_dir() const { return state_ / "specs"; }

  /// Services of commands, and of a stream on standard input, for a start that resumes them.
  [[nodiscard]] std::filesystem::path ran_dir() const { return state_ / "ran"; }

  /// The last revision of each service.
  [[nodiscard]] std::filesystem::path revisions_dir() const { return state_ / "revisions"; }

  /// The specs of revisions, and the traffic that was chosen.
  [[nodiscard]] std::filesystem::path kept_revisions_dir() const {
    return state_ / "revisions" / "kept";
  }

  /// What runs the containers of the engine, for as long as some may be there.
  [[nodiscard]] std::filesystem::path containers_note() const { return state_ / "containers"; }

  /// The files and flags of the last start.
  [[nodiscard]] std::filesystem::path start_json() const { return state_ / "start.json"; }

  [[nodiscard]] std::filesystem::path engine_log() const { return state_ / "engine.log"; }

  [[nodiscard]] std::filesystem::path api_socket() const { return runtime_ / "api.sock"; }

  /// Where the front door forwards requests of the engine's own user, and those of others.
  [[nodiscard]] std::filesystem::path own_door_socket() const { return runtime_ / "own.sock"; }

  [[nodiscard]] std::filesystem::path door_socket() const { return runtime_ / "any.sock"; }

  /// The token of this start, where there is one.
  [[nodiscard]] std::filesystem::path edit_token() const { return runtime_ / "edit-token"; }

  /// A page that opens the dashboard with that token.
  [[nodiscard]] std::filesystem::path edit_page() const { return runtime_ / "dashboard.html"; }

  [[nodiscard]] std::filesystem::path lock_file() const { return runtime_ / "lock"; }

  [[nodiscard]] std::filesystem::path replicas_json() const { return runtime_ / "replicas.json"; }

  /// Hold the directories of replicas: those of their names, and those of names too long for the
  /// address of a socket.
  [[nodiscard]] std::array<std::filesystem::path, 2> replicas_dirs() const;

  /// Holds serving.sock, admin.sock and stats.sock of one replica.
  [[nodiscard]] std::filesystem::path replica_dir(std::string_view replica) const;

 private:
  std::string name_;
  std::filesystem::path state_;
  std::filesystem::path runtime_;
};

/// Makes the runtime directory (0700, ours: a directory under /tmp made by another user is
/// refused). The state directory is made apart, since an engine runs without one.
[[nodiscard]] std::optional<Problem> make_runtime_dir(const EnginePaths& paths);

/// Makes the state directory with logs/, specs/, ran/, revisions/ and revisions/kept/ (0700).
[[nodiscard]] std::optional<Problem> make_state_dir(const EnginePaths& paths);

/// Why a lock was not taken, with the exit code for it: 75 when another engine holds it.
struct LockFailure {
  Problem problem;
  int exit_code = 1;
};

/// The flock that makes an engine the only one of its name; released by destruction or death. The
/// file keeps the holder's pid for the error message of a refused engine. A look at the lock
/// (name_holder) holds it for a moment, so that taking it is tried again for kLooksPatience.
class EngineLock {
 public:
  static constexpr std::chrono::milliseconds kLooksPatience{200};

  /// The runtime directory must exist.
  [[nodiscard]] static Result<EngineLock, LockFailure> take(const EnginePaths& paths);

  EngineLock(EngineLock&& other) noexcept;
  EngineLock& operator=(EngineLock&& other) noexcept;
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;
  ~EngineLock();

 private:
  explicit EngineLock(int fd) : fd_(fd) {}

  int fd_ = -1;
};

/// The pid of the engine that holds the lock of that name, or "unknown"; nothing when it is free.
/// An engine that starts or ends holds it too.
[[nodiscard]] std::optional<std::string> name_holder(const EnginePaths& paths);

/// The names that are held, ordered.
[[nodiscard]] std::vector<std::string> held_names(const PathRoots& roots);

/// An engine that accepts connections on its api.sock.
struct RunningEngine {
  std::string name;
  std::filesystem::path api_socket;
};

/// All running engines below `runtime_root`, ordered by name. Leftovers of dead ones are skipped.
[[nodiscard]] std::vector<RunningEngine> running_engines(const std::filesystem::path& runtime_root);

/// Runtime directories below `runtime_root` whose engine is gone, ordered.
[[nodiscard]] std::vector<std::filesystem::path> leftover_engines(
    const std::filesystem::path& runtime_root);

}  // namespace sluice::local
