#pragma once

#include "autoscaler/core/nodes/throttled_pods.h"
#include "autoscaler/io/platform.h"
#include "common/base/lifetime.h"
#include "common/base/result.h"
#include "common/loop/loop.h"
#include "common/model/revision.h"
#include "common/scaling/cluster_config.h"
#include "common/scaling/scaling_spec.h"

#include "platform/process/kept_revisions.h"
#include "platform/process/machine_site.h"
#include "platform/process/process_revision.h"
#include "platform/process/revision_numbers.h"
#include "platform/process/service_log.h"
#include "platform/process/service_spec.h"
#include "platform/process/traffic.h"
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// What an accepted spec changed.
enum class Applied { created, configured, unchanged };

/// The word of the API for it.
[[nodiscard]] const char* name(Applied applied);

/// A revision that should serve, or share in it, and has no replica that is ready, or fewer than it
/// wants, or one whose replicas do not stay.
struct NotReady {
  std::string revision;
  std::string_view state;  ///< a word of protocols.md 5; of static lifetime
  Cause cause;
};

/// One service: its spec, the latest revision that is ready, the one that is to take its place,
/// others that get requests, and those that drain.
struct ProcessService {
  ServiceSpec spec;
  bool removed = false;
  std::unique_ptr<ServiceLog> log{};
  std::unique_ptr<ProcessRevision> current{};
  /// The revision whose place `current` took; empty: none, or it has a share itself.
  std::string took_place_of{};
  std::unique_ptr<ProcessRevision> next{};
  std::vector<std::unique_ptr<ProcessRevision>> retiring{};  ///< the newest last
  std::vector<std::unique_ptr<ProcessRevision>> pinned{};    ///< beside `current`, with a share
  Traffic traffic{};                   ///< in force; empty: all of it to `current`
  RevisionShares shares{};             ///< what that comes to
  std::optional<NotReady> given_up{};  ///< the revision of `spec`, until a spec is given again

  /// The revisions that are amiss: the latest ones first, then those that are pinned.
  [[nodiscard]] std::vector<NotReady> not_ready() const;

  /// The revisions that answer requests while `other` does not, by the traffic in force; none when
  /// `other` is one of those that do.
  [[nodiscard]] std::vector<std::string> serving_beside(std::string_view other) const;

  /// The revision of the present spec: the current one, or the one about to take its place.
  [[nodiscard]] const ProcessRevision& newest() const { return next ? *next : *current; }

  /// Of the requests, in percent.
  [[nodiscard]] std::int32_t percent_of(const ProcessRevision& revision) const {
    const auto share = shares.find(revision.name());
    return share == shares.end() ? 0 : share->second.percent;
  }

  [[nodiscard]] bool is_pinned(const ProcessRevision& revision) const {
    return is_pinned(revision.name());
  }

  [[nodiscard]] bool is_pinned(std::string_view revision) const;

  /// Calls `visit` for each of its revisions, the current one first.
  template <class Visit>
  void each(Visit visit) const {
    if (current) visit(*current);
    if (next) visit(*next);
    for (const auto& revision : pinned) visit(*revision);
    for (const auto& revision : retiring) visit(*revision);
  }
};

