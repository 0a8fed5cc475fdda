#include "programs/sluice/simulation/times.h"

#include "common/base/check.h"

#include "load/core/portable_math.h"
#include "load/core/quantity.h"
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace sluice::simulation {

namespace {

Problem misread(std::string_view flag, std::string_view text) {
  return {std::string{flag} + ": " + std::string{text.substr(0, 100)} + " is no rule for times",
          "write it like 100ms, exp:100ms or lognormal:100ms,0.5 (median and sigma, 0 to 5)"};
}

Duration limited(double seconds) {
  return from_seconds(std::min(seconds, to_seconds(Times::kLongest)));
}

// From 0 to below 1.
double share(std::mt19937_64& random) {
  return loadgen::unit_of(random());
}

// By the method of Box and Muller; half a turn is enough, since the cosine of the other half is the
// same.
double normal(std::mt19937_64& random) {
  const double radius = std::sqrt(2 * loadgen::exponential_of(random()));
  return radius * loadgen::portable_cos(loadgen::kPi * share(random));
}

}  // namespace

Result<Times, Problem> Times::parse(std::string_view text, std::string_view flag) {
  const std::size_t colon = text.find(':');
  const std::string_view rule = colon == std::string_view::npos ? "fixed" : text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? text : text.substr(colon + 1);
  std::optional<double> sigma;
  if (rule == "lognormal") {
    const std::size_t comma = rest.find(',');
    if (comma == std::string_view::npos) return misread(flag, text);
    sigma = loadgen::parse_number(rest.substr(comma + 1));
    if (!sigma || *sigma > kSigmaMax) return misread(flag, text);
    rest = rest.substr(0, comma);
  }
  const auto time = loadgen::parse_duration(rest, flag);
  if (!time) return misread(flag, text);
  if (rule == "fixed") return fixed(*time);
  if (rule == "exp") return exponential(*time);
  if (sigma) return lognormal(*time, *sigma);
  return misread(flag, text);
}

Times Times::measured(loadgen::ServiceTimes shares) {
  CHECK(!shares.empty());
  Times times{Rule::measured, Duration{0}, Duration{0}};
  times.shares_ = std::make_shared<const loadgen::ServiceTimes>(std::move(shares));
  return times;
}

Duration Times::draw(std::mt19937_64& random) const {
  switch (rule_) {
    case Rule::even:
      if (from_ == to_) return from_;
      return from_ + from_seconds(share(random) * to_seconds(to_ - from_));
    case Rule::exponential:
      return limited(to_seconds(from_) * loadgen::exponential_of(random()));
    case Rule::lognormal:
      return limited(to_seconds(from_) * loadgen::portable_exp(sigma_ * normal(random)));
    case Rule::measured:
      return shares_->at(share(random));
  }
  return from_;
}

}  // namespace sluice::simulation
