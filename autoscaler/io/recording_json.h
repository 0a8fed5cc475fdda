#pragma once

#include "autoscaler/core/recording/recorded_input.h"
#include "autoscaler/core/recording/recording.h"
#include "autoscaler/core/recording/replay.h"
#include "autoscaler/io/decision_json.h"
#include "common/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A recording as text: a JSON object a line (docs/reference/recordings.md).
namespace sluice::autoscaler {

/// What the first line says of the format; only added to within a number.
inline constexpr std::string_view kRecordingFormat = "sluice-recording/1";

/// The longest line that is read. The first is longest: its windows have 3,600 values each.
inline constexpr std::size_t kRecordingLineMax = 4U << 20U;

/// The first line: where the recording begins, and from which state.
struct RecordingHead {
  std::string version = {};  ///< of the program that wrote it
  About of = {};
  ScalerStart start = {};
};

[[nodiscard]] nlohmann::json recording_head_json(const RecordingHead& head);

/// Every other line.
[[nodiscard]] nlohmann::json recorded_json(const RecordedInput& input, const About& of);

/// What an evaluation decided as its line has it: the decision of protocols.md 5 with its "inputs",
/// and with "reasons", what else its sentence is made of.
[[nodiscard]] nlohmann::json recorded_decision_json(const DecisionRecord& decided, const About& of);

/// Reads a first line. The problem is one sentence, of a document that is no recording, of another
/// format, or lacks something.
[[nodiscard]] Result<RecordingHead, Problem> read_recording_head(const nlohmann::json& document);

/// A line that was read; without an input one that a newer program wrote and this one does not
/// know.
struct RecordedLine {
  std::optional<RecordedInput> input = {};
};

/// Reads any other line. Of an evaluation only the inputs: what it decided stays in the document.
[[nodiscard]] Result<RecordedLine, Problem> read_recorded(const nlohmann::json& document);

/// The text of a recording, line by line, so that none of its readers holds it whole.
class RecordingText {
 public:
  /// `stretches` are those of one recording, the oldest first, and not empty; what was before
  /// `since` is left out.
  RecordingText(std::vector<RecordedStretch> stretches, About of, std::string version,
                TimePoint since);
  RecordingText(RecordingText&&) = default;
  RecordingText(const RecordingText&) = delete;  // its reader points into its stretches
  RecordingText& operator=(const RecordingText&) = delete;
  RecordingText& operator=(RecordingText&&) = delete;
  ~RecordingText() = default;

  /// Appends the next line to `text`, or nothing while it is still on the way to the first. False:
  /// there was none.
  [[nodiscard]] bool next(std::string& text);

 private:
  [[nodiscard]] std::optional<RecordedInput> take();
  void skip_on();

  // The way from the beginning of a stretch to where the text begins.
  struct Skip {
    TimePoint since;
    TimePoint reached;
    Replay replay;
  };

  std::vector<RecordedStretch> stretches_;
  About of_;
  std::string version_;
  std::size_t at_ = 0;  // of the stretch that is read
  std::optional<InputCode::Reader> reader_;
  std::optional<ScalerStart> start_;  // until the first line was made
  std::optional<Skip> skip_;
  std::optional<RecordedInput> ahead_;
};

}  // namespace sluice::autoscaler
