#include "common/base/version.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>

#include "memory-pressure/core/settings.h"
#include "platform/process/cgroup.h"
#include "platform/process/engine_settings.h"
#include "platform/process/engine_variables.h"
#include "platform/process/machine_memory.h"
#include "platform/process/paths.h"
#include "platform/process/sidecar.h"
#include "programs/sluice/commands/doctor_knative.h"
#include "programs/sluice/commands/verbs.h"
#include <arpa/inet.h>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::commands {
namespace {

// Less than this is full: a few lines of a log more.
constexpr std::uintmax_t kStateBytesMin = std::uintmax_t{256} << 10U;

enum class Grade { ok, warn, fail };

struct Check {
  Grade grade = Grade::ok;
  std::string name;
  std::string text;  ///< with the fix, unless ok
};

Check programs() {
  const auto sidecar = local::find_sidecar();
  if (!sidecar) {
    return {Grade::fail, "programs", sidecar.error().text()};
  }
  return {Grade::ok, "programs",
          "sluice " + std::string(kVersion) + ", queue-proxy at " + sidecar->string()};
}

Check front_door(const Surroundings& with) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(8080);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound =
      fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  if (bound) return {Grade::ok, "front door", "127.0.0.1:8080 is free"};
  for (const ApiPlace& engine : places(with)) {
    const std::string door = reading::text(program_of(engine), "http");
    if (door.ends_with(":8080"))
      return {Grade::ok, "front door", door + " is that of engine " + engine.name};
  }
  return {Grade::warn, "front door",
          "127.0.0.1:8080 is taken; up takes the next free port up to 8099, or give --http "
          "HOST:PORT"};
}

Check limits() {
  rlimit files{};
  rlimit processes{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_NPROC, &processes);
  const auto number = [](rlim_t value) {
    return value == RLIM_INFINITY ? std::string("unlimited") : std::to_string(value);
  };
  const std::string text =
      number(files.rlim_max) + " open files, " + number(processes.rlim_cur) + " processes";
  if (files.rlim_max < 64) {
    return {Grade::fail, "limits", text + "; raise it: ulimit -n 65536"};
  }
  const bool low = files.rlim_max < 4096 || processes.rlim_cur < 512;
  return {low ? Grade::warn : Grade::ok, "limits",
          low ? text + "; few for many requests: ulimit -n 65536, ulimit -u 4096" : text};
}

local::CgroupTree cgroup_tree(const Surroundings& with, const std::string& engine) {
  const local::EnginePaths paths{with.roots, engine};
  return local::CgroupTree::detect(engine, paths.runtime_dir().native());
}

Check cgroup(const local::CgroupTree& tree) {
  return {tree.kind() == local::CgroupKind::none ? Grade::warn : Grade::ok, "cgroup",
          tree.description()};
}

// Of the settings that an engine finds by itself; another file is checked by `config --check`.
Check groups(local::CgroupKind kind) {
  const auto settings =
      local::load_engine_settings(std::nullopt, local::settings_files(local::process_env));
  if (!settings) return {Grade::fail, "groups", settings.error().front().text()};
  std::string limited;
  for (const local::MachineGroup& group : settings->groups) {
    if (group.cpu || group.memory) limited += (limited.empty() ? "" : ", ") + group.name;
  }
  if (limited.empty()) {
    return {Grade::ok, "groups",
            kind == local::CgroupKind::v1
                ? "none with cpu or memory; a start in one would cost 10 to 20 ms (cgroup v1)"
                : "none with cpu or memory"};
  }
  switch (kind) {
    case local::CgroupKind::none:
      return {Grade::warn, "groups",
              "cpu and memory of " + limited + " are only accounted; see cgroup"};
    case local::CgroupKind::v1:
      return {
          Grade::warn, "groups",
          "a start in " + limited +
              " costs 10 to 20 ms (cgroup v1, not v2); leave out their cpu and memory where that "
              "counts"};
    case local::CgroupKind::v2:
      break;
  }
  return {Grade::ok, "groups", "cpu or memory of " + limited + " limited"};
}

// Only a service of an image misses it.
Check images() {
  const auto runtime = local::find_container_runtime(local::SpecDefaults{}.container_runtime);
  return runtime
             ? Check{Grade::ok, "images", "run by " + runtime->string()}
             : Check{Grade::warn, "images",
                     "cannot be run: neither podman nor docker is in PATH (apt install podman)"};
}

Check pressure() {
  std::ifstream file("/proc/pressure/memory");
  std::string line;
  return std::getline(file, line)
             ? Check{Grade::ok, "pressure", "/proc/pressure/memory is readable"}
             : Check{Grade::warn, "pressure",
                     "no memory pressure figures; boot with psi=1 to have them"};
}

