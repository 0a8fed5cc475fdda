#pragma once

#include "memory-pressure/core/node.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::node_agent {

/// What containers of one kind hold, in bytes.
struct Kin {
  double mean = 0;
  double variance = 0;  ///< in bytes squared
  double peak = 0;      ///< the most that one held; what lies above present use fades
  Duration watched{};   ///< of all of them together
};

/// Use by kind of container: what one that starts now will probably hold. Containers are kin when
/// they have the same image, name and limit, of a Job the same template. An exponential mean over
/// the last ten minutes of what was watched, as long as it takes to gather them. At most kKinMax
/// kinds, the longest unseen are dropped.
class KinBook {
 public:
  static constexpr std::size_t kKinMax = 4096;

  /// A kind is known from so much watching on.
  explicit KinBook(Duration known_after) : known_after_(known_after) {}

  [[nodiscard]] static std::string kind_of(const Container& container);

  /// A container as it was for the time since the samples before.
  struct Sample {
    std::string_view kind;
    std::int64_t bytes = 0;
    bool typical = false;  ///< neither held back nor still on its first way up
  };

  /// Takes what all containers hold; `passed` since the call before.
  void take(const std::vector<Sample>& samples, Duration passed);

  /// Null: too little was watched to tell.
  [[nodiscard]] const Kin* known(std::string_view kind) const;

  /// All kinds, one line each.
  [[nodiscard]] std::string text() const;

  /// Adds what `text` says of kinds that are not here. Broken lines are skipped.
  void read(std::string_view text);

 private:
  struct Entry {
    Kin kin;
    std::uint64_t seen = 0;  // the turn in which it was last sampled
  };

  Entry& entry(std::string_view kind);

  Duration known_after_;
  std::map<std::string, Entry, std::less<>> all_;
  std::uint64_t turn_ = 0;
};

}  // namespace sluice::node_agent
