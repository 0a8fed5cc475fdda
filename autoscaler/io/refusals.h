#pragma once

#include "common/log/log.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::autoscaler {

/// What the doors refuse for want of proof, by reason. Each peer and reason is logged once, until
/// there are too many of them to remember.
class Refusals {
 public:
  static constexpr std::size_t kRememberedMax = 1'000;

  /// `log` outlives this.
  explicit Refusals(const log::Logger& log) : log_{log} {}

  /// `reason`: a label, one of few. `peer`: who, as gRPC writes it; its port is no part of it.
  /// `why`: a sentence that names the setting.
  void add(std::string_view reason, const std::string& peer, const std::string& why);

  void write_metrics(std::string& out) const;

 private:
  const log::Logger& log_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::set<std::pair<std::string, std::string>> told_;
};

}  // namespace sluice::autoscaler
