#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace sluice::vectors {

/// How the cases went.
struct Tally {
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  bool unreadable = false;  ///< a file or the directory could not be used; said on the stream
};

/// Plays every `*.json` of `directory`, in the order of their names, and prints one line per
/// failing case: `FILE CASE: field, want, got`. A file that is no vector file gets a line of its
/// own.
[[nodiscard]] Tally play_directory(const std::string& directory, std::ostream& out);

}  // namespace sluice::vectors
