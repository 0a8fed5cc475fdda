#include "platform/process/service_spec.h"

#include "common/scaling/setting_names.h"

#include <fmt/format.h>

#include "platform/process/quantity.h"
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::size_t kImageBytesMax = 1000;

/// FNV-1a over fields with their lengths, so that no two lists of fields run into each other.
class FieldHash {
 public:
  void add(std::string_view field) {
    number(field.size());
    for (const char c : field) byte(static_cast<unsigned char>(c));
  }

  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<unsigned char>(value >> shift));
  }

  void number(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }

  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void byte(unsigned char value) { hash_ = (hash_ ^ value) * 0x100000001b3U; }

  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

/// Strings, each after its length: equal texts mean equal lists.
class FieldText {
 public:
  FieldText& add(std::string_view field) {
    text_ += fmt::format("{}:{}", field.size(), field);
    return *this;
  }

  FieldText& add(std::int64_t value) { return add(fmt::format("{}", value)); }

  FieldText& add(const std::vector<std::string>& words) {
    add(std::ssize(words));
    for (const std::string& word : words) add(word);
    return *this;
  }

  FieldText& add(const ConfigName& name) { return add(name.text()); }

  FieldText& add(const std::optional<HealthProbe>& probe) {
    add(std::int64_t{probe.has_value()});
    if (!probe) return *this;
    const ReadinessProbe& asked = probe->question;
    add(std::int64_t{asked.kind == ProbeKind::http}).add(asked.path);
    add(std::ssize(asked.headers));
    for (const auto& [name, value] : asked.headers) add(name).add(value);
    add_newer(asked);
    add(asked.period_seconds).add(asked.timeout_seconds);
    return add(probe->initial_delay_seconds).add(probe->failure_threshold);
  }

  /// What a probe of tcp or http does not have.
  FieldText& add_newer(const ReadinessProbe& probe) {
    return is_newer(probe) ? add(name(probe.kind)).add(probe.service).add(probe.command) : *this;
  }