/// Services as supervised processes of this machine: what `sluice up` runs (one-machine.md 5).
class ProcessPlatform final : public autoscaler::Platform,
                              public autoscaler::ThrottledPods,
                              public ProcessRevisionOwner {
 public:
  /// All of `means` and `cluster` outlive this. Logs are kept in `logs`.
  ProcessPlatform(ProcessMeans& means, const autoscaler::ClusterConfig& cluster,
                  std::filesystem::path logs, RevisionNumbers numbers = {},
                  KeptRevisions kept = {});
  ~ProcessPlatform() override;
  ProcessPlatform(const ProcessPlatform&) = delete;
  ProcessPlatform& operator=(const ProcessPlatform&) = delete;

  // --- services ---

  /// What put() would say of the spec, without doing anything.
  [[nodiscard]] Result<autoscaler::ScalingSpec, Problem> check(const ServiceSpec& spec) const;

  /// Accepts a spec: the first makes a revision (RevisionNumbers); the same template changes what
  /// is live; another template begins a new revision (one-machine.md 5.7). Nothing changes on a
  /// problem.
  [[nodiscard]] Result<Applied, Problem> put(const ServiceSpec& spec);

  /// What choose_traffic() would say, without doing anything.
  [[nodiscard]] std::optional<Problem> check_traffic_of(const std::string& name,
                                                        const Traffic& traffic) const;

  /// Divides the requests of a service whose spec says nothing of it, until a spec does. Nothing
  /// changes on a problem.
  [[nodiscard]] std::optional<Problem> choose_traffic(const std::string& name, Traffic traffic);

  /// What divides the requests of a service of that spec once its revisions are ready: the spec,
  /// else what was chosen; empty: nothing.
  [[nodiscard]] const Traffic& wanted_traffic(const ServiceSpec& spec) const;

  /// Of revisions that are kept, the specs and when they were made.
  [[nodiscard]] const KeptRevisions& kept() const { return kept_; }

  /// The service gets no requests from now on, and its replicas drain. False: there is none.
  bool remove(const std::string& name);

  /// Those that are not removed, by name.
  [[nodiscard]] const std::map<std::string, std::unique_ptr<ProcessService>>& services() const {
    return services_;
  }

  [[nodiscard]] const ProcessService* find(const std::string& name) const;

  /// Of that name, in any state; null: none.
  [[nodiscard]] ProcessRevision* revision(const RevisionId& id) const;

  /// The service that the revision is of; null: it is not known.
  [[nodiscard]] const ProcessService* service_of(const RevisionId& id) const;

  /// Replicas that exist, those that drain among them.
  [[nodiscard]] std::int32_t replicas() const { return means_.replicas; }

  /// Called each second.
  void tick();

  /// Stops (or with `kill` kills) everything now, whatever it serves. Nothing starts any more.
  void stop_all(bool kill);

  /// The longest time that a replica may take to end after SIGTERM.
  [[nodiscard]] Duration longest_grace() const;

  // --- the engine's way to the world ---

  [[nodiscard]] std::optional<Problem> open(model::Listener& listener, TimePoint now,
                                            Settled settled) override;
  [[nodiscard]] std::optional<autoscaler::ScaleOrder> last(const RevisionId& revision) override;
  void apply(const RevisionId& revision, const autoscaler::ScaleOrder& order) override;

  void forget(const RevisionId& /*revision*/) override {}

  void probe(const RevisionId& revision, std::function<void(bool ok)> done) override;

  [[nodiscard]] std::vector<std::string> wrong() const override { return {}; }

  [[nodiscard]] std::vector<autoscaler::HealthCheck> checks() const override { return {}; }

  // --- placement ---

  /// Where its replicas run.
  [[nodiscard]] MachineSite& site() { return site_; }

  [[nodiscard]] bool throttled(const std::string& space, const std::string& pod,
                               const std::string& node) const override;

  // --- what revisions say ---

  void on_changed(ProcessRevision& revision) override;
  void on_ready(ProcessRevision& revision) override;
  void on_failing(ProcessRevision& revision) override;
  void on_pace() override;
  [[nodiscard]] bool waits_for_others(const ProcessRevision& revision) const override;

 private:
  struct Checked {
    autoscaler::ScalingSpec scaling;
    std::filesystem::path program;
  };

  [[nodiscard]] Result<Checked, Problem> judge(const ServiceSpec& spec) const;
  [[nodiscard]] std::unique_ptr<ProcessRevision> make_revision(ProcessService& service, int number,
                                                               const Checked& checked,
                                                               std::optional<std::int32_t> initial);
  [[nodiscard]] std::unique_ptr<ProcessRevision> revive(ProcessService& service,
                                                        const std::string& revision);
  [[nodiscard]] std::optional<Problem> check_it_starts(const ProcessService& service,
                                                       const Traffic& traffic) const;
  [[nodiscard]] std::optional<Problem> check_targets(const ServiceSpec& spec,
                                                     const Traffic& traffic) const;
  [[nodiscard]] ProcessService& owner_of(const ProcessRevision& revision) const;
  [[nodiscard]] int begin_first(ProcessService& service, const Checked& checked);
  void begin_next(ProcessService& service, const Checked& checked, const std::string& given_up);
  void settle(ProcessService& service);
  [[nodiscard]] bool pin(ProcessService& service, const std::string& revision);
  void unpin(ProcessService& service);
  void forget_unused(const ProcessService& service);
  [[nodiscard]] ProcessRevision& greatest_share(const ProcessService& service) const;
  void retire_next(ProcessService& service);
  void take_over(ProcessService& service);
  void share_out(ProcessService& service);
  static void take_share(const ProcessService& service, const ProcessRevision& revision,
                         model::Revision& model);
  void report(ProcessService& service, ProcessRevision& revision);
  void tell(ProcessService& service, const ProcessRevision& revision,
            const std::string& replaces = {});
  [[nodiscard]] std::string name_beside(const ProcessService& service,
                                        const ProcessRevision& revision) const;
  void report_namesake(const std::string& name);
  void report_soon(const std::string& revision);
  void flush();
  void give_turn();
  void bury(ProcessService& service);

  ProcessMeans& means_;
  MachineSite site_;
  const autoscaler::ClusterConfig& cluster_;
  std::filesystem::path logs_;
  RevisionNumbers numbers_;
  KeptRevisions kept_;
  model::Listener* listener_ = nullptr;  // of open()
  FailureNotice full_disk_;              // shared by the logs
  std::map<std::string, std::unique_ptr<ProcessService>> services_;
  std::vector<std::unique_ptr<ProcessService>> removed_;  // and still draining

  struct Known {
    ProcessRevision* revision = nullptr;
    ProcessService* service = nullptr;
  };

  std::map<std::string, Known> revisions_;  // by name
  std::set<std::string> changed_;           // revisions to be reported
  bool flush_posted_ = false;
  std::unique_ptr<Timer> turn_timer_;
  bool turn_posted_ = false;
  bool fixed_port_changed_ = false;  // since the last flush, in a revision with a fixed port
  Lifetime alive_;
};

}  // namespace sluice::local
