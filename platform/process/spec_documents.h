#pragma once

#include "common/base/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// One document of a stream as it is written.
struct SpecDocument {
  std::string_view mark;   ///< the line `---` before it; empty for the first one
  std::string_view text;   ///< up to the next mark
  std::size_t before = 0;  ///< lines of the stream before `text`

  /// Whether nothing but white space is in it.
  [[nodiscard]] bool blank() const;
};

/// The documents of `stream`, blank ones among them; joined they are the stream again.
[[nodiscard]] std::vector<SpecDocument> split_documents(std::string_view stream);

/// `metadata.name` of a document. The problem begins with what is wrong, without a file's name.
[[nodiscard]] Result<std::string, Problem> service_name_in(std::string_view document);

/// `stream` with the document of the service `name` replaced by `document`, and nothing else
/// changed; nothing when there is no such document.
[[nodiscard]] std::optional<std::string> with_document(std::string_view stream,
                                                       const std::string& name,
                                                       std::string_view document);

}  // namespace sluice::local
