#pragma once

#include <string>
#include <string_view>

namespace sluice::soak {

/// Seconds of CLOCK_MONOTONIC, which is one clock for all processes of a machine.
double monotonic_seconds();

/// What the application did, a line each, in a file that all applications of a run append to. Each
/// line is one write, so a SIGKILL cuts none and loses none that was written.
///   B ID POD SECONDS RUNNING   a request began; RUNNING includes it
///   E ID POD SECONDS RUNNING   it ended: its answer is handed over from here on
///   A ID POD SECONDS RUNNING   it ended without: the other side has left
///   X ID POD SECONDS RUNNING   more ran at once than containerConcurrency allows
///   M ID POD SECONDS RUNNING   the body was not that of the request
class Journal {
 public:
  /// `path` is made when missing; `limit` is containerConcurrency, 0 for none.
  Journal(const std::string& path, std::string pod, int limit);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// False when the file could not be opened.
  [[nodiscard]] bool open() const { return file_ >= 0; }

  [[nodiscard]] const std::string& pod() const { return pod_; }

  void begin(std::string_view id);
  void end(std::string_view id);
  void abandon(std::string_view id);

  void mixed_up(std::string_view id) { write('M', id); }

  /// More are counted than may run. The sidecar may have given some of them up: the reader of the
  /// connections checks that first, then calls crowded().
  [[nodiscard]] bool seems_crowded() const { return limit_ > 0 && running_ > limit_; }

  void crowded() { write('X', newest_); }

  /// How many have begun since the start: a pass over all connections that leaves it unchanged has
  /// seen every end that came before.
  [[nodiscard]] long begun() const { return begun_; }

 private:
  void write(char what, std::string_view id) const;

  int file_;
  std::string pod_;
  int limit_;
  int running_ = 0;
  long begun_ = 0;
  std::string newest_ = "-";
};

}  // namespace sluice::soak
