#include "platform/process/replica_programs.h"

#include <fmt/format.h>

#include "platform/process/listeners.h"
#include "platform/process/volumes.h"
#include <cerrno>
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

void remove_directory_of(const ReplicaPlan& plan, const SidecarSockets& sockets) {
  std::error_code ignored;
  for (const auto& socket : {sockets.serving, sockets.admin, sockets.stats})
    if (!socket.empty()) std::filesystem::remove(socket, ignored);
  if (!plan.spec.volumes.empty()) remove_volumes(volumes_of(plan));
  std::filesystem::remove(plan.directory, ignored);
}

Result<SpawnSpec, Problem> program_spawn(const ReplicaPlan& plan, const ProgramSpec& program,
                                         const std::filesystem::path& file,
                                         const Variables& variables) {
  const ServiceSpec& spec = plan.spec;
  const auto places = places_of(program.mounts, volumes_of(plan));
  SpawnSpec wanted;
  wanted.program = file;
  for (const auto* words : {&program.command, &program.args}) {
    for (const std::string& word : *words)
      wanted.argv.push_back(at_places(expand_variables(word, variables), places));
  }
  wanted.env = program_environment(program, spec.config, variables, places, plan.environment);
  wanted.cwd = program.working_dir;
  wanted.open_files = plan.open_files;
  // Joining a group costs the kernel some 10 ms, which only limits are worth.
  if (plan.cgroups != nullptr && spec.is_limited()) {
    const auto directories = plan.cgroups->create(plan.id, {spec.cpu_limit, spec.memory_limit});
    if (!directories) return directories.error();
    wanted.cgroup_dirs = *directories;
  }
  return wanted;
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
  return wanted;
}

Result<std::filesystem::path, Problem> find_init_program(const ProgramSpec& init) {
  const char* const search = std::getenv("PATH");
  return find_program(init.command.front(), search == nullptr ? "" : search, init.working_dir);
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
  if (plan.cgroups != nullptr && plan.spec.is_limited()) {
    seen.oom_kills = plan.cgroups->oom_kills(plan.id);
    seen.limit_is_enforced = plan.cgroups->can_limit_memory();
  }
  std::vector<std::string> words = plan.spec.command;
  words.insert(words.end(), plan.spec.args.begin(), plan.spec.args.end());
  seen.port_is_lost = lost_port(words);
  return seen;
}

}  // namespace sluice::local
