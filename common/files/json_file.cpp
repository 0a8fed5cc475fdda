#include "common/files/json_file.h"

#include "common/files/file_io.h"
#include "common/json/parse.h"

#include <nlohmann/json.hpp>

namespace sluice::files {
namespace {

constexpr reading::Bounds kBounds{.bytes_max = kFileBytesMax, .depth_max = 16};

}  // namespace

std::optional<Problem> parse_file(std::string_view text, nlohmann::json& document) {
  const auto flaw = reading::parse(text, kBounds, document);
  if (!flaw) return std::nullopt;
  switch (flaw->kind) {
    case reading::Flaw::Kind::too_large:
      return Problem{"it is larger than 4 MiB", "shorten it"};
    case reading::Flaw::Kind::too_deep:
    case reading::Flaw::Kind::too_wide:
      return Problem{"it nests deeper than 16 levels", "nest at most 16 levels"};
    case reading::Flaw::Kind::malformed:
      return Problem{"invalid JSON at byte " + std::to_string(flaw->byte),
                     "write the whole file, then rename it into place"};
    case reading::Flaw::Kind::number_too_large:
      return Problem{"it holds a number that is too large", "no number here exceeds 1e308"};
  }
  return std::nullopt;
}

}  // namespace sluice::files
