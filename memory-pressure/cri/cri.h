#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

// The messages of CRI v1 that the node agent uses (memory-pressure.md 6) as plain structs, for all
// code that must not include generated headers. memory-pressure/cri/cri_codec.h turns them into
// bytes and back.
namespace sluice::cri {

/// Most pods, and most containers, of one answer.
inline constexpr std::size_t kEntriesMax = 10'000;

/// Most of a container's verbose description that is looked at.
inline constexpr std::size_t kInfoBytesMax = std::size_t{1} << 20U;

/// Containerd's namespace of the containers that CRI has.
inline constexpr std::string_view kNamespace = "k8s.io";

using Marks = std::map<std::string, std::string>;  ///< labels, or annotations

struct Version {
  std::string runtime;      ///< `containerd`
  std::string version;      ///< of the runtime
  std::string api_version;  ///< `v1`
};

/// A pod's sandbox.
struct Sandbox {
  std::string id;
  std::string name;
  std::string uid;
  std::string space;  ///< its namespace
  bool ready = false;
  Marks labels;
  Marks annotations;
};

enum class State : std::uint8_t { created, running, exited, unknown };

struct Container {
  std::string id;
  std::string sandbox;
  std::string name;
  std::uint32_t attempt = 0;
  std::string image;  ///< id or digest of its image
  State state = State::unknown;
  std::int64_t created_ns = 0;  ///< Unix time by the runtime's clock
  Marks labels;
  Marks annotations;
};

/// What a container was given, as last sent to the runtime, which need not be what the kernel has.
/// 0 and empty: never set.
struct Resources {
  std::int64_t cpu_period_us = 0;
  std::int64_t cpu_quota_us = 0;  ///< -1: no limit
  std::int64_t cpu_shares = 0;
  std::int64_t memory_limit = 0;  ///< bytes
  std::int64_t oom_score_adj = 0;
  std::string cpuset;
};

struct ContainerStatus {
  std::string id;
  std::string name;
  std::uint32_t attempt = 0;
  std::string image;  ///< id or digest of its image
  State state = State::unknown;
  std::int64_t started_ns = 0;  ///< Unix time by the runtime's clock; 0: not yet
  std::int32_t exit_code = 0;
  std::string reason;
  std::optional<Resources> resources;  ///< absent: an older runtime, which does not report them
  Marks labels;
  Marks annotations;
  std::string info;  ///< the runtime's own description, JSON; empty unless requested
};

/// Memory of a container as the runtime has measured it.
struct ContainerStats {
  std::string id;
  std::int64_t sampled_ns = 0;              ///< Unix time by the runtime's clock
  std::optional<std::int64_t> working_set;  ///< bytes; absent: not measured yet
};

/// That the program of a container, or of a pod's sandbox, has started or ended, or that containerd
/// has forgotten it.
struct TaskEvent {
  std::string id;
  std::int32_t started = 0;  ///< its process, if it has just started; else 0
};

/// New CPU bandwidth for a container.
struct CpuUpdate {
  std::string id;
  std::int64_t quota_us = -1;  ///< -1: no limit. 0 would be ignored by the runtime: refused
  std::int64_t period_us = 100'000;
};

}  // namespace sluice::cri
