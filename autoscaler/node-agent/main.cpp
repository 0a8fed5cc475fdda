#include "autoscaler/node-agent/app.h"
#include "autoscaler/node-agent/config.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const auto variable = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
  auto config = sluice::node_agent::read_config(argc, argv, variable);
  if (!config) {
    const sluice::node_agent::Usage& usage = config.error();
    if (!usage.text.empty()) std::fprintf(stderr, "node-agent: %s\n", usage.text.c_str());
    return usage.exit_code;
  }
  return sluice::node_agent::run(std::move(*config));
}
