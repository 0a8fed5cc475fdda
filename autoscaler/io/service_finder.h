#pragma once

#include "autoscaler/io/api.h"
#include "autoscaler/io/peers.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Which replica shows a service: of several that govern a revision of it, the one whose revision
/// is wanted most, so that every replica names the same.
class ServiceFinder {
 public:
  struct Found {
    enum class Where : std::uint8_t { here, peer, nowhere };

    Where where = Where::nowhere;
    Peer peer{};                         ///< of Where::peer
    std::vector<std::string> missing{};  ///< who was asked and did not answer
  };

  using Done = std::function<void(const Found&)>;

  /// Both outlive this.
  ServiceFinder(Api& api, Peers& peers) : api_{api}, peers_{peers} {}

  /// `done` is called once, before this returns where no other replica has to be asked.
  void find(const ServiceName& name, Done done);

 private:
  [[nodiscard]] bool governs_alone(const ServiceName& name) const;

  Api& api_;
  Peers& peers_;
};

/// The path of a service below the API's.
[[nodiscard]] std::string path_of(const ServiceName& name);

/// 503 for what a replica may know that did not answer.
[[nodiscard]] http::ApiProblem replica_missing(const std::string& what,
                                               const std::vector<std::string>& missing);

/// The names of those among `peers` that gave no good answer, and of buckets that no replica holds.
[[nodiscard]] std::vector<std::string> missing_of(
    const PeerList& list, const std::vector<std::optional<PeerAnswer>>& answers);

}  // namespace sluice::autoscaler
