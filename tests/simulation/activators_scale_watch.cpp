#include "tests/simulation/activators_scale_watch.h"

namespace sluice::simulation {

void ScaleWatch::decided(const RevisionId& revision, std::uint64_t version) {
  std::uint64_t& last = decided_[revision];
  if (version < last) breach(revision, "is given an older version than before");
  last = version;
}

void ScaleWatch::in_force(std::string_view activator, const RevisionId& revision,
                          std::uint64_t version) {
  std::uint64_t& last = in_force_[{std::string(activator), revision}];
  if (version <= last) breach(revision, "goes back to an older state at an activator");
  last = version;
}

void ScaleWatch::scaled(const RevisionId& revision, std::int32_t before, std::int32_t after,
                        std::size_t activators) {
  if (before > 0 && after == 0 && activators == 0) {
    breach(revision, "is scaled to zero while no activator is connected");
  }
}

void ScaleWatch::removes(const RevisionId& revision, std::string_view pod,
                         std::span<const Chooser> choosers, Duration age) {
  for (const Chooser& chooser : choosers) {
    const bool unknown = age < kSilence && chooser.before_autoscaler;
    const bool counts = chooser.heard ? *chooser.heard < kSilence : unknown;
    if (!counts || chooser.avoids) continue;
    breach(revision, std::string(pod) + " may be stopped while " + chooser.activator +
                         " still sends it requests");
  }
}

void ScaleWatch::stranded(const RevisionId& revision, bool is, TimePoint now) {
  if (!is) {
    stranded_since_.erase(revision);
    return;
  }
  const TimePoint since = stranded_since_.emplace(revision, now).first->second;
  if (now - since > wake_max_) breach(revision, "sleeps on while a request waits");
}

void ScaleWatch::unserved(std::string_view activator, const RevisionId& revision, bool is,
                          TimePoint now) {
  const std::pair door{std::string(activator), revision};
  if (!is) {
    unserved_since_.erase(door);
    return;
  }
  const TimePoint since = unserved_since_.emplace(door, now).first->second;
  if (now - since > kServeMax) breach(revision, "has pods that " + door.first + " does not find");
}

void ScaleWatch::converged(std::string_view activator, const RevisionId& revision,
                           const proto::RevisionState* in_force, const proto::RevisionState* said) {
  const std::string where = " at " + std::string(activator);
  if (in_force == nullptr || said == nullptr) {
    if (in_force != said) breach(revision, "has a state on one side only" + where);
    return;
  }
  proto::RevisionState seen = *in_force;
  seen.ready = said->ready;
  if (seen != *said) breach(revision, "has two states" + where);
}

void ScaleWatch::left_over(std::string_view what, std::uint64_t count) {
  if (count == 0 || !breach_.empty()) return;
  breach_ = std::to_string(count) + " " + std::string(what) + " left when all should be at rest";
}

void ScaleWatch::breach(const RevisionId& revision, std::string_view what) {
  if (breach_.empty()) breach_ = revision.name + " " + std::string(what);
}

}  // namespace sluice::simulation
