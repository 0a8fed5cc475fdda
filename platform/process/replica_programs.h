#pragma once

#include "common/base/result.h"

#include "platform/process/cause.h"
#include "platform/process/child.h"
#include "platform/process/container.h"
#include "platform/process/replica.h"
#include "platform/process/sidecar.h"
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// What the programs of one replica are started with, and what is left of them.

namespace sluice::local {

/// Makes the directory of a replica, its volumes in it, and room for its sockets.
[[nodiscard]] std::optional<Problem> make_directory_of(const ReplicaPlan& plan,
                                                       const SidecarSockets& sockets);

/// False: some of it is left for another call.
[[nodiscard]] bool remove_directory_of(const ReplicaPlan& plan, const SidecarSockets& sockets);

/// How the container of `program`, which has an image, is run.
[[nodiscard]] ContainerPlan container_of(const ReplicaPlan& plan, const ProgramSpec& program,
                                         const Variables& variables);

/// What `program` finds as its own: `$PORT` in a container is not that of the replica.
[[nodiscard]] Variables variables_of(const ReplicaPlan& plan, const ProgramSpec& program);

/// How a command of a probe is started on this machine, as `program` is.
[[nodiscard]] Result<SpawnSpec, Problem> beside(const ReplicaPlan& plan, const ProgramSpec& program,
                                                const std::vector<std::string>& command);

/// How `program`, which is `file`, is started; makes its control group when it needs one.
[[nodiscard]] Result<SpawnSpec, Problem> program_spawn(const ReplicaPlan& plan,
                                                       const ProgramSpec& program,
                                                       const std::filesystem::path& file,
                                                       const Variables& variables);

[[nodiscard]] SpawnSpec sidecar_spawn(const ReplicaPlan& plan, const SidecarSockets& sockets,
                                      int ready_fd);

/// The program of one without an image, found in the engine's PATH.
[[nodiscard]] Result<std::filesystem::path, Problem> find_program_of(const ProgramSpec& program);

/// What is seen of a program that ended with `status`. `tail`: its last error lines; `watched`: the
/// children that are known, none of which it can have left behind.
[[nodiscard]] EndSight sight_of_end(const ReplicaPlan& plan, const ExitStatus& status,
                                    const std::vector<std::string>& tail,
                                    const std::vector<pid_t>& watched);

/// The same of a container, whose runtime ended with `status`.
[[nodiscard]] EndSight sight_of_container(const ContainerPlan& plan, const ExitStatus& status,
                                          const Container::Ended& ended,
                                          const std::vector<std::string>& tail);

}  // namespace sluice::local
