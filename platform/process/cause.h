#pragma once

#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// Why a replica is not ready, or has ended without having been stopped.
enum class CauseKind : std::uint8_t {
  starting,        ///< nothing listens yet
  probe,           ///< it listens, and its readiness probe does not pass yet
  other_port,      ///< it listens, and not on its port
  container_port,  ///< it listens on its containerPort, where it is served from its next start on
  other_address,   ///< it listens on its port, where no connection of its sidecar reaches it
  background,      ///< it put itself into the background
  exited,
  signalled,
  out_of_memory,   ///< the kernel killed it at its memory limit
  cannot_start,    ///< its program could not be run, or not be prepared to run
  port_taken,      ///< another process listens on its port
  sidecar,         ///< its queue-proxy ended
  init,            ///< an init container runs, or did not succeed
  startup_probe,   ///< its startup probe does not pass, or did not in its time
  liveness_probe,  ///< it was ready, and its liveness probe failed
  no_room,         ///< it is not started: what it needs, others have
  too_large,       ///< it is not started: it needs more than there is
};

/// The word of the API for it. A text of static lifetime.
[[nodiscard]] std::string_view name(CauseKind kind);

/// Nothing but a change of its command, its settings or its program makes such a start succeed.
[[nodiscard]] bool is_wrong_place(CauseKind kind);

/// A program that has listened in a wrong place so long is not expected to listen in the right one.
inline constexpr Duration kSettledAfter = std::chrono::seconds{10};

/// One cause as every verb, event and log line prints it: made here and nowhere else.
struct Cause {
  CauseKind kind = CauseKind::starting;
  std::string what{};  ///< a clause that begins with `it` or a participle
  /// The last line that the program wrote to its errors, or the last failure of the command of its
  /// probe; may be empty.
  std::string output{};
  std::string fix{};  ///< may be empty

  /// All of it: `it ended with exit code 3: no database`.
  [[nodiscard]] std::string sentence() const;

  /// The same for clients of the front door: without what the program wrote, paths and images.
  [[nodiscard]] std::string for_clients() const;

  friend bool operator==(const Cause&, const Cause&) = default;
};

/// What is seen of a replica that runs and is not ready.
struct StartSight {
  std::uint16_t port = 0;                ///< where it should listen
  bool fixed_port = false;               ///< the port was given by its spec, and not as $PORT
  std::uint16_t container_port = 0;      ///< of its spec, when it has no fixed port; 0: none
  std::vector<std::uint16_t> listens{};  ///< the ports of its processes, ascending
  bool reachable = false;                ///< one of them is `port`, on an address of loopback
  bool in_startup = false;               ///< its startup probe has not passed
  bool startup_is_command = false;       ///< that probe runs a command
  bool readiness_is_command = false;     ///< its readiness probe does
  bool in_container = false;             ///< then `port` and `listens` are those of its network
  bool begun = true;                     ///< false: its container does not run yet

  friend bool operator==(const StartSight&, const StartSight&) = default;
};

/// Whether a program has settled in the wrong place: it has been there for ten seconds with hardly
/// any use of a processor. One that opens a port beside its own and has yet to start is at work.
class Settling {
 public:
  /// What a look has found, and the processor time of the program up to then.
  void note(CauseKind kind, Duration used, TimePoint now);

  [[nodiscard]] bool settled() const { return settled_; }

 private:
  std::optional<TimePoint> idle_since_{};
  Duration used_{0};  // at the last look
  TimePoint last_{};
  bool settled_ = false;
};

/// Why it is not ready after `lasting`. `last_failure` is why its probe did not pass the last time;
/// empty: that is not seen.
[[nodiscard]] Cause cause_of_wait(const StartSight& seen, Duration lasting,
                                  const std::string& last_failure = {});

/// Why it was not ready within its start-timeout, which is `limit`.
[[nodiscard]] Cause cause_of_timeout(const StartSight& seen, Duration limit,
                                     const std::string& last_failure = {});

/// Why a replica is not ready while its init container `name` runs; `limit`: why it was not within
/// that time.
[[nodiscard]] Cause cause_of_init(const std::string& name, std::optional<Duration> limit);

/// What a replica asks for that may not start now, in bytes of memory.
struct RoomSight {
  std::int64_t claim = 0;
  std::int64_t capacity = 0;  ///< of the machine; 0: not known
  std::string shortage{};     ///< what is missing now
};

/// Why a replica is not started.
[[nodiscard]] Cause cause_of_no_room(const RoomSight& seen);

/// What is seen of a program that has ended.
struct EndSight {
  std::optional<int> exit_code{};
  std::optional<int> signal{};
  std::string survivor{};          ///< the name of a process that it left running; empty: none
  std::string last_error{};        ///< the last line of its errors that is not blank
  std::int64_t oom_kills = 0;      ///< of its control group, by the kernel
  std::int64_t memory_limit = 0;   ///< bytes; 0: none
  bool limit_is_enforced = false;  ///< its control group has that limit
  std::string group{};             ///< of the machine, with limits of its own; empty: none
  bool port_is_lost = false;       ///< lost_port() of its command
  std::string not_run_by{};        ///< the container runtime that did not get so far as to run it
  std::string image{};             ///< that was to be run in a container; empty: none
};

[[nodiscard]] Cause cause_of_end(const EndSight& seen);

/// Why a revision that serves deserves a look: `ended` of its replicas have ended by themselves
/// after they were ready, the last one `ago` for the cause `last`.
[[nodiscard]] Cause cause_of_restarts(std::int64_t ended, Duration ago, const Cause& last);

/// cause_of_end() of the init container `name`, which did not succeed.
[[nodiscard]] Cause cause_of_init_end(const std::string& name, const EndSight& seen);

/// The words of a command have a place where `$PORT` was expanded to nothing, by a shell most
/// likely: an empty word, or one that ends in `=` or `:`, and none that contains PORT.
[[nodiscard]] bool lost_port(const std::vector<std::string>& words);

/// The last line of `lines` that is not blank, trimmed and cut; empty: there is none.
[[nodiscard]] std::string last_words(const std::vector<std::string>& lines);

/// `oom_kill 3` in v2's memory.events or v1's memory.oom_control; absent: there is no such line.
[[nodiscard]] std::optional<std::int64_t> oom_kills_in(std::string_view text);

}  // namespace sluice::local