// As an engine started from here would see it.
Check memory() {
  const char* const variable = std::getenv(local::kMemorySourceVariable.name);
  auto machine = local::MachineMemory::open(variable == nullptr ? "" : variable);
  if (!machine) {
    return {Grade::warn, "memory", machine.error().text()};
  }
  const auto seen = machine->read();
  if (!seen || seen->capacity <= 0) {
    return {Grade::warn, "memory",
            machine->shown() + " cannot be read; replicas start even if they do not fit"};
  }
  const auto mebibytes = [](std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  const std::string text = mebibytes(seen->used) + " of " + mebibytes(seen->capacity) +
                           " in use (" + machine->shown() + ")";
  const bool short_of = static_cast<double>(seen->used) >
                        node_agent::PolicySettings{}.upper * static_cast<double>(seen->capacity);
  return short_of
             ? Check{Grade::warn, "memory",
                     text +
                         "; further replicas may have to wait: stop programs that are not needed"}
             : Check{Grade::ok, "memory", text};
}

Check resolution() {
  // As other programs of this machine resolve names, which this one file does not (main.cpp).
  std::string words[] = {"getent", "ahosts", "app.localhost"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t quiet{};
  ::posix_spawn_file_actions_init(&quiet);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = -1;
  int status = 1;
  const int failed = ::posix_spawnp(&child, argv[0], &quiet, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&quiet);
  if (failed == 0 && ::waitpid(child, &status, 0) == child && status == 0) {
    return {Grade::ok, "localhost", "*.localhost resolves"};
  }
  return {Grade::warn, "localhost",
          "app.localhost does not resolve here (browsers, curl and sluice load resolve it "
          "themselves); else send the header Host: app.localhost to the front door"};
}

Check state(const Surroundings& with) {
  std::error_code failed;
  std::filesystem::create_directories(with.roots.state, failed);
  if (failed || ::access(with.roots.state.c_str(), W_OK) != 0) {
    return {
        Grade::fail, "state",
        with.roots.state.string() + " is not writable; fix its permissions or set XDG_STATE_HOME"};
  }
  const auto space = std::filesystem::space(with.roots.state, failed);
  if (!failed && space.available < kStateBytesMin) {
    return {Grade::fail, "state",
            with.roots.state.string() + " has " + std::to_string(space.available >> 10U) +
                " KiB free; logs, history and applied specs are not kept: free space there"};
  }
  return {Grade::ok, "state", with.roots.state.string() + " is writable"};
}

Check leftovers(const Surroundings& with) {
  std::string list;
  for (const auto& left : local::leftover_engines(with.roots.runtime)) {
    list += (list.empty() ? "" : ", ") + left.filename().string();
  }
  return list.empty() ? Check{Grade::ok, "leftovers", "none"}
                      : Check{Grade::warn, "leftovers",
                              "of dead engines: " + list +
                                  "; the next start of that name cleans up, or remove them below " +
                                  with.roots.runtime.string()};
}

Check engines(const Surroundings& with) {
  std::string list;
  for (const ApiPlace& engine : places(with)) {
    const auto services = fetch_services(engine);
    if (!services) {
      return {Grade::fail, "engines", services.error().text + "; restart it"};
    }
    list += (list.empty() ? "" : "; ") + engine.name + ":";
    for (const auto& service : *services) {
      list += " " + reading::text(service, "name") + " (" + reading::text(service, "state") + ")";
    }
  }
  return {Grade::ok, "engines", list.empty() ? "none running" : list};
}

}  // namespace

int run_doctor(const Surroundings& with, const Arguments& args) {
  CLI::App app("Checks this machine: one line per check, exit 1 on FAIL.");
  std::string name = "app";
  app.add_option("--name", name, "the engine whose control group is checked")->type_name("NAME");
  bool knative = false;
  std::string space = "knative-serving";
  CLI::Option* const asked = app.add_flag(
      "--knative", knative, "check a cluster's Knative instead: what is safe to replace");
  app.add_option("--namespace", space, "namespace of that Knative")
      ->type_name("NAME")
      ->needs(asked);
  if (const auto code = ends_early(with, app, "doctor", args)) {
    return *code;
  }
  if (asked->count() > 0) {
    return run_doctor_knative(with, space);
  }
  const local::CgroupTree tree = cgroup_tree(with, name);
  bool failed = false;
  for (const Check& check :
       {programs(), front_door(with), limits(), cgroup(tree), groups(tree.kind()), images(),
        memory(), pressure(), resolution(), state(with), leftovers(with), engines(with)}) {
    const char* grade = check.grade == Grade::ok     ? "ok    "
                        : check.grade == Grade::warn ? "warn  "
                                                     : "FAIL  ";
    std::string label = check.name;
    label.resize(11, ' ');
    with.out << grade << label << check.text << "\n";
    failed = failed || check.grade == Grade::fail;
  }
  return failed ? kExitFailure : kExitOk;
}

}  // namespace sluice::commands
