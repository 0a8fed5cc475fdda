#pragma once

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/model/revision.h"
#include "common/net/address.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The files `PATH/revisions/<namespace>.<name>.json` and `PATH/activators.json` of protocols.md 9
// as values.
namespace sluice::files {

using model::StringMap;

inline constexpr std::size_t kFailedMax = 512;       ///< bytes of model::Pod::failed
inline constexpr std::size_t kPodsMax = 10'000;      ///< of one revision
inline constexpr std::size_t kHostsMax = 1'000;      ///< likewise
inline constexpr std::size_t kAnnotationsMax = 256;  ///< likewise
inline constexpr std::size_t kActivatorsMax = 1'000;

/// A value read from a file, and keys in it that mean nothing: misspelt, or of a later version.
template <class T>
struct Parsed {
  T value;
  std::vector<std::string> unknown_keys;
};

/// The name of a revision's file: `<namespace>.<name>.json`, in `revisions` and in `scale` alike.
[[nodiscard]] std::string file_name_of(const RevisionId& id);

/// The revision that a file name names; absent when it names none. A namespace has no dot.
[[nodiscard]] std::optional<RevisionId> revision_of(std::string_view file_name);

/// Reads a revision's file; the names in it must be those of `file_name`. A problem names the key
/// and what is accepted, not the file: the caller has it.
[[nodiscard]] Result<Parsed<model::Revision>, Problem> parse_revision_file(
    std::string_view text, std::string_view file_name);

/// Reads `activators.json`: a JSON array of serving addresses, such as ["127.0.0.1:8012"].
[[nodiscard]] Result<std::vector<net::Address>, Problem> parse_activators(std::string_view text);

/// Reads a JSON object of strings.
[[nodiscard]] Result<StringMap, Problem> parse_settings(std::string_view text);

}  // namespace sluice::files
