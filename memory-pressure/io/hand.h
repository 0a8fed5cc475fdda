#pragma once

#include "common/base/lifetime.h"
#include "common/log/log.h"
#include "common/loop/loop.h"

#include "memory-pressure/core/controller.h"
#include "memory-pressure/io/container_view.h"
#include "memory-pressure/io/journal.h"
#include "memory-pressure/io/runtime.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::node_agent {

/// What was done so far, for metrics.
struct HandCounts {
  std::uint64_t throttles = 0;
  std::uint64_t releases = 0;
  std::uint64_t stops = 0;
  std::uint64_t update_failures = 0;
  std::uint64_t journal_failures = 0;
  std::uint64_t alarms = 0;
  std::uint64_t freezes = 0;
  std::uint64_t thaws = 0;
  Duration update_latency{};  ///< of all updates together
  /// From the sample to the runtime's word that the quota is in the kernel, of the throttle that
  /// took longest and of all together.
  Duration reaction_max{};
  Duration reaction{};
};

/// Carries out what the controller asks for: journal first, then the runtime; and tells it what
/// came of it. One log line per action, with the numbers that led to it.
class Hand {
 public:
  struct Parts {
    Loop& loop;
    Runtime& runtime;
    ContainerView& containers;
    Journal* journal;  ///< absent in a dry run: nothing is written
    MemoryController& controller;
    const log::Logger& log;
    std::string boot_id{};
    Duration lease{};  ///< for which a record vouches for what the journal lists; 0: no vouching
  };

  /// All parts outlive this.
  explicit Hand(Parts parts) : parts_{std::move(parts)} {}

  /// Runs when what was decided no longer fits, from within whatever found that out.
  void on_look_again(std::function<void()> look_again) { look_again_ = std::move(look_again); }

  /// `sampled`: when that was seen which they answer.
  void carry_out(const std::vector<Action>& actions, TimePoint sampled);

  /// Vouches again for what the journal lists, if it lists anything and a third of the lease is
  /// over.
  void renew_lease();

  /// Replaces the journal by what is true now.
  [[nodiscard]] std::optional<Problem> compact();

  /// Names a container in log lines.
  [[nodiscard]] std::string shown(const std::string& id) const;

  [[nodiscard]] const HandCounts& counts() const { return counts_; }

  /// Whether we have stopped this container.
  [[nodiscard]] bool has_stopped(const std::string& id) const;

  /// Whether the last write of the journal has failed: throttles are not begun then.
  [[nodiscard]] bool journal_fails() const { return journal_fails_; }

 private:
  void write_down(const std::vector<Action>& actions, std::vector<std::string>& failed);
  [[nodiscard]] bool lease_is_due(TimePoint now) const;
  [[nodiscard]] JournalRecord next_lease(TimePoint now);
  void carry_out(const Update& update, TimePoint sampled);
  void carry_out(const Freeze& freeze, TimePoint sampled);
  void carry_out(const ReadBack& read);
  void carry_out(const Stop& stop);
  void tell(const Alarm& alarm);
  void updated(const Update& update, TimePoint sampled, TimePoint asked, Outcome outcome,
               const std::string& text);

  Parts parts_;
  std::function<void()> look_again_;
  HandCounts counts_;
  bool journal_fails_ = false;
  TimePoint leased_until_;
  std::deque<std::string> stopped_;  // ids, the newest kStoppedMax
  Lifetime alive_;
};

}  // namespace sluice::node_agent
