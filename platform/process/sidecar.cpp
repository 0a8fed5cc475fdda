#include "platform/process/sidecar.h"

#include "common/ignore/rules.h"
#include "common/json/write.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/engine_variables.h"
#include "platform/process/paths.h"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sluice::local {
namespace {

/// What a service manager tells the engine about itself is nothing for its children.
constexpr std::array<std::string_view, 7> kManagerNames{
    "NOTIFY_SOCKET", "LISTEN_FDS",   "LISTEN_PID",     "LISTEN_FDNAMES",
    "WATCHDOG_USEC", "WATCHDOG_PID", "SLUICE_READY_FD"};

/// Beginnings of names that the sidecar takes its own settings from; a stray one in the engine's
/// environment must not reach it.
constexpr std::array<std::string_view, 10> kSidecarNames{
    "SERVING_",  "QUEUE_",  "SLUICE_",        "REVISION_",           "CONTAINER_CONCURRENCY",
    "USER_PORT", "ENABLE_", "PROFILING_PORT", "METRICS_PROMETHEUS_", "OBSERVABILITY_CONFIG"};

std::string_view name_of(const std::string& variable) {
  return std::string_view(variable).substr(0, variable.find('='));
}

bool from_manager(const std::string& variable) {
  return std::find(kManagerNames.begin(), kManagerNames.end(), name_of(variable)) !=
         kManagerNames.end();
}

/// Keeps the last of several assignments to one name, in the order of the first.
std::vector<std::string> last_wins(const std::vector<std::string>& variables) {
  std::vector<std::string> kept;
  std::set<std::string_view> seen;
  for (auto one = variables.rbegin(); one != variables.rend(); ++one) {
    if (seen.insert(name_of(*one)).second) kept.push_back(*one);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

Result<std::filesystem::path, Problem> find_sidecar() {
  const auto ok = [](const std::filesystem::path& path) {
    return Result<std::filesystem::path, Problem>{boost::system::in_place_value, path};
  };
  std::error_code failed;
  const auto cwd = std::filesystem::current_path(failed);
  if (const char* given = std::getenv(kQueueProxyVariable.name);
      given != nullptr && *given != '\0') {
    auto found = find_program(std::string(given), "", cwd);
    if (found) return found;
    return Problem{fmt::format("SLUICE_QUEUE_PROXY names {}, which cannot be run", given),
                   "correct it or unset it"};
  }
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  if (!failed) {
    for (const auto& candidate :
         {beside / "queue-proxy", beside / ".." / "libexec" / "sluice" / "queue-proxy"}) {
      const auto found = find_program(candidate.lexically_normal().string(), "", cwd);
      if (found) return ok(*found);
    }
  }
  const char* path = std::getenv("PATH");
  auto found = find_program("queue-proxy", path == nullptr ? "" : path, cwd);
  if (found) return found;
  return Problem{"queue-proxy not found beside sluice, in ../libexec/sluice/ or on PATH",
                 "install all of sluice, or set SLUICE_QUEUE_PROXY to the program"};
}

HeldProgram::HeldProgram(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_PATH | O_CLOEXEC)) {}

std::filesystem::path HeldProgram::program() const {
  struct stat now {};

  struct stat held {};

  if (!file_ || ::fstat(file_.get(), &held) != 0) return path_;
  const bool same =
      ::stat(path_.c_str(), &now) == 0 && now.st_dev == held.st_dev && now.st_ino == held.st_ino;
  if (same) return path_;
  // By our own id: a script's interpreter opens it after the descriptors of the child are closed.
  return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get());
}

Result<SidecarSockets, Problem> sidecar_sockets(const std::filesystem::path& directory) {
  SidecarSockets sockets{directory / kServingSocket, directory / "admin.sock",
                         directory / "stats.sock"};
  // serving.sock is the longest of the three.
  if (sockets.serving.native().size() > kSocketPathMax)
    return Problem{fmt::format("the socket path {} is longer than {} bytes",
                               sockets.serving.string(), kSocketPathMax),
                   "use a shorter engine name (--name), or set XDG_RUNTIME_DIR to a shorter path"};
  return sockets;
}

std::string readiness_probe_json(const ReadinessProbe& probe, std::uint16_t port) {
  nlohmann::json json;
  if (probe.kind == ProbeKind::http) {
    auto& get = json["httpGet"];
    get["path"] = probe.path;
    get["port"] = port;
    get["host"] = "127.0.0.1";
    get["scheme"] = "HTTP";
    for (const auto& [name, value] : probe.headers)
      get["httpHeaders"].push_back({{"name", name}, {"value", value}});
  } else if (probe.kind == ProbeKind::grpc) {
    json["grpc"] = {{"port", port}, {"service", probe.service}};
  } else {  // a command is the engine's to run, once a connection can be made
    json["tcpSocket"] = {{"port", port}, {"host", "127.0.0.1"}};
  }
  json["periodSeconds"] = probe.period_seconds;
  json["timeoutSeconds"] = probe.timeout_seconds;
  json["successThreshold"] = probe.success_threshold;
  // Text of a spec may hold bytes that are not UTF-8; dumping them must not throw.
  return json_line(json);
}

std::vector<std::string> sidecar_environment(const SidecarFacts& facts,
                                             const std::vector<std::string>& base) {
  std::vector<std::string> result;
  for (const std::string& variable : base) {
    const bool its_own =
        std::any_of(kSidecarNames.begin(), kSidecarNames.end(),
                    [&](std::string_view prefix) { return variable.rfind(prefix, 0) == 0; });
    if (!its_own && !from_manager(variable)) result.push_back(variable);
  }
  const ServiceSpec& spec = facts.spec;
  const auto set = [&](std::string_view name, const auto& value) {
    result.push_back(fmt::format("{}={}", name, value));
  };
  set("CONTAINER_CONCURRENCY", spec.container_concurrency);
  set("QUEUE_SERVING_PORT", "unix:" + facts.sockets.serving.string());
  set("QUEUE_SERVING_TLS_PORT", "");
  set("USER_PORT", facts.port);
  set("REVISION_TIMEOUT_SECONDS", spec.timeout.count());
  set("REVISION_RESPONSE_START_TIMEOUT_SECONDS", spec.response_start_timeout.count());
  set("REVISION_IDLE_TIMEOUT_SECONDS", spec.idle_timeout.count());
  set("SERVING_READINESS_PROBE", readiness_probe_json(spec.probe, facts.port));
  if (spec.h2c) set("ENABLE_HTTP2_AUTO_DETECTION", "true");
  set("SERVING_LOGGING_CONFIG", "");
  set("SERVING_LOGGING_LEVEL", "");
  set("SERVING_NAMESPACE", "default");
  set("SERVING_SERVICE", spec.name);
  set("SERVING_CONFIGURATION", spec.name);
  set("SERVING_REVISION", facts.revision);
  set("SERVING_POD", facts.replica);
  set("SERVING_POD_IP", "127.0.0.1");
  set("SLUICE_ADMIN_ADDRESS", "unix:" + facts.sockets.admin.string());
  set("SLUICE_STATS_ADDRESS", "unix:" + facts.sockets.stats.string());
  set("SLUICE_METRICS_ADDRESS", "");
  set("SLUICE_DRAIN_QUIET", "0s");
  const auto rules = [&](std::string_view name, std::string_view key) {
    const auto found = spec.template_annotations.find(std::string{key});
    if (found != spec.template_annotations.end()) set(name, found->second);
  };
  rules("SLUICE_IGNORE_PATHS", ignore::kPathsKey);
  rules("SLUICE_IGNORE_USER_AGENTS", ignore::kAgentsKey);
  const auto patience = std::chrono::ceil<std::chrono::milliseconds>(facts.write_timeout);
  set("SLUICE_WRITE_TIMEOUT", fmt::format("{}ms", patience.count()));
  set("SLUICE_READY_FD", facts.ready_fd);
  return result;
}

std::vector<std::string> program_environment(const ProgramSpec& program,
                                             const ConfigDocuments& config,
                                             const Variables& variables,
                                             const std::vector<MountPlace>& mounts,
                                             const std::vector<std::string>& base) {
  std::vector<std::string> result;
  for (const std::string& variable : base) {
    if (!from_manager(variable)) result.push_back(variable);
  }
  // A Secret is no path, whatever it looks like.
  const auto from = [&](const ConfigName& source, const std::string& value) {
    return source.kind == ConfigKind::secret ? value : at_places(value, mounts);
  };
  for (const EnvFrom& all : program.env_from) {
    const auto document = config.find(all.source);
    if (document == config.end()) continue;  // optional
    for (const auto& [key, value] : document->second) {
      if (value.find('\0') != std::string::npos) continue;  // no variable can hold it
      result.push_back(all.prefix + key + "=" + from(all.source, value));
    }
  }
  for (const EnvVar& variable : program.env) {
    const std::string name = variable.name + "=";
    if (!variable.from) {
      result.push_back(name + at_places(expand_variables(variable.value, variables), mounts));
    } else if (const std::string* const value = value_of(config, *variable.from)) {
      result.push_back(name + from(variable.from->source, *value));
    }
  }
  result.push_back(fmt::format("PORT={}", variables.port));
  result.push_back("K_SERVICE=" + variables.service);
  result.push_back("K_CONFIGURATION=" + variables.service);
  result.push_back("K_REVISION=" + variables.revision);
  return last_wins(result);
}

}  // namespace sluice::local
