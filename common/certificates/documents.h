#pragma once

#include "common/certificates/certificates.h"

#include <optional>
#include <string>
#include <string_view>

// The objects of Kubernetes that certificates are kept in.
namespace sluice::certificates {

/// A Secret with what it holds.
struct Secret {
  Set set;
  std::string resource_version;
};

/// Whose object it is: its place, and the component that its labels name.
struct Place {
  std::string space;
  std::string name;
  std::string component;
};

/// Absent: that is no Secret. Values that are no base64 read as empty.
[[nodiscard]] std::optional<Secret> read_secret(std::string_view json);

/// `resource_version` empty: to be created.
[[nodiscard]] std::string secret_document(const Place& place, const Secret& secret);

/// A ConfigMap whose `ca.crt` is that.
[[nodiscard]] std::string bundle_document(const Place& place, const std::string& bundle,
                                          const std::string& resource_version);

/// A ConfigMap as it is.
struct Bundle {
  std::string pem;
  std::string resource_version;
};

[[nodiscard]] std::optional<Bundle> read_bundle(std::string_view json);

}  // namespace sluice::certificates
