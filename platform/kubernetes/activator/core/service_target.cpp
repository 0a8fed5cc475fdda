#include "platform/kubernetes/activator/core/service_target.h"

#include "common/values/whole_number.h"

namespace sluice::activator {
namespace {

constexpr std::string_view kServices = "svc";

// Up to the next dot, which goes with it.
std::string_view take_label(std::string_view& name) {
  const std::string_view label = name.substr(0, name.find('.'));
  name.remove_prefix(label.size() < name.size() ? label.size() + 1 : label.size());
  return label;
}

// In the letters of the cluster's names.
bool is_label(std::string_view label) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return !label.empty() && label.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace

std::optional<ServiceTarget> service_target(std::string_view target) {
  const std::size_t colon = target.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = whole_number<std::uint16_t>(target.substr(colon + 1), 1);
  if (!port) return std::nullopt;
  ServiceTarget found;
  found.port = *port;
  std::string_view rest = target.substr(0, colon);
  found.host = rest;
  found.service = take_label(rest);
  found.space = take_label(rest);
  const bool is_service =
      is_label(found.service) && is_label(found.space) && take_label(rest) == kServices;
  return is_service ? std::optional{found} : std::nullopt;
}

}  // namespace sluice::activator
