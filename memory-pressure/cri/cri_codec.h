#pragma once

#include "common/base/result.h"

#include "memory-pressure/cri/cri.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cri {

/// `/runtime.v1.RuntimeService/<Method>` is what common/rpc calls.
inline constexpr std::string_view kService = "/runtime.v1.RuntimeService/";

/// Containerd's own stream of events.
inline constexpr std::string_view kSubscribe = "/containerd.services.events.v1.Events/Subscribe";

// Requests.

[[nodiscard]] std::string version_request();

/// Every sandbox, ready or not.
[[nodiscard]] std::string list_sandboxes_request();

/// Running containers only.
[[nodiscard]] std::string list_running_request();

/// `verbose`: with the runtime's own description.
[[nodiscard]] std::string status_request(const std::string& id, bool verbose);

[[nodiscard]] std::string list_stats_request();

/// bad_request: a quota or period of 0, which the runtime would take for "as it was"
/// (memory-pressure.md 0.5), or a quota below -1.
[[nodiscard]] Result<std::string> update_request(const CpuUpdate& update);

/// To containerd's own service of tasks.
[[nodiscard]] std::string task_request(const std::string& id);

/// For kSubscribe: starts, ends and removals in kNamespace.
[[nodiscard]] std::string subscribe_request();

/// `grace_seconds`: 0 = kill at once.
[[nodiscard]] std::string stop_request(const std::string& id, std::int64_t grace_seconds);

// Answers. bad_request: no such message. too_large: more than kEntriesMax entries. Entries without
// an id are skipped; a description above kInfoBytesMax is left out.

[[nodiscard]] Result<Version> read_version(std::string_view bytes);
[[nodiscard]] Result<std::vector<Sandbox>> read_sandboxes(std::string_view bytes);
[[nodiscard]] Result<std::vector<Container>> read_containers(std::string_view bytes);
[[nodiscard]] Result<ContainerStatus> read_status(std::string_view bytes);
[[nodiscard]] Result<std::vector<ContainerStats>> read_stats(std::string_view bytes);
[[nodiscard]] Result<bool> read_is_paused(std::string_view bytes);

/// Absent also for events of another namespace, and of a command that was run in a container.
[[nodiscard]] std::optional<TaskEvent> read_task_event(std::string_view bytes);

}  // namespace sluice::cri
