#pragma once

#include "common/base/lifetime.h"

#include <nlohmann/json.hpp>

#include "programs/sluice/engine/callers.h"
#include "programs/sluice/engine/engine_api.h"
#include "programs/sluice/engine/latency.h"
#include "programs/sluice/engine/revision.h"
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace sluice::local {

/// What an accepted spec changed.
enum class Applied { created, configured, unchanged };

/// The word of the API for it.
[[nodiscard]] const char* name(Applied applied);

/// One service: its spec, the revision that serves, the one that is to take over, and those that
/// drain.
class Service final : public RevisionOwner {
 public:
  /// Called when routes or the set of revisions have changed.
  using Changed = std::function<void()>;

  /// Its first revision has the number after `revisions`: what is heard of a revision is told apart
  /// by its name, so a service that follows one that still drains must not begin at 1 again.
  Service(Platform& platform, Changed changed, std::string url, int revisions = 0);
  ~Service() override;

  /// Accepts a spec: the first makes revision 1; the same template changes what is live; another
  /// template begins a new revision (one-machine.md 5.7). Nothing changes on a problem.
  [[nodiscard]] Result<Applied, Problem> apply(const ServiceSpec& spec);

  /// What apply would say of the spec, without doing anything.
  [[nodiscard]] Result<autoscaler::ScalingSpec, Problem> check(const ServiceSpec& spec) const;

  void on_second();

  /// Every replica drains; `gone` once nothing is left.
  void remove(std::function<void()> gone);
  void stop_all(bool kill);

  void wake();
  void sleep();
  void set_bounds(const ScaleBounds& bounds);

  [[nodiscard]] const ServiceSpec& spec() const { return spec_; }

  [[nodiscard]] Revision& current() { return *current_; }

  /// The revision of the present spec: the current one, or the one about to take over.
  [[nodiscard]] const Revision& newest() const { return next_ ? *next_ : *current_; }

  /// The number of its last revision; 0 before the first.
  [[nodiscard]] int revisions() const { return revisions_; }

  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::int32_t replicas() const;

  /// The status object of protocols.md 5. Without `replicas` it is cheap enough for every event.
  [[nodiscard]] nlohmann::json status(bool with_replicas = true) const;
  /// What `explain` answers of the present.
  [[nodiscard]] nlohmann::json explain() const;

  /// A service event with what happened, such as "added"; absent for a change of state.
  void publish(const char* what);

  void on_revision_ready(Revision& revision) override;
  void on_revision_failing(Revision& revision) override;
  void on_revision_empty(Revision& revision) override;
  void on_revision_changed(Revision& revision) override;
  void on_served(const activator::Served& served) override;
  [[nodiscard]] std::string cold_start(Revision& revision, TimePoint arrived,
                                       TimePoint dispatched) override;

 private:
  [[nodiscard]] Result<std::filesystem::path, Problem> program_of(const ServiceSpec& spec) const;
  [[nodiscard]] std::unique_ptr<Revision> make_revision(const ServiceSpec& spec,
                                                        const autoscaler::ScalingSpec& scaling,
                                                        std::filesystem::path program,
                                                        std::optional<std::int32_t> replicas);
  void take_over();
  void bury();
  [[nodiscard]] const char* state() const;

  Platform& platform_;  // the engine's; outlives its services
  Changed changed_;
  std::string url_;
  ServiceSpec spec_;
  std::unique_ptr<ServiceLog> log_;
  std::unique_ptr<Revision> current_;
  std::unique_ptr<Revision> next_;
  std::list<std::unique_ptr<Revision>> retiring_;
  std::function<void()> gone_;
  Callers callers_;
  LatencyWindow latency_;
  std::optional<nlohmann::json> last_cold_start_;
  TimePoint cold_start_told_{};  // creation of the replica whose cold start was published last
  std::string last_state_;
  bool held_told_ = false;
  int revisions_;
  bool burying_ = false;
  bool stopping_ = false;
  Lifetime alive_;
};

}  // namespace sluice::local
