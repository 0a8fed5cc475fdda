#include "queue-proxy/core/original_host.h"

namespace sluice::queue_proxy {

using http::Known;

namespace {

bool is_address(std::string_view host) {
  if (host.starts_with('[')) return true;
  const std::string_view name = host.substr(0, host.find(':'));
  return !name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

OriginalHostRule::OriginalHostRule(OriginalHostFrom from, std::string_view revision,
                                   std::string_view space)
    : from_{from}, private_host_{std::string{revision} + "-private." + std::string{space}} {}

bool OriginalHostRule::trusts(const http::FieldList& fields) const {
  if (from_ == OriginalHostFrom::ingress) return true;
  if (fields.get(Known::k_proxy_request) != "activator") return false;
  const std::string_view host = fields.get(Known::host);
  return is_address(host) || http::equals_ignoring_case(host, private_host_);
}

}  // namespace sluice::queue_proxy
