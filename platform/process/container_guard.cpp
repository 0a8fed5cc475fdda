#include "platform/process/container_guard.h"

#include "common/time/clock.h"
#include "common/values/whole_number.h"

#include "platform/process/container.h"
#include <cerrno>
#include <unistd.h>
#include <utility>

namespace sluice::local {

std::optional<Problem> ContainerGuard::start(const std::filesystem::path& note,
                                             const std::vector<std::string>& environment) {
  if (engine_end_) return std::nullopt;
  auto pipe = make_pipe();
  if (!pipe) return pipe.error();
  SpawnSpec wanted;
  wanted.program = "/proc/self/exe";  // also when an upgrade has replaced the file
  wanted.argv = {"sluice", std::string{kContainerGuard}, note.string(),
                 std::to_string(pipe->first.get())};
  wanted.env = environment;
  wanted.kept_fds = {pipe->first.get()};
  wanted.outlives_us = true;
  const auto child = spawn(wanted);
  if (!child) return child.error();
  engine_end_ = std::move(pipe->second);
  // The next container brings another one.
  reaper_.watch(child->pid, [this](const ExitStatus&) { engine_end_.reset(); });
  return std::nullopt;
}

int run_container_guard(const char* note, std::string_view descriptor) {
  const UniqueFd noted = open_note(note);
  const UniqueFd engine{whole_number<int>(descriptor).value_or(-1)};
  char byte = 0;
  while (::read(engine.get(), &byte, sizeof byte) < 0 && errno == EINTR) {
  }
  static_cast<void>(remove_noted_containers(Clock{}, noted, note, own_environment()));
  return 0;
}

}  // namespace sluice::local
