#pragma once

#include "queue-proxy/injector/io/certificates.h"

#include <optional>
#include <string>
#include <string_view>

// The objects of Kubernetes that certificates are kept in.
namespace sluice::injector {

/// The Secret with what it holds.
struct CertificateSecret {
  CertificateSet set;
  std::string resource_version;
};

/// Absent: that is no Secret. Values that are no base64 read as empty.
[[nodiscard]] std::optional<CertificateSecret> read_secret(std::string_view json);

/// `resource_version` empty: to be created.
[[nodiscard]] std::string secret_document(const std::string& space, const std::string& name,
                                          const CertificateSecret& secret);

/// The JSON patch that gives every webhook of a configuration the bundle; empty: each has it.
/// Absent: that is no such configuration. A step tests the webhook's name before, since the list
/// may have changed on the way.
[[nodiscard]] std::optional<std::string> bundle_patch(std::string_view configuration,
                                                      const std::string& bundle);

}  // namespace sluice::injector
