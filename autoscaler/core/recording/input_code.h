#pragma once

#include "autoscaler/core/recording/recorded_input.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

// An input in few bytes: a tag, a mask of the figures that differ from those of the input of its
// kind before it, and each of these as a number of variable length. Stats, evaluations and traffic,
// which come every second, are written so; a change of the spec, which is large and rare, is kept
// as it is.

/// The figures that one input of each kind had last; of the next its differences are written.
struct InputFigures {
  std::vector<std::uint64_t> pushed = {};
  std::vector<std::uint64_t> scraped = {};
  std::vector<std::uint64_t> evaluated = {};
  std::vector<std::uint64_t> traffic = {};
  std::vector<std::uint64_t> replica = {};
};

/// Inputs in the order in which they came.
class InputCode {
 public:
  void append(const RecordedInput& input);

  /// Memory in use, about.
  [[nodiscard]] std::size_t bytes() const;

  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  /// Reads what was appended, the first first.
  class Reader {
   public:
    /// `code` outlives this.
    explicit Reader(const InputCode& code) : code_{code} {}

    /// The next; nothing after the last.
    [[nodiscard]] std::optional<RecordedInput> next();

   private:
    const InputCode& code_;
    std::size_t at_ = 0;
    std::size_t rare_at_ = 0;
    InputFigures last_;
  };

 private:
  std::string bytes_;
  std::vector<RecordedInput> rare_;
  std::size_t rare_bytes_ = 0;
  InputFigures last_;
};

}  // namespace sluice::autoscaler
