#pragma once

#include <string>
#include <string_view>

namespace sluice::activator {

/// Which revision a request names, as views into what it was read from. Both parts are empty when
/// it names none; one alone names no revision either, but is what the answer quotes.
struct RevisionName {
  std::string_view space;  ///< the namespace
  std::string_view name;

  friend bool operator==(const RevisionName&, const RevisionName&) = default;
};

/// The revision of a request (activator.md 4). `space` and `name` are the values of
/// Knative-Serving-Namespace and Knative-Serving-Revision; both given, nothing else counts.
/// Otherwise `host` decides if it has the form `<name>.<namespace>.svc.<cluster_domain>` with or
/// without a port, and if not, what the headers gave stays. Letters are compared as they are, as
/// the reference does; `-private` is not stripped.
[[nodiscard]] RevisionName name_revision(std::string_view space, std::string_view name,
                                         std::string_view host, std::string_view cluster_domain);

/// The Host by which the pods of a revision are addressed through a mesh (activator.md 7).
[[nodiscard]] std::string private_host(const RevisionName& revision);

/// The body of the 404 for an unknown revision called `name` (activator.md 4).
[[nodiscard]] std::string not_found_text(std::string_view name);

}  // namespace sluice::activator