  [[nodiscard]] static bool is_newer(const ReadinessProbe& probe) {
    return probe.kind == ProbeKind::grpc || probe.kind == ProbeKind::exec;
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The variables that come from elsewhere, and the mounts.
void add_sources(FieldText& text, const ProgramSpec& program) {
  text.add(std::ssize(program.env_from));
  for (const EnvFrom& all : program.env_from) text.add(all.source).add(all.prefix);
  for (const EnvVar& variable : program.env) {
    if (variable.from) text.add(variable.name).add(variable.from->source).add(variable.from->key);
  }
  text.add(std::ssize(program.mounts));
  for (const VolumeMount& mount : program.mounts)
    text.add(mount.volume).add(mount.path).add(mount.sub_path);
}

std::string further_fields(const ServiceSpec& spec) {
  FieldText text;
  text.add(std::ssize(spec.config));
  for (const auto& [name, data] : spec.config) {
    text.add(name).add(std::ssize(data));
    for (const auto& [key, value] : data) text.add(key).add(value);
  }
  text.add(std::ssize(spec.volumes));
  for (const Volume& volume : spec.volumes) {
    text.add(volume.name).add(volume.mode ? std::int64_t{*volume.mode} : -1);
    text.add(std::ssize(volume.sources));
    for (const VolumeSource& source : volume.sources) {
      text.add(source.source).add(std::ssize(source.items));
      for (const auto& [key, path] : source.items) text.add(key).add(path);
    }
  }
  add_sources(text, spec.app());
  text.add(std::ssize(spec.init));
  for (const ProgramSpec& program : spec.init) {
    text.add(program.name).add(program.command).add(program.args);
    text.add(program.working_dir.native()).add(std::ssize(program.env));
    for (const EnvVar& variable : program.env) text.add(variable.name).add(variable.value);
    add_sources(text, program);
    if (!program.image.empty()) text.add("image").add(program.image);
  }
  text.add(spec.liveness).add(spec.startup).add_newer(spec.probe);
  if (!spec.image.empty())
    text.add("image").add(spec.image).add(std::int64_t{spec.port_in_container()});
  return text.text();
}

bool is_executable_file(const std::filesystem::path& path) {
  struct stat info {};

  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string_view name(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::tcp:
      return "tcpSocket";
    case ProbeKind::http:
      return "httpGet";
    case ProbeKind::grpc:
      return "grpc";
    case ProbeKind::exec:
      return "exec";
  }
  return "tcpSocket";
}

bool ServiceSpec::needs_containers() const {
  return !image.empty() || std::any_of(init.begin(), init.end(), [](const ProgramSpec& program) {
    return !program.image.empty();
  });
}

std::optional<Problem> check_image(const std::string& image) {
  const bool plain = std::all_of(image.begin(), image.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view{"._-/:@"}.find(c) != std::string_view::npos;
  });
  if (!image.empty() && image.size() <= kImageBytesMax && image.front() != '-' && plain)
    return std::nullopt;
  return Problem{fmt::format("`{}` is not the name of an image", image.substr(0, 80)),
                 "write it like docker.io/library/nginx:1.25"};
}

ServiceSpec command_spec(const CommandForm& form) {
  ServiceSpec spec;
  const bool in_container = !form.image.empty();
  spec.name = form.name;
  spec.image = form.image;
  (in_container ? spec.args : spec.command) = form.command;
  spec.env = form.env;
  if (!in_container) spec.working_dir = form.cwd;
  spec.container_concurrency = form.concurrency.value_or(0);
  spec.cpu_limit = form.cpu;
  spec.memory_limit = form.memory;
  auto& annotations = spec.template_annotations;
  const auto set = [&annotations](const std::string& key, const auto& value) {
    if (value) annotations["autoscaling.knative.dev/" + key] = fmt::format("{}", *value);
  };
  set("target", form.target);
  set("min-scale", form.min);
  set("max-scale", form.port && !in_container ? std::optional{1} : form.max);
  if (form.window) annotations["autoscaling.knative.dev/window"] = format_duration(*form.window);
  if (form.port && in_container) {
    spec.container_port = form.port;
  } else if (form.port) {
    spec.fixed_port = form.port;
    annotations["sluice.dev/port"] = fmt::format("{}", *form.port);
  }
  return spec;
}

std::string template_hash(const ServiceSpec& spec) {
  FieldHash hash;
  const auto words = [&](const std::vector<std::string>& list) {
    hash.number(list.size());
    for (const std::string& word : list) hash.add(word);
  };
  words(spec.command);
  words(spec.args);
  hash.number(spec.env.size());
  for (const EnvVar& variable : spec.env) {
    hash.add(variable.name);
    hash.add(variable.value);
  }
  hash.add(spec.working_dir.native());
  hash.number(std::int64_t{spec.fixed_port ? *spec.fixed_port : -1});
  const ReadinessProbe& probe = spec.probe;
  hash.number(std::int64_t{probe.kind == ProbeKind::http});
  if (probe.kind == ProbeKind::http) hash.add(probe.path);
  hash.number(probe.headers.size());
  for (const auto& [name, value] : probe.headers) {
    hash.add(name);
    hash.add(value);
  }
  hash.number(std::int64_t{probe.period_seconds});
  hash.number(std::int64_t{probe.timeout_seconds});
  hash.number(std::int64_t{probe.success_threshold});
  hash.add(spec.cpu_limit ? format_cpu(*spec.cpu_limit) : "");
  hash.number(spec.memory_limit.value_or(-1));
  hash.number(std::int64_t{spec.container_concurrency});
  hash.number(std::int64_t{spec.timeout.count()});
  hash.number(std::int64_t{spec.response_start_timeout.count()});
  hash.number(std::int64_t{spec.idle_timeout.count()});
  const auto policy = spec.template_annotations.find(std::string{kLoadBalancingKey});
  hash.add(policy == spec.template_annotations.end() ? "" : policy->second);
  hash.number(std::int64_t{spec.h2c});
  // A spec without what follows keeps the hash that older releases gave it.
  if (!spec.volumes.empty() || !spec.config.empty() || !spec.init.empty() || spec.liveness ||
      spec.startup || !spec.env_from.empty() || !spec.image.empty() || FieldText::is_newer(probe)) {
    hash.add(further_fields(spec));
  }
  return fmt::format("{:016x}", hash.value());
}

void take_live(ServiceSpec& spec, const ServiceSpec& other) {
  auto policy = spec.template_annotations.extract(std::string{kLoadBalancingKey});
  spec.template_annotations = other.template_annotations;
  spec.template_annotations.erase(std::string{kLoadBalancingKey});
  if (policy) spec.template_annotations.insert(std::move(policy));
  spec.annotations = other.annotations;
  spec.hosts = other.hosts;
  spec.container_port = other.container_port;
  spec.stop_grace = other.stop_grace;
  spec.start_timeout = other.start_timeout;
  spec.never_throttled = other.never_throttled;
  spec.placement = other.placement;
  spec.traffic = other.traffic;
}

std::string expand_variables(std::string_view text, const Variables& variables) {
  const auto value_of = [&](std::string_view name, char open) -> std::optional<std::string> {
    if (name == "PORT") return fmt::format("{}", variables.port);
    if (name == "K_SERVICE") return variables.service;
    if (name == "K_REVISION") return variables.revision;
    const auto other = open == '(' ? variables.environment.find(name) : variables.environment.end();
    return other == variables.environment.end() ? std::nullopt : std::optional{other->second};
  };
  const auto is_name_char = [](char c, char open) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (open == '(' && (c == '-' || c == '.'));
  };
  std::string result;
  while (!text.empty()) {
    const auto dollar = text.find('$');
    result += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    if (!text.empty() && text.front() == '$') {
      result += '$';
      text.remove_prefix(1);
      continue;
    }
    const char open = text.empty() ? '\0' : text.front();
    const bool bracketed = open == '{' || open == '(';
    const std::size_t begin = bracketed ? 1 : 0;
    std::size_t end = begin;
    while (end < text.size() && is_name_char(text[end], open)) ++end;
    const bool closed = !bracketed || (end < text.size() && text[end] == (open == '{' ? '}' : ')'));
    const auto value = closed ? value_of(text.substr(begin, end - begin), open) : std::nullopt;
    if (!value) {
      result += '$';
      continue;
    }
    result += *value;
    text.remove_prefix(end + begin);
  }
  return result;
}

