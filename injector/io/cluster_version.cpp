#include "injector/io/cluster_version.h"

#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

#include "injector/patch/json_access.h"

namespace sluice::injector {
namespace {

constexpr Duration kRetry = std::chrono::seconds{2};

}  // namespace

std::optional<long> ClusterVersion::minor_of(std::string_view json) {
  const auto document = parse_json(json);
  if (!document) return std::nullopt;
  const std::string major = text(*document, "major");
  std::string minor = text(*document, "minor");
  minor.erase(std::min(minor.find_first_not_of("0123456789"), minor.size()));
  const auto number = whole_number<long>(minor, 0, 1000);
  if (!number || !whole_number<long>(major, 1, 100)) return std::nullopt;
  return major == "1" ? *number : 99;
}

void ClusterVersion::start() {
  call_ = client_.send({.verb = kube::Verb::get, .path = "/version", .body = {}, .object = {}},
                       [this](const kube::Answer& answer) {
                         minor_ = answer ? minor_of(*answer) : std::nullopt;
                         if (minor_) return;
                         timer_.expires_after(kRetry);
                         timer_.async_wait([this](const boost::system::error_code& ec) {
                           if (!ec) start();
                         });
                       });
}

}  // namespace sluice::injector
