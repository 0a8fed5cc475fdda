#pragma once

#include <cstddef>
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

/// The connections of clients, `wanted` at most, that a process with `open` files may have: a
/// quarter of the files, and all but 64 connections where there are few, is kept for what requests
/// need beyond their client's connection.
[[nodiscard]] std::size_t connections_within(std::uint64_t open, std::size_t wanted);

}  // namespace sluice::net
