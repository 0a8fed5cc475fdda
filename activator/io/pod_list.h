#pragma once

#include "common/base/ids.h"
#include "common/net/address.h"
#include "common/net/upstream/upstream_pool.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::activator {

/// Names a revision of one FrontGateway; never used again after its removal.
enum class RevisionHandle : std::uint64_t {};

/// Its place in a dense numbering: below the most revisions there ever were, given to another one
/// after its removal.
[[nodiscard]] constexpr std::size_t index_of(RevisionHandle revision) {
  return static_cast<std::size_t>(static_cast<std::uint64_t>(revision) & 0xffff'ffffU);
}

/// Why a pod did not take a request that was sent to it.
enum class PodRefusal : std::uint8_t { unreachable, draining, full };

/// A pod that may take requests.
struct FrontPod {
  PodId id;
  net::Address address;
  bool avoid = false;
  bool shared = false;        ///< several are behind it: the next request may find another one
  std::string host = {};      ///< the Host it is sent; empty: its id
  net::UpstreamTls tls = {};  ///< how it is reached; null: in clear text
};

/// The pods that requests may be sent to, one change at a time.
class PodList {
 public:
  virtual ~PodList() = default;

  [[nodiscard]] virtual const RevisionId& id_of(RevisionHandle revision) const = 0;

  /// Requests at once on a pod, for each one from when it is listed next.
  virtual void set_pod_limit(RevisionHandle revision, std::int32_t container_concurrency) = 0;

  /// A pod exists: its connections are kept from now on. It takes no requests yet. The pool lives
  /// until forget_pod.
  virtual net::UpstreamPool& know_pod(RevisionHandle revision, const FrontPod& pod) = 0;

  /// The pool of a known pod.
  [[nodiscard]] virtual net::UpstreamPool* pool_of(RevisionHandle revision, const PodId& pod) = 0;

  /// A known pod takes requests from now on, or is to be avoided from now on, or no longer.
  /// Waiting requests are dispatched at once. `capacity`: its requests at once; 0: as many as any
  /// pod of the revision.
  virtual void list_pod(RevisionHandle revision, const PodId& pod, bool avoid,
                        std::int32_t capacity = 0) = 0;

  /// It takes no new requests; running ones continue.
  virtual void unlist_pod(RevisionHandle revision, const PodId& pod) = 0;

  /// It is gone: its idle connections are closed.
  virtual void forget_pod(RevisionHandle revision, const PodId& pod) = 0;

  /// A listed pod works after all: requests that it refused may try it again.
  virtual void trust_pod(RevisionHandle revision, const PodId& pod) = 0;
};

}  // namespace sluice::activator
