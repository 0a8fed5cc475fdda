#pragma once

#include "common/base/result.h"
#include "common/net/fetch.h"

#include "platform/process/service_spec.h"
#include "platform/process/unique_fd.h"
#include "platform/process/volumes.h"
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

/// Where queue-proxy is: SLUICE_QUEUE_PROXY, beside our own executable, in ../libexec/sluice/ from
/// it, on PATH (one-machine.md 5.1).
[[nodiscard]] Result<std::filesystem::path, Problem> find_sidecar();

/// A program that stays the one it was when it was found: its file is held open, so that an upgrade
/// or a removal of the package changes nothing for a running engine.
class HeldProgram {
 public:
  HeldProgram() = default;
  /// Without a file to hold, `path` is all there is.
  explicit HeldProgram(std::filesystem::path path);

  /// What to start: the path while it still leads to the same file, else the file that is held.
  [[nodiscard]] std::filesystem::path program() const;

  /// Where it was found.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd file_;
};

/// The Unix sockets of one replica, all in its own directory.
struct SidecarSockets {
  std::filesystem::path serving;
  std::filesystem::path admin;
  std::filesystem::path stats;
};

/// The names in `directory`; a problem when one is longer than a socket address holds (107 bytes).
[[nodiscard]] Result<SidecarSockets, Problem> sidecar_sockets(
    const std::filesystem::path& directory);

/// What a sidecar must know about its replica.
struct SidecarFacts {
  const ServiceSpec& spec;
  std::string revision;
  std::string replica;
  std::uint16_t port = 0;
  SidecarSockets sockets;
  Duration write_timeout{0};  ///< of the front door, too; 0 = off
  int ready_fd = -1;
};

/// The variables of queue-proxy.md 3 for it, as `NAME=value`; `base` (our own environment) first,
/// without names that the sidecar reads itself.
[[nodiscard]] std::vector<std::string> sidecar_environment(const SidecarFacts& facts,
                                                           const std::vector<std::string>& base);

/// The JSON of SERVING_READINESS_PROBE for a probe on `port`.
[[nodiscard]] std::string readiness_probe_json(const ReadinessProbe& probe, std::uint16_t port);

/// The environment of a program of a service (one-machine.md 3): `base`, then its own variables,
/// expanded, also by those before them, unless they come from a ConfigMap or Secret of `config`,
/// then PORT, K_SERVICE, K_CONFIGURATION and K_REVISION. Later ones replace earlier ones of the
/// same name. The paths of `mounts` are replaced in all but the values of Secrets.
[[nodiscard]] std::vector<std::string> program_environment(const ProgramSpec& program,
                                                           const ConfigDocuments& config,
                                                           const Variables& variables,
                                                           const std::vector<MountPlace>& mounts,
                                                           const std::vector<std::string>& base);

enum class ProbeAnswer {
  ready,        ///< 200 `queue`
  not_ready,    ///< any other answer
  unreachable,  ///< no connection, or no answer within the limit
};

/// One readiness question to a sidecar over its serving socket; the sidecar may hold the answer for
/// up to 10 s. Destroying it cancels the question and the callback.
class SidecarProbe {
 public:
  SidecarProbe(boost::asio::io_context& io, std::filesystem::path socket);
  SidecarProbe(const SidecarProbe&) = delete;
  SidecarProbe& operator=(const SidecarProbe&) = delete;
  ~SidecarProbe() = default;

  /// Asks; `callback` comes once, from the loop. A question still open is given up first.
  void ask(std::function<void(ProbeAnswer)> callback);

 private:
  boost::asio::io_context& io_;  // outlives this
  std::filesystem::path socket_;
  std::optional<net::Fetch> fetch_;
};

}  // namespace sluice::local
