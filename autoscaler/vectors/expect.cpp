#include "autoscaler/vectors/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace sluice::vectors {
namespace {

std::string go_name(double special) {
  if (std::isnan(special)) return "NaN";
  return special > 0 ? "+Inf" : "-Inf";
}

bool close(double want, double got, Tolerance tolerance) {
  const double apart = std::abs(want - got);
  return apart <= tolerance.absolute ||
         apart <= tolerance.relative * std::max(std::abs(want), std::abs(got));
}

}  // namespace

void Expect::equal(std::string_view field, const nlohmann::json& want, const nlohmann::json& got) {
  if (failed() || want == got) return;
  mismatch_ = Mismatch{prefix_ + std::string{field}, want.dump(), got.dump()};
}

void Expect::near(std::string_view field, const nlohmann::json& want, double got,
                  Tolerance tolerance) {
  if (failed()) return;
  if (!std::isfinite(got) || want.is_string()) {
    equal(field, want, std::isfinite(got) ? nlohmann::json(got) : nlohmann::json(go_name(got)));
    return;
  }
  if (close(want.get<double>(), got, tolerance)) return;
  mismatch_ = Mismatch{prefix_ + std::string{field}, want.dump(), nlohmann::json(got).dump()};
}

}  // namespace sluice::vectors
