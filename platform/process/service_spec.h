#pragma once

#include "common/base/result.h"
#include "common/model/host_rule.h"
#include "common/model/placement_wish.h"
#include "common/time/time_point.h"

#include "platform/process/config_documents.h"
#include "platform/process/traffic.h"
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::local {

/// The longest file of services that is read, in bytes.
inline constexpr std::size_t kSpecFileBytesMax = std::size_t{4} << 20;

using model::HostRule;

enum class ProbeKind {
  tcp,
  http,
  grpc,  ///< grpc.health.v1.Health
  exec,  ///< a command, which the engine runs
};

/// The key of a document for it. A text of static lifetime.
[[nodiscard]] std::string_view name(ProbeKind kind);

/// How the app is asked whether it is ready (queue-proxy.md 10), by the sidecar unless it is a
/// command. Always on $PORT.
struct ReadinessProbe {
  ProbeKind kind = ProbeKind::tcp;
  std::string path = "/";                                    ///< http only
  std::vector<std::pair<std::string, std::string>> headers;  ///< http only
  std::int32_t period_seconds = 0;                           ///< 0 = aggressive
  std::int32_t timeout_seconds = 1;  ///< of one attempt when a period is set
  std::int32_t success_threshold = 1;
  std::string service = {};               ///< grpc only: whose health is asked
  std::vector<std::string> command = {};  ///< exec only, and then not empty

  friend bool operator==(const ReadinessProbe&, const ReadinessProbe&) = default;
};

/// When the engine asks the app whether it is well, and how often the answer may be no.
struct HealthProbe {
  ReadinessProbe question{ProbeKind::tcp, "/", {}, 10, 1, 1};  ///< its success threshold is 1
  std::int32_t initial_delay_seconds = 0;                      ///< from the start of the program
  std::int32_t failure_threshold = 3;                          ///< failures in a row

  friend bool operator==(const HealthProbe&, const HealthProbe&) = default;
};

/// One ConfigMap or Secret of a volume. `items`: keys and the paths of their files; none: all keys.
struct VolumeSource {
  ConfigName source;
  bool optional = false;
  std::map<std::string, std::string> items;

  friend bool operator==(const VolumeSource&, const VolumeSource&) = default;
};

/// A directory that each replica has for itself; without sources it is empty at first.
struct Volume {
  std::string name;
  std::vector<VolumeSource> sources;
  std::optional<std::uint32_t> mode;  ///< of its files; absent: only to be read by their owner

  friend bool operator==(const Volume&, const Volume&) = default;
};

/// Under which path a program has a volume.
struct VolumeMount {
  std::string volume;
  std::string path;      ///< absolute, normal
  std::string sub_path;  ///< of the volume; empty: all of it

  friend bool operator==(const VolumeMount&, const VolumeMount&) = default;
};

/// Where a program in a container listens, unless its document says another port.
inline constexpr std::uint16_t kContainerPort = 8080;

/// One program of a service as its container has it.
struct ProgramSpec {
  std::string name;                  ///< of an init container
  std::string image;                 ///< empty: a program of this machine
  std::vector<std::string> command;  ///< empty with an image, else never
  std::vector<std::string> args;
  std::vector<EnvVar> env;
  std::vector<EnvFrom> env_from;      ///< weaker than `env`
  std::filesystem::path working_dir;  ///< with an image, in its container; empty: the image's own
  std::vector<VolumeMount> mounts;

  friend bool operator==(const ProgramSpec&, const ProgramSpec&) = default;
};

/// What a person asks for: one service as written in a file or made from the command form
/// (one-machine.md 3). Parsed and checked, except for the autoscaling annotations: those are kept
/// as text and judged by the autoscaler's own rules.
struct ServiceSpec {
  std::string name;             ///< a DNS label
  std::vector<HostRule> hosts;  ///< besides NAME.localhost, from `sluice.dev/hosts`
  std::map<std::string, std::string> annotations;           ///< of the service
  std::map<std::string, std::string> template_annotations;  ///< of the template: autoscaling keys
  std::string image;                                        ///< as in ProgramSpec
  std::vector<std::string> command;                         ///< as in ProgramSpec
  std::vector<std::string> args;
  std::vector<EnvVar> env;
  std::vector<EnvFrom> env_from;      ///< weaker than `env`
  std::filesystem::path working_dir;  ///< absolute, or empty as in ProgramSpec
  std::vector<VolumeMount> mounts;
  std::vector<Volume> volumes;
  std::vector<ProgramSpec> init;            ///< run in this order before the app
  ConfigDocuments config;                   ///< the ConfigMaps and Secrets that it uses
  std::optional<std::uint16_t> fixed_port;  ///< then one replica at most
  /// In a container its $PORT, else where it is looked for beside $PORT.
  std::optional<std::uint16_t> container_port;
  bool h2c = false;                        ///< the app speaks HTTP/2 in clear text
  std::int32_t container_concurrency = 0;  ///< 0 = no limit
  std::chrono::seconds timeout{300};
  std::chrono::seconds response_start_timeout{0};  ///< 0 = off
  std::chrono::seconds idle_timeout{0};            ///< 0 = off
  ReadinessProbe probe;
  std::optional<HealthProbe> liveness;
  std::optional<HealthProbe> startup;
  std::optional<double> cpu_limit;           ///< cores
  std::optional<std::int64_t> memory_limit;  ///< bytes
  Duration stop_grace = std::chrono::seconds{10};
  Duration start_timeout = std::chrono::seconds{60};
  bool never_throttled = false;    ///< nor held: it works while no request is in flight
  model::PlacementWish placement;  ///< what its template's annotations ask of places
  Traffic traffic;                 ///< of the service; empty: its document says nothing of it

  /// Whether its replicas are started in a cgroup of their own; a container has one anyway.
  [[nodiscard]] bool is_limited() const { return image.empty() && (cpu_limit || memory_limit); }

  /// The program that serves.
  [[nodiscard]] ProgramSpec app() const {
    return {{}, image, command, args, env, env_from, working_dir, mounts};
  }

  /// $PORT in its container.
  [[nodiscard]] std::uint16_t port_in_container() const {
    return container_port.value_or(kContainerPort);
  }

  /// Whether a program of it is run in a container.
  [[nodiscard]] bool needs_containers() const;

  friend bool operator==(const ServiceSpec&, const ServiceSpec&) = default;
};

/// What a file leaves unsaid (`defaults` of one-machine.md 8).
struct SpecDefaults {
  std::chrono::seconds timeout{300};
  std::int32_t container_concurrency = 0;
  std::string container_runtime = "auto";  ///< of the settings; empty: not looked for
};

struct ParsedFile {
  std::vector<ServiceSpec> services;
  std::vector<std::string> warnings;  ///< one per key that one machine cannot honour
};

/// A file of which nothing is used.
struct RefusedFile {
  std::vector<Problem> problems;      ///< never empty; at most 20 of each file
  std::vector<std::string> warnings;  ///< what else there is to say of it

  /// One line for each problem, then one for each warning.
  [[nodiscard]] std::string text() const;

  /// Adds what is wrong with another file.
  void add(RefusedFile other);
};

/// Reads a stream of Knative Services and of the ConfigMaps and Secrets that they use. `file_name`
/// is what messages call it; a relative `workingDir` is relative to `base_dir`, which is also the
/// default. All problems and warnings of the text are returned, each naming file, line and fix.
[[nodiscard]] Result<ParsedFile, RefusedFile> parse_services(std::string_view yaml,
                                                             const std::string& file_name,
                                                             const std::filesystem::path& base_dir,
                                                             const SpecDefaults& defaults = {});

/// The `*.yaml` and `*.yml` of a directory, at most `most`, in the order of their names.
[[nodiscard]] std::vector<std::filesystem::path> spec_files_in(
    const std::filesystem::path& directory, std::size_t most);

/// What messages call a file of services: `standard input` for `-`.
[[nodiscard]] std::string shown_name(const std::filesystem::path& file);

/// Whether a named pipe is read, which waits for its writer: an engine that follows files does not.
enum class NamedPipes { refused, read };

/// The bytes of a file of services; `-` is standard input. Refused beyond kSpecFileBytesMax without
/// reading the rest.
[[nodiscard]] Result<std::string, Problem> read_spec_file(const std::filesystem::path& path,
                                                          NamedPipes pipes = NamedPipes::refused);

/// The stream that parse_services turns into `spec` again: what it uses of ConfigMaps and Secrets,
/// then the Service.
[[nodiscard]] std::string to_yaml(const ServiceSpec& spec);

/// The same without the values of its environment, of its ConfigMaps and Secrets and of its probes'
/// headers, as a first line says. For those who may see what a service is and not what it knows.
[[nodiscard]] std::string to_yaml_without_values(const ServiceSpec& spec);

/// The command form of `sluice up` (one-machine.md 1).
struct CommandForm {
  std::string name = "app";
  std::string image;  ///< then `command` is its arguments
  std::vector<std::string> command;
  std::optional<std::uint16_t> port;  ///< fixed; then `max` is taken as 1, but for an image
  std::optional<double> target;
  std::optional<std::int32_t> concurrency;
  std::optional<std::int32_t> min;
  std::optional<std::int32_t> max;
  std::optional<Duration> window;
  std::vector<EnvVar> env;
  std::optional<double> cpu;
  std::optional<std::int64_t> memory;
  std::filesystem::path cwd;
};

/// The spec that a file with these keys would give; what is absent is for complete_command() to
/// fill in. The name and command are not checked.
[[nodiscard]] ServiceSpec command_spec(const CommandForm& form);

/// What is wrong with the name of an image; absent: nothing that can be seen before it is run.
[[nodiscard]] std::optional<Problem> check_image(const std::string& image);

/// 16 hex digits over exactly the fields that make a new revision (one-machine.md 5.7): image,
/// command, args, env, workingDir, port, protocol, probes, resources, concurrency, timeouts,
/// volumes and mounts, init containers, and the ConfigMaps and Secrets that are used.
[[nodiscard]] std::string template_hash(const ServiceSpec& spec);

/// Takes from `other` what makes no new revision: all that is not in template_hash().
void take_live(ServiceSpec& spec, const ServiceSpec& other);

/// The values known when a replica starts.
struct Variables {
  std::uint16_t port = 0;
  std::string service;
  std::string revision;
  std::map<std::string, std::string, std::less<>> environment = {};  ///< what else is in `env`
};

/// `$NAME`, `${NAME}` and `$(NAME)` for PORT, K_SERVICE and K_REVISION, `$(NAME)` also for
/// `environment`; `$$` becomes `$`; everything else stays as written (one-machine.md 1).
[[nodiscard]] std::string expand_variables(std::string_view text, const Variables& variables);

/// Where a program is: `command` itself when it has a `/` (relative to `cwd`), else the first
/// executable in `path_list` (the value of PATH). The problem reads
/// `command not found: pyhton3; looked in PATH; fix the name or give a full path`.
[[nodiscard]] Result<std::filesystem::path, Problem> find_program(const std::string& command,
                                                                  std::string_view path_list,
                                                                  const std::filesystem::path& cwd);

/// The program that runs containers, in our PATH: the `wanted` one, or with `auto` podman, else
/// docker.
[[nodiscard]] Result<std::filesystem::path, Problem> find_container_runtime(
    const std::string& wanted);

}  // namespace sluice::local
