#pragma once

#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/ledger.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::placement {

/// Which services are declared together, and over how many places each application is spread: a
/// picture of one moment, made once for all that is compared then.
class Applications {
 public:
  /// Adds what the service holds. `name` of its application; empty: it is one by itself.
  void add(ServiceId service, std::string_view name, const Ledger& ledger);

  /// 0: none, or the service was not added.
  [[nodiscard]] ApplicationId of(ServiceId service) const;

  /// In how many places the application of the service has replicas, that exist or are reserved.
  [[nodiscard]] std::int64_t places(ServiceId service) const;

 private:
  struct Member {
    ApplicationId application{};
    std::size_t spread = 0;  // its application's in spreads_
  };

  std::unordered_map<ServiceId, Member> members_;
  std::map<std::string, std::size_t, std::less<>> named_;  // in spreads_
  std::vector<std::set<PlaceId>> spreads_;
};

}  // namespace sluice::placement
