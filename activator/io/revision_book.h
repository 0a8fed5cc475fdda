#pragma once

#include "activator/core/host_table.h"
#include "activator/core/revision_name.h"
#include "activator/io/front_gateway.h"
#include "activator/io/pod_prober.h"
#include "activator/io/revision_names.h"
#include "common/log/log.h"
#include "common/model/revision.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::activator {

struct BookSpec {
  std::string cluster_domain;
  std::int32_t queue_depth = 10'000;
  Duration queue_wait{0};
  std::string pod_ip{};   ///< of this activator
  bool foresees = false;  ///< a Sluice autoscaler reports how revisions grow
  /// For requests that wait for a revision when it goes; absent: as Knative answers.
  std::optional<http::OwnResponse> gone{};
};

/// All revisions the platform reports: keeps gateway and prober in step with them, and finds the
/// one a request names, by headers, by the host's form, or by a host of its own (activator.md 4).
class RevisionBook final : public Router, public model::Listener {
 public:
  /// Called for a new revision, after gateway and prober have it.
  using Added = std::function<void(const RevisionId&, RevisionHandle)>;

  /// Called for one that is about to go.
  using Removed = std::function<void(RevisionHandle)>;

  /// `front`, `prober` and `log` outlive the book's use.
  RevisionBook(FrontGateway& front, PodProber& prober, const log::Logger& log, BookSpec spec);

  void on_added(Added added) { added_ = std::move(added); }

  void on_removed(Removed removed) { removed_ = std::move(removed); }

  /// The addresses in force of this activator, by which it finds itself among all.
  void set_own(std::vector<net::Address> own);

  [[nodiscard]] std::optional<RevisionHandle> find(const RevisionId& id) const;

  /// The one whose host and path prefix a Host header and the path of a target follow, for one
  /// request: of several that share the host, the one whose turn it is.
  [[nodiscard]] std::optional<RevisionHandle> choose(std::string_view authority,
                                                     std::string_view path);

  /// By which hosts and paths revisions are found.
  [[nodiscard]] const HostTable& hosts() const { return hosts_; }

  /// Null for one that is gone, of which requests may still run.
  [[nodiscard]] const RevisionNames* names(RevisionHandle revision) const;

  [[nodiscard]] std::size_t size() const { return by_id_.size(); }

  [[nodiscard]] Routed route(net::Exchange& exchange) override;

  /// Of a revision of Knative's: those alone have a Configuration.
  [[nodiscard]] bool behind_ingress(RevisionHandle revision) const override;

  void on_revision(model::Revision revision) override;
  void on_revision_gone(const RevisionId& id) override;
  void on_activators(std::vector<net::Address> activators) override;

 private:
  // A host, and which part of its requests; absent: all.
  struct Claim {
    model::HostRule rule;
    std::optional<std::int32_t> percent;

    friend bool operator==(const Claim&, const Claim&) = default;
  };

  struct Entry {
    const RevisionId* id = nullptr;  // the key in by_id_
    RevisionHandle handle{};
    std::int32_t container_concurrency = 0;
    std::vector<Claim> claims;
    std::string replaced;  // whose place it has taken; empty: none
    RevisionNames names;
    std::shared_ptr<const ignore::Rules> ignore;
  };

  // Looked up by views: a request allocates nothing to be routed.
  struct Name {
    std::string_view space;
    std::string_view name;
  };

  struct HashId {
    using is_transparent = void;

    std::size_t operator()(const RevisionId& id) const { return (*this)(Name{id.space, id.name}); }

    std::size_t operator()(const Name& name) const {
      return std::hash<std::string_view>{}(name.name) * 31 +
             std::hash<std::string_view>{}(name.space);
    }
  };

  struct SameId {
    using is_transparent = void;

    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return a.name == b.name && a.space == b.space;
    }
  };

  [[nodiscard]] Entry* takes_over(Entry& entry, const model::Revision& file);
  [[nodiscard]] const Entry* named(const RevisionName& name) const;
  [[nodiscard]] static std::vector<Claim> claims_of(const model::Revision& file);
  void claim(Entry& entry, std::vector<Claim> claims);
  void tell_pods(RevisionHandle handle, const model::Revision& file);
  void ignore(Entry& entry, const model::Revision& file);
  void place(const Entry& entry, const std::vector<std::string>& activators);
  void place();

  FrontGateway& front_;
  PodProber& prober_;
  const log::Logger& log_;
  BookSpec spec_;
  Added added_;
  Removed removed_;
  std::unordered_map<RevisionId, std::unique_ptr<Entry>, HashId, SameId> by_id_;
  HostTable hosts_;
  std::vector<Entry*> by_index_;
  std::vector<net::Address> own_;
  std::vector<net::Address> activators_;
};

}  // namespace sluice::activator
