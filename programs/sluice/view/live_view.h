#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::view {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// What the live view shows below its table.
enum class Pane { lines, explain, logs };

/// The live view of `up` and `top` as a value: what it knows, which keys came, and the frame that
/// follows from both. Draws nothing itself.
class LiveView {
 public:
  static constexpr std::size_t kLinesMax = 200;

  /// The status objects of now.
  void set_services(nlohmann::json services);

  /// Text for the explain pane, about selected().
  void set_explanation(std::string text);

  /// One event as EventLines tells it, and output lines of replicas; kept are the newest kLinesMax.
  void add_line(std::string_view line);
  void add_log(std::string_view line);
  void set_logs(std::string_view text);

  /// Takes keys as the terminal sent them, escape sequences of arrows whole. True: quit.
  [[nodiscard]] bool on_keys(std::string_view keys);

  [[nodiscard]] Pane pane() const { return pane_; }

  /// The chosen service, as ENGINE/SERVICE where the services name engines; empty when there is
  /// none.
  [[nodiscard]] std::string selected() const;

  /// The lines of a frame, none wider than the screen and at most its rows; without escape codes
  /// but for the chosen row, which is set apart by `>` in its margin.
  [[nodiscard]] std::vector<std::string> frame(ScreenSize size) const;

  /// The frame as bytes for a terminal: from the home position, each line cleared to its end.
  [[nodiscard]] std::string paint(ScreenSize size) const;

 private:
  std::vector<std::string> names_;
  std::string table_;
  std::string explanation_;
  std::deque<std::string> lines_;
  std::deque<std::string> logs_;
  std::size_t chosen_ = 0;
  Pane pane_ = Pane::lines;
};

}  // namespace sluice::view
