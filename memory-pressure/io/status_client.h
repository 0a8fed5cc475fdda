#pragma once

#include <string>

namespace sluice::node_agent {

/// `node-agent status`, `off` and `on`: calls the running agent on `agent.sock`
/// directory and prints to standard output. `verb` is one of the three; `json`: status as it comes.
/// Returns the exit code: 1, with the fix on standard error, when no agent answers within 5 s.
[[nodiscard]] int ask_agent(const std::string& state_dir, const std::string& verb, bool json);

/// The agent's socket in its state directory.
[[nodiscard]] std::string agent_socket(const std::string& state_dir);

}  // namespace sluice::node_agent
