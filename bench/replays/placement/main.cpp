#include "bench/replays/placement/command.h"

#include <span>

int main(int argc, char** argv) {
  return sluice::replay::run_command(std::span<char* const>{argv, static_cast<std::size_t>(argc)});
}
