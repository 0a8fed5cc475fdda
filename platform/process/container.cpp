#include "platform/process/container.h"

#include "common/values/whole_number.h"

#include <fmt/format.h>

#include "platform/process/cores.h"
#include "platform/process/proc_files.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sluice::local {
namespace {

constexpr const char* kEngineLabel = "dev.sluice.engine";
constexpr std::size_t kIdBytesMax = 256;
constexpr std::size_t kCgroupBytesMax = 16384;
constexpr std::size_t kNoteBytesMax = 16384;
/// Of a question to the runtime, and of a removal, which may have to wait for a file system.
constexpr std::chrono::seconds kRuntimeAnswerLimit{10};
constexpr std::chrono::seconds kRemovalLimit{20};
/// All processes of the machine are looked at.
constexpr std::chrono::milliseconds kLookAgain{150};

std::string first_line(std::string text) {
  return text.substr(0, text.find('\n'));
}

std::optional<Problem> write_private(const std::filesystem::path& file, const std::string& text) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return std::nullopt;
  return Problem{fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)),
                 "make the runtime directory writable"};
}

bool has_line_break(const std::string& text) {
  return text.find_first_of("\r\n") != std::string::npos;
}

std::string label_filter(const std::string& owner) {
  return fmt::format("label={}={}", kEngineLabel, owner);
}

bool writes_pid(const ContainerHost& host) {
  return host.runtime.filename() == "podman";
}

std::string variable_name(const std::string& variable) {
  return variable.substr(0, variable.find('='));
}

// The control groups of the kernel have the id of the container in their names.
pid_t first_process_of(const std::string& id) {
  pid_t found = -1;
  auto first = std::numeric_limits<std::uint64_t>::max();
  for_each_process([&](pid_t pid) {
    const auto cgroup =
        read_small_file(fmt::format("/proc/{}/cgroup", pid), kCgroupBytesMax).value_or("");
    if (!is_in_container(cgroup, id)) return true;
    const auto stat = process_stat(pid);
    if (stat && !stat->zombie && stat->start_ticks < first) {
      first = stat->start_ticks;
      found = pid;
    }
    return true;
  });
  return found;
}

}  // namespace

bool is_in_container(std::string_view cgroup, std::string_view id) {
  for (auto at = cgroup.find(id); at != std::string_view::npos; at = cgroup.find(id, at + 1)) {
    // The monitor of podman has a group beside that of its container.
    if (!cgroup.substr(0, at).ends_with("conmon-")) return true;
  }
  return false;
}

std::vector<std::string> run_command(const ContainerPlan& plan) {
  std::vector<std::string> words{plan.host.runtime.filename().string(), "run"};
  const auto option = [&words](const char* name, std::string value) {
    words.emplace_back(name);
    words.push_back(std::move(value));
  };
  option("--name", plan.name);
  option("--label", fmt::format("{}={}", kEngineLabel, plan.host.owner));
  option("--cidfile", plan.id_file.string());
  if (writes_pid(plan.host)) option("--pidfile", plan.pid_file.string());
  option("--env-file", plan.env_file.string());
  // A file of variables has one in each line; the others come from the runtime's environment.
  for (const std::string& variable : plan.environment) {
    if (has_line_break(variable)) option("--env", variable_name(variable));
  }
  // Output is read here, and kept in the log of the service.
  option("--log-driver", "none");
  // The time to end is given by us: a forced removal does not wait.
  option("--stop-timeout", "0");
  if (plan.port != 0)
    option("--publish", fmt::format("127.0.0.1:{}:{}", plan.port, plan.inner_port));
  if (!plan.cpus.empty()) option("--cpuset-cpus", format_cores(plan.cpus));
  if (plan.cpu_limit) option("--cpus", fmt::format("{:.3f}", *plan.cpu_limit));
  if (plan.memory_limit) option("--memory", fmt::format("{}b", *plan.memory_limit));
  for (const MountPlace& mount : plan.mounts) {
    const bool fixed =
        std::find(plan.read_only.begin(), plan.read_only.end(), mount.path) != plan.read_only.end();
    option("--volume", fmt::format("{}:{}{}", mount.place, mount.path, fixed ? ":ro" : ""));
  }
  if (!plan.program.working_dir.empty()) option("--workdir", plan.program.working_dir.string());
  words.push_back(plan.program.image);
  words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
  return words;
}

Container::Container(boost::asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner,
                     ContainerPlan plan)
    : loop_{loop},
      plan_{std::move(plan)},
      again_{loop.timer()},
      command_{io, loop, reaper, spawner} {}

// What runs is known by its label: the guard of the engine removes it, or its next start.
Container::~Container() {
  std::error_code ignored;
  for (const auto& file : {plan_.id_file, plan_.pid_file, plan_.env_file})
    std::filesystem::remove(file, ignored);
}

Result<SpawnSpec, Problem> Container::prepare() {
  std::error_code ignored;
  std::filesystem::remove(plan_.id_file, ignored);  // one that is there would be an error
  std::filesystem::remove(plan_.pid_file, ignored);
  SpawnSpec wanted;
  wanted.program = plan_.host.runtime;
  wanted.argv = run_command(plan_);
  wanted.env = plan_.ours;
  std::string lines;
  for (const std::string& variable : plan_.environment) {
    if (has_line_break(variable)) {
      wanted.env.push_back(variable);
    } else {
      lines += variable + '\n';
    }
  }
  if (auto problem = write_private(plan_.env_file, lines)) return *problem;
  gone_ = false;
  return wanted;
}

const std::string& Container::id() const {
  if (id_.empty()) id_ = first_line(read_small_file(plan_.id_file, kIdBytesMax).value_or(""));
  return id_;
}

