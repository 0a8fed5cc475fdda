#pragma once

#include <string_view>

namespace sluice::dashboard {

/// A file of the page, as the build has put it into the program.
struct PageFile {
  std::string_view name;          ///< below the place of the page; empty: the page itself
  std::string_view content_type;  ///< with the charset
  std::string_view etag;          ///< strong, in quotes
  std::string_view bytes;
  std::string_view gzip;  ///< the same, compressed
};

/// Null: there is none of that name.
[[nodiscard]] const PageFile* find_page(std::string_view name);

}  // namespace sluice::dashboard