Result<std::filesystem::path, Problem> find_program(const std::string& command,
                                                    std::string_view path_list,
                                                    const std::filesystem::path& cwd) {
  if (command.find('/') != std::string::npos) {
    const auto path = (cwd / command).lexically_normal();
    if (is_executable_file(path)) return {boost::system::in_place_value, path};
    std::error_code failed;
    if (std::filesystem::is_regular_file(path, failed))
      return Problem{fmt::format("{} is not executable", path.string()),
                     fmt::format("chmod +x {}", path.string())};
    return Problem{fmt::format("command not found: {}", command),
                   std::filesystem::path(command).is_absolute()
                       ? std::string{"fix the path"}
                       : "fix the path; it is relative to " + cwd.string()};
  }
  std::string_view rest = path_list;
  while (!command.empty() && !rest.empty()) {
    const auto colon = rest.find(':');
    const std::string_view directory = rest.substr(0, colon);
    // An empty entry of PATH means the current directory.
    const auto path = (cwd / directory / command).lexically_normal();
    if (is_executable_file(path)) return {boost::system::in_place_value, path};
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return Problem{fmt::format("command not found: {}; looked in PATH", command),
                 "fix the name or give a full path"};
}

Result<std::filesystem::path, Problem> find_container_runtime(const std::string& wanted) {
  const char* const search = std::getenv("PATH");
  const auto find = [search](const std::string& name) {
    return find_program(name, search == nullptr ? "" : search, "/");
  };
  if (wanted != "auto") {
    auto found = find(wanted);
    if (found) return found;
    return Problem{fmt::format("an image is run by {}, which is not in PATH", wanted),
                   "install it, or change container-runtime in config.yaml"};
  }
  for (const char* const name : {"podman", "docker"}) {
    if (auto found = find(name)) return found;
  }
  return Problem{
      "an image is run by podman or docker, and neither is in PATH",
      "install one (apt install podman), or add `command` with a program of this machine"};
}

std::vector<std::filesystem::path> spec_files_in(const std::filesystem::path& directory,
                                                 std::size_t most) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry{directory, failed}, end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string extension = entry->path().extension().string();
    if (extension != ".yaml" && extension != ".yml") continue;
    files.push_back(entry->path());
    if (files.size() >= most) break;
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string shown_name(const std::filesystem::path& file) {
  return file == "-" ? "standard input" : file.string();
}

Result<std::string, Problem> read_spec_file(const std::filesystem::path& path, NamedPipes pipes) {
  const bool standard_input = path == "-";
  const std::string name = shown_name(path);
  const auto failed = [&](int error) {
    return Problem{fmt::format("cannot read {}: {}", name, std::strerror(error)),
                   "check the path and its permissions"};
  };
  const bool waits = pipes == NamedPipes::read;
  const int fd = standard_input
                     ? STDIN_FILENO
                     : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK));
  if (fd < 0) return failed(errno);

  struct stat info {};

  std::string text;
  int error = ::fstat(fd, &info) == 0 ? 0 : errno;
  // A pipe is read in blocking mode only as standard input, where a person or a program writes it.
  if (error == 0 && S_ISDIR(info.st_mode)) error = EISDIR;
  if (error == 0 && !standard_input && !S_ISREG(info.st_mode) && !(waits && S_ISFIFO(info.st_mode)))
    error = EINVAL;
  bool too_large = S_ISREG(info.st_mode) && info.st_size > static_cast<off_t>(kSpecFileBytesMax);
  std::array<char, 65536> chunk{};
  while (error == 0 && !too_large) {
    const auto count = ::read(fd, chunk.data(), chunk.size());
    if (count == 0) break;
    if (count < 0 && errno != EINTR) error = errno;
    if (count > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
    too_large = text.size() > kSpecFileBytesMax;
  }
  if (!standard_input) ::close(fd);
  if (error != 0) return failed(error);
  if (too_large)
    return Problem{fmt::format("{} is larger than {} MiB", name, kSpecFileBytesMax >> 20),
                   "split it into several files"};
  return {boost::system::in_place_value, std::move(text)};
}

}  // namespace sluice::local
