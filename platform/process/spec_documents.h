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

  /// Whether nothing but white space and comments is in it.
  [[nodiscard]] bool blank() const;
};

/// The documents of `stream`, blank ones among them; joined they are the stream again.
[[nodiscard]] std::vector<SpecDocument> split_documents(std::string_view stream);

/// What a document is called.
struct DocumentName {
  std::string name;     ///< `metadata.name`
  bool config = false;  ///< it is a ConfigMap or a Secret
};

/// The problem begins with what is wrong, without a file's name.
[[nodiscard]] Result<DocumentName, Problem> name_in(std::string_view document);

/// Services of a stream with the ConfigMaps and Secrets that they name.
struct ServiceDocuments {
  std::vector<std::string> services;
  std::string text;  ///< a stream in which each line has the number that it has in the whole one
};

/// The Services of `stream` in their order, `at_once` (1 or more) documents in each part; what is
/// neither a Service nor a List is taken for one. A stream without one is a problem.
[[nodiscard]] Result<std::vector<ServiceDocuments>, Problem> service_documents(
    std::string_view stream, std::size_t at_once);

/// The first document of `stream` that is no ConfigMap and no Secret; empty: there is none.
[[nodiscard]] std::string_view service_document_in(std::string_view stream);

/// `stream` with the document of the service `name` replaced by `document`, and nothing else
/// changed; nothing when there is no such document.
[[nodiscard]] std::optional<std::string> with_document(std::string_view stream,
                                                       const std::string& name,
                                                       std::string_view document);

}  // namespace sluice::local
