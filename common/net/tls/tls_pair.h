#pragma once

#include <string>

namespace sluice::net {

/// A certificate chain, own certificate first, and its private key, both as PEM.
struct TlsPair {
  std::string certificate;
  std::string key;
};

}  // namespace sluice::net
