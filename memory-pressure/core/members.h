#pragma once

#include "memory-pressure/core/forecast.h"
#include "memory-pressure/core/kin.h"
#include "memory-pressure/core/node.h"
#include "memory-pressure/core/settings.h"
#include <map>
#include <string>
#include <string_view>

namespace sluice::node_agent {

/// Begins or ends a hold of `member`.
void set_held(Member& member, bool held, std::string_view why, TimePoint now);

/// The containers of a node as the foresight rule follows them, with what their kin have shown.
class Members {
 public:
  explicit Members(const PolicySettings& settings)
      : settings_(settings), kin_(settings.kin_known_after) {}

  /// Takes a new list: drops who is gone, adds who is new, and ends the hold of who turned out to
  /// be none that may be held.
  void follow(const Observation& seen, TimePoint now);

  [[nodiscard]] std::map<std::string, Member>& all() { return all_; }

  [[nodiscard]] const std::map<std::string, Member>& all() const { return all_; }

  /// Null: not known yet.
  [[nodiscard]] const Kin* kin_of(const Member& member) const { return kin_.known(member.kind); }

  [[nodiscard]] KinBook& kin() { return kin_; }

  [[nodiscard]] const KinBook& kin() const { return kin_; }

  /// `seen` without the batch containers, which may be held whole: what is left to the quotas. Who
  /// rests and is held does not grow.
  [[nodiscard]] Observation others_of(const Observation& seen) const;

 private:
  void sample_kin(Duration passed, TimePoint now);

  PolicySettings settings_;
  KinBook kin_;
  std::map<std::string, Member> all_;
  TimePoint followed_at_;
  bool first_ = true;
};

}  // namespace sluice::node_agent
