#pragma once

#include "common/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::commands {

/// The pieces of a YAML stream as they are written: together they are the stream again.
struct YamlPiece {
  std::string mark;  ///< what begins it: empty, or a line `---`
  std::string head;  ///< comments and empty lines before the first key
  std::string body;
};

/// Cuts a stream into its documents.
[[nodiscard]] std::vector<YamlPiece> yaml_pieces(std::string_view text);

/// The documents of `pieces` as JSON, keys in their order; null for an empty one. Plain scalars
/// mean what they mean to kubectl (YAML 1.1), aliases and merge keys are resolved. A problem names
/// `file` and the line.
[[nodiscard]] Result<std::vector<nlohmann::ordered_json>, Problem> read_yaml(
    const std::vector<YamlPiece>& pieces, const std::string& file);

/// A document in block style, which read_yaml() reads as the same value.
[[nodiscard]] std::string yaml_text(const nlohmann::ordered_json& document);

/// What is to change between two texts, as `diff -u` prints it, without a heading.
[[nodiscard]] std::string unified_difference(std::string_view before, std::string_view after);

}  // namespace sluice::commands
