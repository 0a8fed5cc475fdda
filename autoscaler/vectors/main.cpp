#include "autoscaler/vectors/runner.h"

#include <exception>
#include <iostream>

// Plays recorded decisions on the cores that the programs link, and says where they differ.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: decision-vectors DIR\n"
                 "Plays every *.json of DIR; exit status 1 when a case fails or there is none.\n";
    return 2;
  }
  try {
    const sluice::vectors::Tally tally = sluice::vectors::play_directory(argv[1], std::cout);
    const bool none = tally.passed + tally.failed == 0;
    if (none && !tally.unreadable) std::cout << argv[1] << ": holds no case\n";
    std::cout << tally.passed << " passed, " << tally.failed << " failed\n";
    return tally.failed > 0 || tally.unreadable || none ? 1 : 0;
  } catch (const std::exception& error) {
    std::cerr << "decision-vectors: " << error.what() << '\n';
    return 1;
  }
}
