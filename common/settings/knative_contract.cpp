#include "common/settings/knative_contract.h"

#include <charconv>
#include <system_error>

namespace sluice::settings {
namespace {

constexpr int kOlderLast = 18;

}  // namespace

std::optional<int> knative_minor(std::string_view version) {
  constexpr std::string_view kMajor = "1.";
  if (version.starts_with('v')) version.remove_prefix(1);
  if (!version.starts_with(kMajor)) return std::nullopt;
  version.remove_prefix(kMajor.size());
  int minor = -1;
  const char* const end = version.data() + version.size();
  const auto [stopped, error] = std::from_chars(version.data(), end, minor);
  if (error != std::errc{} || minor < 0) return std::nullopt;
  const bool whole = stopped == end || *stopped == '.' || *stopped == '-' || *stopped == '+';
  return whole ? std::optional{minor} : std::nullopt;
}

std::optional<KnativeContract> contract_of(std::string_view version) {
  const auto minor = knative_minor(version);
  if (!minor) return std::nullopt;
  return *minor <= kOlderLast ? KnativeContract::older : KnativeContract::current;
}

}  // namespace sluice::settings
