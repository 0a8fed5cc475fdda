#pragma once

#include "autoscaler/core/decision/scrape.h"

#include <functional>
#include <memory>
#include <string>

namespace sluice::autoscaler {

/// Where the stats of pods are scraped.
class StatSource {
 public:
  /// A question on its way; destroyed, it is not answered.
  class Question {
   public:
    virtual ~Question() = default;
  };

  using Answered = std::function<void(const Result<Stat, ScrapeError>&)>;

  virtual ~StatSource() = default;

  /// Asks the pod at `address`, `host:port` or `unix:/path`. `answered` is called once, not before
  /// this returns; it may destroy the question. Null: there is no such address.
  [[nodiscard]] virtual std::unique_ptr<Question> ask(const std::string& address,
                                                      Answered answered) = 0;
};

}  // namespace sluice::autoscaler
