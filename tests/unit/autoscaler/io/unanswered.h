#pragma once

#include "autoscaler/io/stat_source.h"

#include <memory>
#include <string>

namespace sluice::autoscaler {

/// No pod answers a scrape.
class Unanswered final : public StatSource {
 public:
  [[nodiscard]] std::unique_ptr<Question> ask(const std::string& /*address*/,
                                              Answered /*answered*/) override {
    return std::make_unique<Question>();
  }
};

}  // namespace sluice::autoscaler
