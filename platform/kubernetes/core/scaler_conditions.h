#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "common/kube/request_scaler.h"
#include "common/time/time_point.h"

#include "platform/kubernetes/core/trouble.h"
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// What the conditions of a RequestScaler are made of.
struct ConditionView {
  const kube::RequestScaler* scaler = nullptr;
  std::optional<Trouble> access;  ///< the API server refuses us something
  std::optional<Trouble> target;
  std::optional<Trouble> conflict;
  std::optional<Trouble> service;
  std::optional<Trouble> sidecar;
  std::optional<Trouble> settings;  ///< scaling continues without the invalid ones
  bool paused = false;              ///< roll-outs of the target are
  bool pods = false;                ///< there are any
  std::optional<ScaleReport> report;
};

/// The cause of a 403 with these words: a rule that is missing, for the most
/// part, or a namespace that is ending, in which nothing new may be made.
[[nodiscard]] Trouble refused_write(const std::string& words);

/// Ready, Active, Target, Conflict, Service, Sidecar, Metrics and Settings, in this order. A
/// condition whose status stays keeps the time of its last transition. Texts hold no figure that
/// changes with the load: a status is written for news only.
[[nodiscard]] std::vector<kube::Condition> conditions_of(const ConditionView& view, TimePoint now);

/// A status as it should be.
struct ScalerStatus {
  kube::RequestScaler::Status values;
  std::string selector;  ///< of the target's pods, as text
};

/// Whether `wanted` has to be written over `present`.
[[nodiscard]] bool differs(const kube::RequestScaler::Status& wanted,
                           const kube::RequestScaler::Status& present);

/// "True", "False", "Unknown"; empty: there is no such condition.
[[nodiscard]] std::string status_of(const std::vector<kube::Condition>& conditions,
                                    std::string_view type);

}  // namespace sluice::autoscaler
