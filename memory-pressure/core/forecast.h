#pragma once

#include "memory-pressure/core/growth.h"
#include "memory-pressure/core/kin.h"
#include "memory-pressure/core/node.h"
#include "memory-pressure/core/settings.h"
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::node_agent {

/// A container with what the foresight rule keeps of it. Times are the policy's own.
struct Member {
  Container seen;      ///< as last observed
  std::string kind;    ///< of its kin
  bool batch = false;  ///< may be held whole: made by a Job, not exempt
  bool rests = false;  ///< may be held whole for nothing: no request is in flight
  bool late = false;   ///< it ran before the first look: only a shortage holds it
  bool tried = false;  ///< let go to be known: so does only a shortage
  Growth growth;
  std::int64_t low = 0;   ///< least use since it last gave back
  std::int64_t high = 0;  ///< most use since then
  bool released = false;  ///< has given back once
  bool admitted = false;  ///< a decision has let it run
  bool held = false;
  bool ran = false;   ///< ever since it was seen
  bool idle = false;  ///< frozen by another program
  TimePoint first_seen;
  TimePoint changed;                      ///< held since, or running since
  std::optional<TimePoint> spared_until;  ///< its turn after a long hold
  std::string why;                        ///< it is held

  [[nodiscard]] std::int64_t used() const { return seen.working_set.value_or(0); }
};

/// Takes the use that `member.seen` shows, read in the policy's `now`.
void note_use(Member& member, TimePoint now);

/// Whether it is in the middle of an allocation: it has given back before, and taken since.
[[nodiscard]] bool is_mid(const Member& member);

/// What one container will hold.
struct Outlook {
  double expected = 0;    ///< bytes in the mean while it runs
  double variance = 0;    ///< of that
  double held = 0;        ///< bytes that it ends with if it is held now
  std::int64_t need = 0;  ///< bytes up to its claim
  bool stranger = false;  ///< its kin are not known
};

/// Foresees by its kin, or by its limit while too little is known of those (`kin` is null).
/// `capacity` stands in for a missing limit.
[[nodiscard]] Outlook foresee(const Member& member, const Kin* kin, std::int64_t capacity,
                              const PolicySettings& settings);

/// What the node will hold, of those that run and those that are held.
struct Forecast {
  double expected = 0;
  double variance = 0;
  std::int64_t room = 0;  ///< needs of all that run

  void add(const Outlook& outlook, bool held);
  void move(const Outlook& outlook, bool to_hold);

  /// Bytes, with `confidence` deviations to spare.
  [[nodiscard]] double total(double confidence) const;
};

/// Whether a hold lets nothing through.
[[nodiscard]] bool freezes(const Member& member, const PolicySettings& settings);

}  // namespace sluice::node_agent
