#pragma once

#include <cstdint>

namespace sluice::net {

/// How many files this process may have open; connections are files.
struct OpenFiles {
  std::uint64_t before = 0;
  std::uint64_t now = 0;
};

/// Raises this process's limit of open files as far as it may, which a program that holds many
/// connections does once at its start.
OpenFiles raise_open_files();

}  // namespace sluice::net
