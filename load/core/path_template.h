#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// The path of a URL, parts of which may differ from request to request:
///
///     {n}         the number of the request among those of its target, from 1
///     {n%1000}    the same modulo 1000
///     {rand:1-9}  a whole number from 1 to 9 by the seed
class PathTemplate {
 public:
  static constexpr std::size_t kPartsMax = 16;

  /// The path as it is, braces included.
  [[nodiscard]] static PathTemplate literal(std::string path);
  /// At most kPartsMax parts in braces. The problem names the part that is none of ours.
  [[nodiscard]] static Result<PathTemplate, Problem> parse(std::string_view path);

  /// True if every request has the same path.
  [[nodiscard]] bool is_fixed() const { return pieces_.empty(); }

  /// Appends the path of request `number`. What {rand:A-B} stands for follows from the seed, the
  /// number and its place alone.
  void append_to(std::string& out, std::uint64_t number, std::uint64_t seed) const;

 private:
  struct Piece {
    std::string before = {};  // text that stands before the number
    bool drawn = false;       // else counted
    std::uint64_t from = 0;
    std::uint64_t range = 0;  // of the numbers from `from` on; 0: as it is counted
  };

  [[nodiscard]] static Result<Piece, Problem> parse_part(std::string_view part);

  std::vector<Piece> pieces_;
  std::string rest_;
};

}  // namespace sluice::loadgen
