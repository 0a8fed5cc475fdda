#pragma once

#include "common/settings/knative_contract.h"

#include <string>

namespace sluice::activator {

/// What a revision is called beside its own name, and how.
struct RevisionNames {
  std::string service;
  std::string configuration;
  /// Under which names it is measured.
  settings::KnativeContract contract = settings::KnativeContract::current;
};

}  // namespace sluice::activator
