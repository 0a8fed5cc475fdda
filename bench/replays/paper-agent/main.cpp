#include "bench/replays/paper-agent/paper_policy.h"

#include "programs/node-agent/app.h"
#include "programs/node-agent/config.h"
#include <cstdio>
#include <memory>

// node-agent with the published rule in place of its own, for comparisons: the same flags, senses,
// runtime and journal.
int main(int argc, char** argv) {
  auto config =
      sluice::node_agent::read_config(argc, argv, sluice::settings::process_environment());
  if (!config) {
    const sluice::node_agent::Usage& usage = config.error();
    if (!usage.text.empty()) std::fprintf(stderr, "paper-agent: %s\n", usage.text.c_str());
    return usage.exit_code;
  }
  return sluice::node_agent::run(std::move(*config), sluice::node_agent::make_paper);
}
