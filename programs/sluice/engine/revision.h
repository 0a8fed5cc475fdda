#pragma once

#include "autoscaler/core/decision/metric_health.h"
#include "autoscaler/core/decision/multi_scaler.h"
#include "autoscaler/io/http_stat_source.h"
#include "autoscaler/io/stat_scraper.h"
#include "common/base/lifetime.h"

#include <boost/asio/steady_timer.hpp>

#include "platform/process/backoff.h"
#include "platform/process/memory_pressure.h"
#include "platform/process/replica.h"
#include "platform/process/service_log.h"
#include "platform/process/service_spec.h"
#include "programs/sluice/engine/documents.h"
#include "programs/sluice/engine/platform.h"
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::local {

/// Hears what a revision's service must act on.
class RevisionOwner {
 public:
  virtual ~RevisionOwner() = default;
  virtual void on_revision_ready(Revision& revision) = 0;    ///< its first replica is ready
  virtual void on_revision_failing(Revision& revision) = 0;  ///< three starts failed
  virtual void on_revision_empty(Revision& revision) = 0;    ///< its last replica is gone
  virtual void on_revision_changed(Revision& revision) = 0;  ///< something a status shows
  virtual void on_served(const activator::Served& served) = 0;

  /// As activator::FrontOwner::cold_start.
  [[nodiscard]] virtual std::string cold_start(Revision& revision, TimePoint arrived,
                                               TimePoint dispatched) = 0;
};

/// One revision of a service: its scaling, its replicas, and what joins them. It is the platform's
/// two faces at once: it says which pods exist and are ready, and carries out "N replicas".
class Revision final : public ReplicaOwner, private ScaledRevision, private MemoryTenant {
 public:
  struct Facts {
    std::string name;  ///< app-00001
    ServiceSpec spec;
    autoscaler::ScalingSpec scaling;
    std::filesystem::path program;
    std::optional<std::int32_t> replicas;  ///< to begin with; absent: the initial scale
    std::int32_t first_number = 1;
  };

  /// `platform`, `owner` and `log` outlive the revision.
  Revision(Platform& platform, RevisionOwner& owner, ServiceLog& log, Facts facts);
  ~Revision() override;

  [[nodiscard]] const std::string& name() const override { return facts_.name; }

  [[nodiscard]] const ServiceSpec& spec() const override { return facts_.spec; }

  [[nodiscard]] activator::RevisionHandle handle() const { return handle_; }

  [[nodiscard]] RevisionOwner& owner() { return owner_; }

  [[nodiscard]] autoscaler::RevisionScaler& scaler() { return *scaler_; }

  /// The last decision, with what of it is granted now and why not all.
  [[nodiscard]] autoscaler::DecisionRecord last_decision() const;

  /// Applies changed bounds and scaling keys, and what else makes no new revision.
  void update(const ServiceSpec& spec, const autoscaler::ScalingSpec& scaling);

  /// Called each second.
  void on_second();

  /// A request waits and nothing runs, not even a start: something must be started.
  void on_demand();

  void evaluate(autoscaler::Trigger trigger);

  /// Evaluates nothing any more; every replica is drained and stopped.
  void retire();

  /// Stops (or with `kill` kills) every replica now, whatever it serves.
  void stop_all(bool kill);

  void on_pod_drained(const PodId& pod);

  /// The cold start that a held request ends: fills in what the platform knows.
  [[nodiscard]] std::optional<ColdStart> cold_start_for(TimePoint arrived, TimePoint dispatched);

  struct Counts {
    std::int32_t ready = 0;      ///< throttled ones among them
    std::int32_t throttled = 0;  ///< ready, but no capacity
    std::int32_t starting = 0;
    std::int32_t draining = 0;
  };

  [[nodiscard]] Counts counts() const;
  /// Replicas that shall run, as far as the engine has places and memory is not short.
  [[nodiscard]] std::int32_t wanted() const;

  [[nodiscard]] bool empty() const { return instances_.empty(); }

  [[nodiscard]] bool failing() const { return backoff_.failing(); }

  /// Why the last start failed; empty when none did.
  [[nodiscard]] const std::string& last_failure() const { return last_failure_; }

  [[nodiscard]] bool retired() const { return retired_; }

  [[nodiscard]] nlohmann::json replicas_json() const;

  void on_ready(Replica& replica) override;
  void on_start_failed(Replica& replica, const ReplicaEnd& end) override;
  void on_exited_after_ready(Replica& replica, const ReplicaEnd& end) override;
  void on_stopped(Replica& replica) override;
  void on_output(Replica& replica, OutputSource source, std::string_view line) override;
  void on_warning(Replica& replica, const std::string& text) override;

 private:
  struct Instance;

  void on_due(bool evaluate) override;
  void on_wanted() override;
  [[nodiscard]] Instance& instance_of(const Replica& replica);
  [[nodiscard]] std::int32_t needed(std::int32_t want) const;
  void reconcile();
  [[nodiscard]] std::vector<TenantReplica> replicas() const override;
  void on_throttled(const std::string& replica, bool throttled, const std::string& why) override;
  [[nodiscard]] bool on_sacrifice(const std::string& replica, bool emergency,
                                  const std::string& why) override;
  void on_room() override;
  [[nodiscard]] bool has_room();
  void note_shortage(std::optional<std::string> text);
  void tell_grant();
  void limit(autoscaler::DecisionRecord& record) const;
  void publish_limit();
  void start_some(std::int32_t count);
  bool start_one();
  void stop_some(std::int32_t count);
  void drain(Instance& instance, Duration longest);
  void stop(Instance& instance);
  void retry_at(TimePoint when);
  void tell_front();
  void scrape();
  void scrape_ended(const autoscaler::ScrapeResult& result);
  [[nodiscard]] std::int32_t free_number() const;
  [[nodiscard]] std::string replica_id(std::int32_t number) const;
  [[nodiscard]] nlohmann::json replica_event(const Replica& replica, const char* state) const;
  void publish_replica(const Replica& replica, const char* state, const ReplicaEnd* end);
  void publish_decision(const autoscaler::DecisionRecord& record);
  void publish_throttled(const Replica& replica, bool throttled, const std::string& why);
  void publish_leaving(const Replica& replica, const std::string& why);
  void warn(const std::string& message, const std::string& fix);

  Platform& platform_;
  RevisionOwner& owner_;
  ServiceLog& log_;
  Facts facts_;
  autoscaler::ScalerHandle scaler_handle_;
  autoscaler::RevisionScaler* scaler_;  // the loop's, and our own once retired
  std::unique_ptr<autoscaler::RevisionScaler> retired_scaler_;
  activator::RevisionHandle handle_;
  StartBackoff backoff_;
  std::vector<std::unique_ptr<Instance>> instances_;
  boost::asio::steady_timer retry_timer_;

  autoscaler::MetricHealth scrape_health_;
  std::mt19937_64 random_;
  autoscaler::HttpStatSource stats_;
  autoscaler::StatScraper scraper_;

  std::optional<TimePoint> noticed_;  // when the present start from zero was noticed
  std::string last_failure_;

  // Since when the start gate says no, and in which words.
  struct Shortage {
    TimePoint since;
    std::string text;
  };

  std::optional<Shortage> shortage_;
  bool asks_for_room_ = false;  // at the next look
  bool trimmed_ = false;        // fewer are wanted than the decision says, while memory is short
  bool told_limit_ = false;     // the last decision that was published was not granted whole
  std::int32_t told_granted_ = -1;  // in it
  // To the front door: in which words (empty: no limit), for how many, and whether there is hope.
  std::string told_words_;
  std::int32_t told_live_ = 0;
  bool told_hopeless_ = false;
  bool retired_ = false;
  bool stopping_ = false;
  bool demand_posted_ = false;
  Lifetime alive_;
};

}  // namespace sluice::local
