#include "autoscaler/vectors/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace sluice::vectors {
namespace {

std::string go_name(double special) {
  if (std::isnan(special)) return "NaN";
  return special > 0 ? "+Inf" : "-Inf";
}

bool is_zero(const nlohmann::json& value) {
  return value.is_null() || value == 0 || value == false || value == "" ||
         (value.is_array() && value.empty());
}

bool close(double want, double got, Tolerance tolerance) {
  const double apart = std::abs(want - got);
  return apart <= tolerance.absolute ||
         apart <= tolerance.relative * std::max(std::abs(want), std::abs(got));
}

}  // namespace

void Expect::equal(std::string_view field, const nlohmann::json& want, const nlohmann::json& got) {
  if (failed() || want == got || (want.is_null() && is_zero(got))) return;
  mismatch_ = Mismatch{prefix_ + std::string{field}, want.dump(), got.dump()};
}

void Expect::near(std::string_view field, const nlohmann::json& want, double got,
                  Tolerance tolerance) {
  if (failed()) return;
  if (!std::isfinite(got) || want.is_string()) {
    equal(field, want, std::isfinite(got) ? nlohmann::json(got) : nlohmann::json(go_name(got)));
    return;
  }
  if (!want.is_null() && !want.is_number()) throw std::runtime_error("a number was to be expected");
  if (close(want.is_null() ? 0 : want.get<double>(), got, tolerance)) return;
  mismatch_ = Mismatch{prefix_ + std::string{field}, want.dump(), nlohmann::json(got).dump()};
}

}  // namespace sluice::vectors
