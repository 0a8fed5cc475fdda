#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::view {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// What the live view shows below its table: events above the output of the chosen service, or one
/// pane alone.
enum class Pane { lines, explain, logs };

/// What the key q does: leaves the view, or ends the engine with its services, after a question.
enum class Quit : std::uint8_t { leaves, ends };

/// The live view of `up` and `top` as a value: its state, which keys came, and the frame that
/// follows from both. Draws nothing itself.
class LiveView {
 public:
  static constexpr std::size_t kLinesMax = 200;

  /// `who` is printed at the top, such as `engine app`, with the address of the chosen service, or
  /// `address` where that has none.
  LiveView(Quit quit, std::string who, std::string address)
      : quit_(quit), who_(std::move(who)), address_(std::move(address)) {}

  /// The status objects of now.
  void set_services(nlohmann::json services);

  /// Text for the explain pane, about selected().
  void set_explanation(std::string text);

  /// One event in the words of EventLines; kept are the newest kLinesMax.
  void add_line(std::string_view line);

  /// Output lines of replicas of `service`; kept are the newest kLinesMax of all services.
  void add_log(const std::string& service, std::string_view line);

  /// The output of selected(), in place of all that was there.
  void set_logs(std::string_view text);

  /// The engine ends, and waits for requests.
  void set_ending() { ending_ = true; }

  /// Takes keys as the terminal sent them, escape sequences of arrows whole. True: quit, and a
  /// question about that is answered.
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
  struct Output {
    std::string service;
    std::string line;
  };

  using Lines = std::vector<std::string>;

  [[nodiscard]] Lines head(std::size_t columns) const;
  [[nodiscard]] Lines table(std::size_t columns) const;
  [[nodiscard]] Lines below(std::size_t room, std::size_t columns) const;
  [[nodiscard]] Lines output() const;
  [[nodiscard]] std::string foot(std::size_t columns) const;
  [[nodiscard]] std::string question(std::size_t columns) const;
  [[nodiscard]] bool on_key(char key);

  Quit quit_;
  std::string who_;
  std::string address_;
  std::vector<std::string> names_;
  std::vector<std::string> urls_;
  std::int64_t replicas_ = 0;
  std::vector<std::vector<std::string>> table_;  // top_rows()
  std::string explanation_;
  std::deque<std::string> lines_;
  std::deque<Output> logs_;
  std::size_t chosen_ = 0;
  Pane pane_ = Pane::lines;
  bool asking_ = false;
  bool ending_ = false;
};

}  // namespace sluice::view
