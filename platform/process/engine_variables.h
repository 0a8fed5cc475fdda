#pragma once

#include <array>

namespace sluice::local {

/// A variable of the environment that an engine or a verb reads; settings of one machine are few,
/// the rest is in config.yaml.
struct EngineVariable {
  const char* name;
  const char* fallback;  ///< what holds without it, in words
  const char* meaning;
};

inline constexpr EngineVariable kQueueProxyVariable{
    "SLUICE_QUEUE_PROXY", "beside sluice, else in ../libexec/sluice/, else on PATH",
    "the program of the sidecar"};
inline constexpr EngineVariable kMemorySourceVariable{
    "SLUICE_MEMORY_SOURCE", "/proc, or a control group above the engine with a tighter limit",
    "what is measured as the machine's memory: cgroup:PATH or files:DIRECTORY"};
inline constexpr EngineVariable kConfigHomeVariable{
    "XDG_CONFIG_HOME", "~/.config", "holds sluice/config.yaml, which is read before /etc/sluice's"};
inline constexpr EngineVariable kStateHomeVariable{"XDG_STATE_HOME", "~/.local/state",
                                                   "holds sluice/ENGINE: history, logs, specs"};
inline constexpr EngineVariable kRuntimeDirVariable{
    "XDG_RUNTIME_DIR", "/tmp/sluice-UID, without a folder sluice in it",
    "holds sluice/ENGINE: sockets, lock, what runs"};

inline constexpr std::array kEngineVariables{kQueueProxyVariable, kMemorySourceVariable,
                                             kConfigHomeVariable, kStateHomeVariable,
                                             kRuntimeDirVariable};

}  // namespace sluice::local
