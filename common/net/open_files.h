#pragma once

#include <cstddef>

namespace sluice::net {

/// Raises this process's limit of open files as far as it may, which a program that holds many
/// connections does once at its start. Returns the limit in force.
std::size_t raise_open_files();

}  // namespace sluice::net
