#include "load/core/path_template.h"

#include "common/base/clean_text.h"
#include "common/values/whole_number.h"

#include "load/core/portable_math.h"
#include <array>
#include <charconv>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

// Spreads neighbouring numbers over all of 64 bits (the finalizer of SplitMix64).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111eb;
  return x ^ (x >> 31U);
}

// Below this a double draws each whole number with the same probability.
constexpr std::uint64_t kNumberMax = 1'000'000'000'000;

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

}  // namespace

PathTemplate PathTemplate::literal(std::string path) {
  PathTemplate out;
  out.rest_ = std::move(path);
  return out;
}

Result<PathTemplate::Piece, Problem> PathTemplate::parse_part(std::string_view part) {
  if (part == "n") return Piece{};
  if (part.starts_with("n%")) {
    const auto range = whole_number<std::uint64_t>(part.substr(2), 1, kNumberMax);
    if (range) return Piece{.range = *range};
  }
  constexpr std::string_view kRandom = "rand:";
  const std::size_t dash = part.find('-');
  if (part.starts_with(kRandom) && dash != std::string_view::npos) {
    const std::string_view low = part.substr(kRandom.size(), dash - kRandom.size());
    const auto from = whole_number<std::uint64_t>(low, 0, kNumberMax);
    const auto to = whole_number<std::uint64_t>(part.substr(dash + 1), 0, kNumberMax);
    if (from && to && *from <= *to) {
      return Piece{.drawn = true, .from = *from, .range = *to - *from + 1};
    }
  }
  constexpr std::size_t kShownMax = 40;
  return Problem{"no such part of a path: '{" + clean_text(part.substr(0, kShownMax)) + "}'",
                 "use {n}, {n%1000} or {rand:1-9}"};
}

Result<PathTemplate, Problem> PathTemplate::parse(std::string_view path) {
  PathTemplate out;
  while (true) {
    const std::size_t open = path.find('{');
    if (open == std::string_view::npos) break;
    const std::size_t close = path.find('}', open);
    if (close == std::string_view::npos) {
      return Problem{"a brace of the path is not closed", "write %7B for the brace itself"};
    }
    auto piece = parse_part(path.substr(open + 1, close - open - 1));
    if (!piece) return piece.error();
    if (out.pieces_.size() == kPartsMax) {
      return Problem{"the path has more than 16 parts in braces", "use fewer"};
    }
    piece->before = path.substr(0, open);
    out.pieces_.push_back(*std::move(piece));
    path.remove_prefix(close + 1);
  }
  out.rest_ = path;
  return out;
}

void PathTemplate::append_to(std::string& out, std::uint64_t number, std::uint64_t seed) const {
  std::uint64_t place = number * kPartsMax;
  for (const Piece& piece : pieces_) {
    out += piece.before;
    ++place;
    std::uint64_t value = number;
    if (piece.drawn) {
      value = piece.from + static_cast<std::uint64_t>(unit_of(mixed(seed + kOdd * place)) *
                                                      static_cast<double>(piece.range));
    } else if (piece.range > 0) {
      value = number % piece.range;
    }
    append_number(out, value);
  }
  out += rest_;
}

}  // namespace sluice::loadgen
