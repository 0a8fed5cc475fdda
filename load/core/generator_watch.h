#pragma once

#include "common/time/time_point.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// Something that happened to the generator, on the axis of the run.
struct Mark {
  enum class Kind {
    generator_gap,  ///< its thread did not run for so long
    clock_step,     ///< the machine's clock was set, by so much
  };

  Duration at{0};
  Kind kind = Kind::generator_gap;
  Duration length{0};  ///< of a step backwards below zero

  friend bool operator==(const Mark&, const Mark&) = default;
};

/// `generator_gap` and so on, as in reports.
[[nodiscard]] std::string_view name_of(Mark::Kind kind);

/// Judges from ticks of a timer how a machine runs one thread of the generator: a timer that comes
/// late without the thread having worked meanwhile says that the machine ran something else, and
/// what was measured in that time is in doubt.
class GeneratorWatch {
 public:
  static constexpr Duration kInterval = std::chrono::milliseconds{20};  ///< between ticks
  static constexpr Duration kGap = std::chrono::milliseconds{50};
  static constexpr std::size_t kMarksMax = 1000;

  struct Tick {
    Duration at{0};    ///< since the start of the run, by a clock that never steps
    Duration cpu{0};   ///< that the thread has used so far
    Duration wall{0};  ///< of the machine's clock, since any moment
  };

  void tick(const Tick& tick);
  /// Adds the marks of another thread, and its share of a core if that is larger.
  void add(const GeneratorWatch& other);

  /// At most kMarksMax, in order.
  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }

  /// The largest share of a core that the thread used over a second, 0 to 1.
  [[nodiscard]] double busiest() const { return busiest_; }

 private:
  void mark(Duration at, Mark::Kind kind, Duration length);

  std::optional<Tick> last_;
  std::optional<Tick> window_;  // its share is looked at each second
  std::vector<Mark> marks_;
  double busiest_ = 0;
};

}  // namespace sluice::loadgen
