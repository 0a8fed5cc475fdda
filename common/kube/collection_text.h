#pragma once

#include "common/kube/object_name.h"

#include <chrono>
#include <string>
#include <string_view>

namespace sluice::kube {

/// `text` with everything escaped that the value of a query may not contain.
[[nodiscard]] std::string query_escape(std::string_view text);

/// A query of a collection. Empty selectors: everything.
struct CollectionQuery {
  std::string_view path;
  std::string_view labels;
  std::string_view fields;
};

/// The path of one chunk; `next`: the token of the chunk before; empty: the first.
[[nodiscard]] std::string list_path(const CollectionQuery& query, std::string_view next);

/// The path of a watch from `version` on; empty: a streaming list, which sends everything there is
/// first.
[[nodiscard]] std::string watch_path(const CollectionQuery& query, std::string_view version,
                                     std::chrono::seconds timeout);

/// How RBAC calls what is at `path`: `pods`, or `deployments.apps in namespace shop`.
[[nodiscard]] std::string resource_of(std::string_view path);

}  // namespace sluice::kube
