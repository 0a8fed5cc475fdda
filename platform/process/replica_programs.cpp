#include "platform/process/replica_programs.h"

#include <fmt/format.h>

#include "platform/process/listeners.h"
#include "platform/process/volumes.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <utility>

namespace sluice::local {
namespace {

std::filesystem::path volumes_of(const ReplicaPlan& plan) {
  return plan.directory / "v";
}

}  // namespace

std::optional<Problem> make_directory_of(const ReplicaPlan& plan, const SidecarSockets& sockets) {
  std::error_code failed;
  std::filesystem::create_directories(plan.directory, failed);
  if (failed || ::chmod(plan.directory.c_str(), 0700) != 0) {
    return Problem{fmt::format("cannot make {}: {}", plan.directory.string(),
                               failed ? failed.message() : std::strerror(errno)),
                   "make the runtime directory writable"};
  }
  for (const auto& socket : {sockets.serving, sockets.admin, sockets.stats})
    std::filesystem::remove(socket, failed);
  return plan.spec.volumes.empty() ? std::nullopt : write_volumes(plan.spec, volumes_of(plan));
}

bool remove_directory_of(const ReplicaPlan& plan, const SidecarSockets& sockets) {
  if (!plan.spec.volumes.empty() && !remove_some(volumes_of(plan))) return false;
  std::error_code ignored;
  for (const auto& socket : {sockets.serving, sockets.admin, sockets.stats})
    if (!socket.empty()) std::filesystem::remove(socket, ignored);
  std::filesystem::remove(plan.directory, ignored);
  return true;
}

namespace {

/// What the words of a program's command line may name: all of its environment.
Variables with_environment(Variables variables, const std::vector<std::string>& environment) {
  for (const std::string& each : environment) {
    const std::size_t end = each.find('=');
    variables.environment.insert_or_assign(each.substr(0, end), each.substr(end + 1));
  }
  return variables;
}

SpawnSpec plain_spawn(const ReplicaPlan& plan, const ProgramSpec& program,
                      const std::filesystem::path& file, const Variables& variables) {
  const auto places = places_of(program.mounts, volumes_of(plan));
  const Variables known = with_environment(
      variables, program_environment(program, plan.spec.config, variables, places, {}));
  SpawnSpec wanted;
  wanted.program = file;
  for (const auto* words : {&program.command, &program.args}) {
    for (const std::string& word : *words)
      wanted.argv.push_back(at_places(expand_variables(word, known), places));
  }
  wanted.env = program_environment(program, plan.spec.config, variables, places, plan.environment);
  wanted.cwd = program.working_dir;
  wanted.open_files = plan.open_files;
  wanted.cpus = plan.cpus;
  return wanted;
}

}  // namespace

Result<SpawnSpec, Problem> program_spawn(const ReplicaPlan& plan, const ProgramSpec& program,
                                         const std::filesystem::path& file,
                                         const Variables& variables) {
  const ServiceSpec& spec = plan.spec;
  SpawnSpec wanted = plain_spawn(plan, program, file, variables);
  // Joining a group costs the kernel some 10 ms, which only limits are worth.
  if (plan.has_cgroup()) {
    const auto directories = plan.cgroups->create(plan.id, {spec.cpu_limit, spec.memory_limit});
    if (!directories) return directories.error();
    wanted.cgroup_dirs = *directories;
  }
  return wanted;
}

Variables variables_of(const ReplicaPlan& plan, const ProgramSpec& program) {
  const std::uint16_t port =
      program.image.empty() ? plan.port.port() : plan.spec.port_in_container();
  return {port, plan.spec.name, plan.revision};
}

ContainerPlan container_of(const ReplicaPlan& plan, const ProgramSpec& program,
                           const Variables& variables) {
  const ServiceSpec& spec = plan.spec;
  const bool serves = program.name.empty();
  ContainerPlan wanted;
  wanted.host = plan.containers;
  wanted.name = fmt::format("sluice-{}-{}{}{}", plan.containers.engine, plan.id, serves ? "" : "-",
                            program.name);
  wanted.program = program;
  wanted.environment = program_environment(program, spec.config, variables, {}, {});
  const Variables known = with_environment(variables, wanted.environment);
  for (const std::string& word : program.args)
    wanted.arguments.push_back(expand_variables(word, known));
  wanted.ours = program_environment({}, {}, variables, {}, plan.environment);
  wanted.port = serves ? plan.port.port() : std::uint16_t{0};
  wanted.inner_port = variables.port;
  wanted.mounts = places_of(program.mounts, volumes_of(plan));
  for (const VolumeMount& mount : program.mounts) {
    const auto volume = std::find_if(spec.volumes.begin(), spec.volumes.end(),
                                     [&](const Volume& v) { return v.name == mount.volume; });
    if (volume != spec.volumes.end() && !volume->sources.empty())
      wanted.read_only.push_back(mount.path);
  }
  wanted.cpus = plan.cpus;
  wanted.cpu_limit = spec.cpu_limit;
  wanted.memory_limit = spec.memory_limit;
  const std::string suffix = serves ? "" : "-" + program.name;
  wanted.id_file = plan.directory / ("container" + suffix);
  wanted.pid_file = plan.directory / ("pid" + suffix);
  wanted.env_file = plan.directory / ("environment" + suffix);
  return wanted;
}

Result<SpawnSpec, Problem> beside(const ReplicaPlan& plan, const ProgramSpec& program,
                                  const std::vector<std::string>& command) {
  ProgramSpec asked = program;
  asked.command = command;
  asked.args.clear();
  const auto file = find_program_of(asked);
  if (!file) return file.error();
  // Not in the control group of the replica, which is the program's to fill.
  return plain_spawn(plan, asked, *file, variables_of(plan, program));
}

SpawnSpec sidecar_spawn(const ReplicaPlan& plan, const SidecarSockets& sockets, int ready_fd) {
  SpawnSpec wanted;
  wanted.program = plan.sidecar;
  wanted.argv = {plan.sidecar.string()};
  wanted.kept_fds = {ready_fd};
  wanted.env = sidecar_environment({.spec = plan.spec,
                                    .revision = plan.revision,
                                    .replica = plan.id,
                                    .port = plan.port.port(),
                                    .sockets = sockets,
                                    .write_timeout = plan.write_timeout,
                                    .ready_fd = ready_fd},
                                   plan.environment);
  wanted.open_files = plan.open_files;
  wanted.cpus = plan.cpus;
  return wanted;
}

Result<std::filesystem::path, Problem> find_program_of(const ProgramSpec& program) {
  const char* const search = std::getenv("PATH");
  return find_program(program.command.front(), search == nullptr ? "" : search,
                      program.working_dir);
}

EndSight sight_of_container(const ContainerPlan& plan, const ExitStatus& status,
                            const Container::Ended& ended, const std::vector<std::string>& tail) {
  // A program that a signal has ended is 128 and its number to a runtime, as to a shell.
  constexpr int kSignalled = 128;
  EndSight seen;
  seen.exit_code = status.exit_code;
  seen.signal = status.signal;
  seen.image = plan.program.image;
  if (!ended.was_run && status.exit_code) {
    seen.not_run_by = plan.host.runtime.filename().string();
    // Docker ends what it says with where its help is.
    std::vector<std::string> said = tail;
    std::erase_if(said, [](const std::string& line) {
      return line.find(" run --help'") != std::string::npos;
    });
    seen.last_error = last_words(said);
    return seen;
  }
  seen.last_error = last_words(tail);
  seen.oom_kills = ended.out_of_memory ? 1 : 0;
  seen.memory_limit = plan.memory_limit.value_or(0);
  seen.limit_is_enforced = true;
  if (seen.oom_kills == 0 && status.exit_code.value_or(0) > kSignalled &&
      *status.exit_code < kSignalled + NSIG) {
    seen.signal = *status.exit_code - kSignalled;
    seen.exit_code.reset();
  }
  return seen;
}

EndSight sight_of_end(const ReplicaPlan& plan, const ExitStatus& status,
                      const std::vector<std::string>& tail, const std::vector<pid_t>& watched) {
  EndSight seen;
  seen.exit_code = status.exit_code;
  seen.signal = status.signal;
  seen.survivor = status.survivor;
  // In a session of its own it has outlived its group, perhaps only just. One that shows a title of
  // its own has no environment any more, and is found where it listens.
  if (status.exit_code == 0) {
    const std::uint16_t port = plan.port.port();
    std::string stray = kill_stray_with(fmt::format("PORT={}", port), watched);
    const auto listener = stray.empty() ? who_listens(port) : std::nullopt;
    if (listener) stray = kill_stray_above(listener->pid, watched);
    if (seen.survivor.empty()) seen.survivor = std::move(stray);
  }
  seen.last_error = last_words(tail);
  seen.memory_limit = plan.spec.memory_limit.value_or(0);
  if (plan.has_cgroup()) {
    seen.oom_kills = plan.cgroups->oom_kills(plan.id);
    seen.limit_is_enforced = plan.cgroups->can_limit_memory();
    if (plan.place_limited) seen.group = plan.place;
  }
  std::vector<std::string> words = plan.spec.command;
  words.insert(words.end(), plan.spec.args.begin(), plan.spec.args.end());
  seen.port_is_lost = lost_port(words);
  return seen;
}

}  // namespace sluice::local