pid_t Container::process() {
  if (process_ > 0 && process_stat(process_)) return process_;
  process_ = -1;
  if (id().empty()) return process_;
  if (writes_pid(plan_.host)) {
    const std::string text = first_line(read_small_file(plan_.pid_file, kIdBytesMax).value_or(""));
    process_ = whole_number<pid_t>(text).value_or(-1);
  } else if (!looked_ || loop_.now() - *looked_ >= kLookAgain) {
    looked_ = loop_.now();
    process_ = first_process_of(id());
  }
  if (process_ > 0 && !seen_since_) seen_since_ = loop_.now();
  return process_;
}

std::optional<TimePoint> Container::seen_since() {
  static_cast<void>(process());
  return seen_since_;
}

Listening Container::listening() {
  const pid_t pid = process();
  Listening found = pid > 0 ? listening_in_network_of(pid, plan_.inner_port) : Listening{};
  found.begun = pid > 0;
  return found;
}

std::int64_t Container::memory_bytes() {
  const pid_t pid = process();
  std::int64_t bytes = 0;
  if (pid <= 0) return bytes;
  for (const pid_t each : descendants_of(pid)) bytes += resident_bytes(each);
  return bytes;
}

SpawnSpec Container::runtime_command(std::vector<std::string> words) const {
  SpawnSpec wanted;
  wanted.program = plan_.host.runtime;
  wanted.argv = {plan_.host.runtime.filename().string()};
  wanted.argv.insert(wanted.argv.end(), words.begin(), words.end());
  wanted.env = plan_.ours;
  return wanted;
}

Result<SpawnSpec, Problem> Container::inside(const std::vector<std::string>& command) const {
  if (id().empty()) return Problem{"there is no container yet", "ask again"};
  std::vector<std::string> words{"exec", id()};
  words.insert(words.end(), command.begin(), command.end());
  return runtime_command(std::move(words));
}

bool Container::kill() {
  if (id().empty()) return false;
  command_.start(runtime_command({"kill", id()}), kRuntimeAnswerLimit, [](const CommandEnd&) {});
  return true;
}

void Container::ended(std::function<void(const Ended&)> seen, std::function<void()> removed) {
  if (id().empty()) {
    remove([seen = std::move(seen), removed = std::move(removed)] {
      seen({.was_run = false});
      removed();
    });
    return;
  }
  command_.start(
      runtime_command({"inspect", "--format", "{{.State.OOMKilled}} {{.State.Status}}", id()}),
      kRuntimeAnswerLimit,
      [this, seen = std::move(seen), removed = std::move(removed)](const CommandEnd& end) {
        remove(removed);
        seen({.was_run = end.output.find(" created") == std::string::npos,
              .out_of_memory = end.output.starts_with("true ")});
      });
}

void Container::remove(std::function<void()> removed) {
  // A runtime that was stopped as it made it may not have come to write the id down.
  if (id().empty()) return remove_if_there(std::move(removed));
  remove_made(std::move(removed));
}

void Container::remove_if_there(std::function<void()> removed) {
  command_.start(
      runtime_command({"ps", "--all", "--quiet", "--no-trunc", "--filter",
                       "name=^" + plan_.name + "$", "--filter", label_filter(plan_.host.owner)}),
      kRuntimeAnswerLimit, [this, removed = std::move(removed)](const CommandEnd& end) {
        if (!end.output.empty()) id_ = first_line(end.output);
        if (!id().empty() && !(end.succeeded() && end.output.empty())) return remove_made(removed);
        gone_ = true;
        removed();
      });
}

void Container::remove_made(std::function<void()> removed) {
  command_.start(runtime_command({"rm", "--force", id()}), kRemovalLimit,
                 [this, removed = std::move(removed)](const CommandEnd& end) {
                   gone_ = end.succeeded();
                   if (gone_) return removed();
                   // A user may have removed it.
                   removals_.failed(loop_.now());
                   again_->at(removals_.retry_at(), [this, removed] { remove_if_there(removed); });
                 });
}

void note_containers(const std::filesystem::path& file, const ContainerHost& host) {
  std::error_code failed;
  if (std::filesystem::exists(file, failed)) return;
  static_cast<void>(write_private(file, host.runtime.string() + '\n' + host.owner + '\n'));
}

UniqueFd open_note(const std::filesystem::path& file) {
  return UniqueFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
}

std::vector<std::string> remove_noted_containers(const Clock& clock, const UniqueFd& note,
                                                 const std::filesystem::path& file,
                                                 const std::vector<std::string>& environment,
                                                 bool keep_note) {
  std::vector<std::string> names;

  struct stat seen {};

  if (!note || ::flock(note.get(), LOCK_EX) != 0 || ::fstat(note.get(), &seen) != 0 ||
      seen.st_nlink == 0)
    return names;
  const std::string text =
      read_small_file(fmt::format("/proc/self/fd/{}", note.get()), kNoteBytesMax).value_or("");
  SpawnSpec command;
  command.program = first_line(text);
  const std::string owner =
      first_line(text.substr(std::min(text.size(), command.program.native().size() + 1)));
  command.env = environment;
  const std::string name = command.program.filename().string();
  command.argv = {name, "ps", "--all", "--filter", label_filter(owner), "--format", "{{.Names}}"};
  const auto list = run_at_once(clock, command, kRuntimeAnswerLimit);
  if (!list) return names;
  for (std::string_view rest = *list; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    if (end > 0) names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!names.empty()) {
    command.argv = {name, "rm", "--force"};
    command.argv.insert(command.argv.end(), names.begin(), names.end());
    if (!run_at_once(clock, command, kRuntimeAnswerLimit)) return {};
  }
  std::error_code ignored;
  if (!keep_note) std::filesystem::remove(file, ignored);
  return names;
}

}  // namespace sluice::local
