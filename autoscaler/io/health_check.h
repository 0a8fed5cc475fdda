#pragma once

#include <string>

namespace sluice::autoscaler {

/// One line of `/readyz?verbose`.
struct HealthCheck {
  std::string name;
  bool good = true;
  std::string detail;
};

}  // namespace sluice::autoscaler
