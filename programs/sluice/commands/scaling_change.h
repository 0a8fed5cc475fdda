#pragma once

#include "autoscaler/core/recording/recorded_input.h"
#include "common/base/result.h"
#include "common/scaling/cluster_config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::commands {

/// Other settings for what was recorded (`sluice simulate --set`, `--spec`).
class ScalingEdits {
 public:
  /// Each of `sets` is KEY=VALUE: a key of autoscaling.knative.dev/ by its short name or whole, or
  /// one of config-autoscaler. A key that is both is the service's. The problem names a key that is
  /// unknown with the one that was probably meant. `flag`: where they are from, for complaints.
  [[nodiscard]] static Result<ScalingEdits, Problem> parse(const std::vector<std::string>& sets,
                                                           std::string flag = "--set");

  /// In place of the annotations and the limit that were recorded; what was set wins over it.
  void replace_service(autoscaler::StringMap annotations, std::int64_t container_concurrency);

  /// Of the service in place of that which was recorded; absent: none was given.
  [[nodiscard]] std::optional<std::int64_t> container_concurrency() const {
    return service_ ? std::optional{service_->container_concurrency} : std::nullopt;
  }

  /// Whether a service was given in place of that which was recorded.
  [[nodiscard]] bool has_spec() const { return service_.has_value(); }

  [[nodiscard]] bool empty() const { return annotations_.empty() && config_.empty() && !service_; }

  /// Why they cannot be in force together with the rest of `given`; begins with the flags they are
  /// from.
  [[nodiscard]] std::optional<Problem> problem_with(const autoscaler::GivenScaling& given) const;

  /// The spec in place of `recorded`, which was resolved from `given`. Bounds that were set live
  /// stay, unless they are among what is set.
  [[nodiscard]] autoscaler::ScalingSpec apply(const autoscaler::ScalingSpec& recorded,
                                              const autoscaler::GivenScaling& given) const;

  /// Live bounds as they are with what is set.
  [[nodiscard]] autoscaler::BoundsInput apply(autoscaler::BoundsInput recorded) const;

  /// `target=50 window=30s`.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Service {
    autoscaler::StringMap annotations;
    std::int64_t container_concurrency = 0;
  };

  [[nodiscard]] Problem refused(const Problem& problem) const;
  [[nodiscard]] Result<autoscaler::GivenScaling, Problem> edited(
      const autoscaler::GivenScaling& given) const;
  [[nodiscard]] bool sets(const char* name) const;

  autoscaler::StringMap annotations_;
  autoscaler::StringMap config_;
  std::optional<Service> service_;
  std::string text_;
  std::string flag_ = "--set";
};

}  // namespace sluice::commands
