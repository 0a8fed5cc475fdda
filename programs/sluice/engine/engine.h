#pragma once

#include "activator/io/autoscaler_desk.h"
#include "activator/io/front_gateway.h"
#include "activator/io/pod_prober.h"
#include "activator/io/revision_book.h"
#include "autoscaler/core/activators/activator_hub.h"
#include "autoscaler/io/api.h"
#include "autoscaler/io/api_routes.h"
#include "autoscaler/io/fleet.h"
#include "autoscaler/io/fleet_events.h"
#include "autoscaler/io/fleet_view.h"
#include "autoscaler/io/history.h"
#include "autoscaler/io/http_stat_source.h"
#include "autoscaler/io/scale_loop.h"
#include "autoscaler/io/view_api.h"
#include "autoscaler/placement/io/mover.h"
#include "common/api/api_server.h"
#include "common/base/lifetime.h"
#include "common/log/log.h"
#include "common/loop/asio_loop.h"
#include "common/net/server/open_files.h"
#include "common/net/server/proxy_server.h"
#include "common/net/tls/serving_tls.h"
#include "common/scaling/cluster_config.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "platform/process/cgroup.h"
#include "platform/process/child.h"
#include "platform/process/container_guard.h"
#include "platform/process/direct_peer.h"
#include "platform/process/engine_settings.h"
#include "platform/process/memory_pressure.h"
#include "platform/process/paths.h"
#include "platform/process/place_groups.h"
#include "platform/process/ports.h"
#include "platform/process/process_platform.h"
#include "platform/process/replica_events.h"
#include "platform/process/replica_journal.h"
#include "platform/process/sidecar.h"
#include "programs/sluice/engine/api_names.h"
#include "programs/sluice/engine/by_handle.h"
#include "programs/sluice/engine/door_access.h"
#include "programs/sluice/engine/front_figures.h"
#include "programs/sluice/engine/kept_services.h"
#include "programs/sluice/engine/settings_file.h"
#include "programs/sluice/engine/spec_sources.h"
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sluice::local {

/// What an engine is started with, all of it checked.
struct EngineSetup {
  std::string name;
  EngineSettings settings;
  autoscaler::ClusterConfig cluster;
  std::vector<net::Address> doors;        ///< tried in order until one is free
  std::optional<net::TlsFiles> tls = {};  ///< the front door takes TLS connections only
  DoorRules rules = {};                   ///< without a token: open() makes one where it is needed
  std::string memory_source = {};         ///< as MachineMemory::open reads it; empty: the machine's
  std::string config = {};  ///< the file of the settings, absolute; empty: there is none
  std::optional<ServiceSpec> command = {};  ///< the service of the command line
  StartRecord start = {};                   ///< is kept for the next start
  bool resume = false;                      ///< what commands brought runs again
  bool tolerant = false;                    ///< what is wrong in watched files blocks no start
  std::vector<std::string> warnings = {};   ///< of what was found before the engine opens
};

/// What a further `up` has added, for as long as it runs.
struct UpSession {
  std::set<std::string> services = {};  ///< that are in the engine
  std::set<std::string> shown = {};     ///< and those that were
  std::vector<std::string> files = {};  ///< watched for it
  std::vector<std::string> warnings = {};
};

/// One running `sluice up`: an activator behind the front door, an autoscaler, and processes as the
/// platform, joined in one process on one thread; and the API.
class Engine final : public autoscaler::MachineApi,
                     private activator::Router,
                     private activator::FrontOwner,
                     private model::Listener,
                     private RequestsNow {
 public:
  /// `paths` directories exist and the engine's lock is held. `events` outlives the engine.
  Engine(EngineSetup setup, const EnginePaths& paths, const log::Logger& log, bool has_state,
         EventRing& events);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Opens the front door and the API and adds the services of `sources`. Nothing runs yet.
  [[nodiscard]] std::optional<Problem> open(SpecSources& sources);

  /// Serves until shut down; returns the exit code.
  [[nodiscard]] int run();

  [[nodiscard]] const net::Address& door() const { return door_; }

  /// Whether another program had the first of the front doors that were to be tried.
  [[nodiscard]] bool door_moved() const {
    return setup_.doors.size() > 1 && door_.port != setup_.doors.front().port;
  }

  /// Where the front door answers for `host`, as a URL without a path.
  [[nodiscard]] std::string url_of(std::string_view host) const;

  /// The file of the front door's certificate; empty without TLS.
  [[nodiscard]] std::string certificate() const {
    return setup_.tls ? setup_.tls->certificate : "";
  }

  /// The token of this start; empty where nothing needs one. It is in paths.edit_token() too.
  [[nodiscard]] const std::string& token() const { return setup_.rules.token; }

  [[nodiscard]] const DoorRules& rules() const { return setup_.rules; }

  /// Where the dashboard is, for browsers of this machine.
  [[nodiscard]] std::string page_url() const;

  [[nodiscard]] const ProcessPlatform& platform() const { return platform_; }

  /// A service as the banner of an `up` shows it (protocols.md 5, POST /sessions).
  [[nodiscard]] nlohmann::json service_facts(const ProcessService& service) const;

  /// What state and files have brought together, in lines for the banner.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  /// The API's answers, for the live view.
  [[nodiscard]] autoscaler::ServicesApi& services() { return api_; }

  [[nodiscard]] boost::asio::io_context& io() { return io_; }

  ApiResult<std::string> spec_yaml(const std::string& name, Values values) override;
  void apply(const std::string& yaml, const autoscaler::ApplyMode& mode, AppliedDone done) override;
  ApiResult<autoscaler::MachineSession> begin_session(const nlohmann::json& asked) override;
  ApiResult<nlohmann::json> revisions(const std::string& name) override;
  ApiResult<nlohmann::json> set_traffic(const std::string& name, const nlohmann::json& change,
                                        bool write) override;
  ApiResult<nlohmann::json> remove(const std::string& name) override;
  ApiResult<nlohmann::json> check_policies(const std::string& yaml) override;
  ApiResult<autoscaler::ServiceLines> logs(const std::string& name, const LogQuery& query) override;

  bool ready() override { return open_ && !closing_; }

  std::string metrics_text() override;
  void begin_shutdown(std::function<void(const ShutdownResult&)> done) override;

 private:
  activator::Routed route(net::Exchange& exchange) override;
  std::string_view unrouted_fields(std::string_view target) const override;
  void on_poke(activator::RevisionHandle handle, const activator::RevisionStat& stat) override;
  void on_held(activator::RevisionHandle handle) override;
  void on_pod_drained(activator::RevisionHandle handle, const PodId& pod) override;
  void on_held_pod(activator::RevisionHandle handle, const PodId& pod) override;
  void on_pod_refused(activator::RevisionHandle handle, const PodId& pod,
                      activator::PodRefusal refusal) override;
  std::string cold_start(activator::RevisionHandle handle, const PodId& pod, TimePoint arrived,
                         TimePoint dispatched) override;

  void on_served(activator::RevisionHandle handle, const activator::Served& served) override;

  void on_revision(model::Revision revision) override;
  void on_revision_gone(const RevisionId& id) override;

  std::optional<Problem> on_config(const model::StringMap& config) override {
    return fleet_.on_config(config);
  }

  [[nodiscard]] std::int64_t on_pod(const RevisionId& id, const PodId& pod) const override;
  [[nodiscard]] std::uint64_t sent_to(const RevisionId& id, const PodId& pod) const override;
  [[nodiscard]] std::uint64_t moved(const RevisionId& id, const PodId& pod) const;
  void each_front_of(
      const RevisionId& id, const PodId& pod,
      const std::function<void(activator::RevisionHandle, const PodId&)>& visit) const;
  [[nodiscard]] std::int64_t waiting(const RevisionId& id) const override;

  void hold(const net::Address& address, bool held) override {
    front_.hold_pod(PodId{address.text()}, held);
  }

  [[nodiscard]] std::optional<Problem> open_door();
  [[nodiscard]] std::optional<Problem> open_api();
  [[nodiscard]] std::optional<Problem> keep_token();
  void open_groups();
  [[nodiscard]] std::optional<Problem> add_services(const SpecSources::Reading& reading);
  void take_up(const KeptServices::Service& kept);
  void leave_to_file(const std::string& name, const std::filesystem::path& file);
  void keep(const ServiceSpec& spec, BroughtBy by);
  void keep_start();
  void keep_again();
  [[nodiscard]] ApiResult<Applied> put_and_keep(const ServiceSpec& spec, BroughtBy by);
  [[nodiscard]] Result<Applied, Problem> put(const ServiceSpec& spec);
  [[nodiscard]] std::optional<Problem> check_room(const ServiceSpec& spec) const;
  [[nodiscard]] std::optional<Problem> check_hosts(const ServiceSpec& spec) const;
  [[nodiscard]] Result<std::unique_ptr<Replica>, Problem> make_replica(ReplicaOwner& owner,
                                                                       ReplicaPlan plan);

  [[nodiscard]] const ProcessService* find(const std::string& name) const {
    return platform_.find(name);
  }

  [[nodiscard]] ApiProblem no_such_service(const std::string& name) const;
  [[nodiscard]] static ApiProblem in_watched_file(const std::string& name, const std::string& file,
                                                  std::string fix);
  [[nodiscard]] static ApiProblem in_no_watched_file(const std::string& name);
  [[nodiscard]] autoscaler::Surroundings surroundings();
  [[nodiscard]] ProcessMeans means();
  [[nodiscard]] FrontFigures::Parts figures();
  [[nodiscard]] activator::PeerEvents peer_events();
  void pass_on_demand();
  void find_only();
  void drop(const std::string& name);
  void publish_service(const std::string& name, const char* what);
  void reload(bool always);
  void reload_settings(bool always);
  void empty_groups(std::set<std::string> gone);
  void remove_groups();
  void publish_warnings(const std::vector<std::string>& warnings);
  [[nodiscard]] std::vector<Problem> take(const SpecSources::Reading& reading);
  [[nodiscard]] const std::filesystem::path* watched_file(const std::string& name) const;
  struct Planned;   // a service of an apply, and what comes of it
  struct Applying;  // an apply whose services were judged
  [[nodiscard]] std::optional<ApiProblem> check(const ServiceSpec& spec) const;
  [[nodiscard]] Result<ServiceSpec, ApiProblem> spec_in_its_file(const ServiceSpec& spec,
                                                                 const std::string& yaml,
                                                                 const std::string& base) const;
  [[nodiscard]] ApiResult<std::vector<Planned>> plan(const std::string& yaml,
                                                     std::vector<ServiceSpec> specs,
                                                     const autoscaler::ApplyMode& mode);
  [[nodiscard]] nlohmann::json applied_json(const Planned& one) const;
  [[nodiscard]] nlohmann::json carry_out(Planned& one);
  [[nodiscard]] ApiResult<Applying> judge(const std::string& yaml,
                                          const autoscaler::ApplyMode& mode);
  void carry_on(const std::shared_ptr<Applying>& work);
  [[nodiscard]] std::optional<ApiProblem> write_to_file(const ServiceSpec& spec,
                                                        const std::string& yaml);
  /// The traffic of a service whose newest revision gets none of the requests; else empty.
  [[nodiscard]] std::string traffic_elsewhere(const ProcessService& service) const;
  [[nodiscard]] nlohmann::json revision_facts(const ProcessService& service, int number) const;
  [[nodiscard]] std::optional<ApiProblem> divide(const ProcessService& service, Traffic traffic,
                                                 bool write);
  [[nodiscard]] std::optional<ApiProblem> unlike(const nlohmann::json& start) const;
  [[nodiscard]] std::optional<ApiProblem> add_command(const nlohmann::json& asked,
                                                      UpSession& session);
  [[nodiscard]] std::optional<ApiProblem> add_files(const nlohmann::json& asked,
                                                    UpSession& session);
  [[nodiscard]] std::string free_name(const std::string& base) const;
  [[nodiscard]] bool is_taken(const std::string& name) const;
  [[nodiscard]] nlohmann::json session_answer(const std::set<std::string>& names,
                                              const std::vector<std::string>& warnings) const;
  void end_session(std::uint64_t id);
  void on_second();
  void record_traffic();
  void on_signal();
  [[nodiscard]] autoscaler::Mover::Measured measured(const RevisionId& id) const;
  void publish_move(const placement::MoveRecord& record);
  void publish_place(const std::string& name);
  void publish_memory();
  void publish_text(const char* type, const std::string& message, const std::string& fix);
  [[nodiscard]] autoscaler::ApiFacts facts() const;
  void wait_for_requests();
  void stop_replicas();
  void finish_shutdown();
  [[nodiscard]] activator::Routed route_internal(net::Exchange& exchange);
  [[nodiscard]] std::optional<activator::RevisionHandle> revision_at(std::string_view authority,
                                                                     std::string_view path);
  [[nodiscard]] bool host_speaks_h2(std::string_view host) const;
  [[nodiscard]] bool speaks_h2(activator::RevisionHandle handle) const;
  [[nodiscard]] http::OwnResponse no_route(std::string_view host) const;

  EngineSetup setup_;
  const EnginePaths& paths_;  // outlives the engine, as does the log
  const log::Logger& log_;
  EventRing& events_;
  net::OpenFiles files_ = net::raise_open_files();
  boost::asio::io_context io_{1};
  Clock clock_;
  AsioLoop loop_{io_, clock_};
  TimePoint started_;
  std::unique_ptr<autoscaler::History> history_;
  std::set<std::string> warned_;  // of the last reading of the watched files

  // Replicas.
  Reaper reaper_;
  Spawner spawner_{io_, loop_, reaper_};
  PortAllocator ports_;
  ReplicaJournal journal_;
  ContainerGuard guard_{reaper_};
  CgroupTree cgroups_;
  PlaceGroups place_groups_{cgroups_};
  MemoryPressure memory_;
  ReplicaEvents replica_events_;
  HeldProgram sidecar_;
  std::vector<std::string> environment_;
  ProcessMeans means_;
  ProcessPlatform platform_;
  placement::Placement placement_{platform_.site()};

  // The activator.
  net::UpstreamPool door_pool_;  // to the API, for requests that have shown nothing
  net::UpstreamPool own_pool_;   // likewise, for those of the engine's own user
  activator::FrontGateway front_;
  activator::PoolAsker asker_{io_};
  activator::PodProber prober_;
  activator::RevisionBook book_;
  activator::AutoscalerDesk desk_{loop_, front_, prober_, book_};
  std::optional<net::ServingTls> door_tls_;
  net::ProxyServer server_;
  std::string only_;                // host of the service that is alone; empty: there is none
  ByHandle<const bool> speaks_h2_;  // whether its program speaks HTTP/2

  // The autoscaler.
  log::Logger decisions_log_;
  autoscaler::HttpStatSource stats_;
  autoscaler::ScaleLoop scale_loop_;
  autoscaler::ActivatorHub hub_;
  FrontFigures figures_;
  autoscaler::FleetEvents fleet_events_;
  std::mt19937_64 random_;
  autoscaler::Recordings recordings_;
  autoscaler::Surroundings around_;
  autoscaler::Fleet fleet_;
  autoscaler::FleetView view_;
  autoscaler::Mover mover_;
  DirectPeer peer_;

  // The API.
  autoscaler::Api api_;
  autoscaler::ViewApi view_api_;
  std::unique_ptr<autoscaler::ApiRoutes> api_routes_;
  std::unique_ptr<api::ApiServer> api_server_;

  net::Address door_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer closing_timer_;
  SettingsFile settings_file_{setup_.config};
  std::set<std::string> leaving_groups_;  // of the settings in force, and not of the file
  SpecSources* sources_ = nullptr;        // the caller's; outlives the engine
  KeptServices kept_;
  std::set<std::string> unkept_;  // services of this start that could not be kept
  bool start_kept_ = true;        // its record is
  TimePoint keep_due_{};          // of the next try
  std::vector<std::string> notes_;
  std::map<std::string, std::vector<std::string>> session_environments_;  // by service
  std::map<std::uint64_t, UpSession> sessions_;
  std::uint64_t last_session_ = 0;
  std::set<RevisionId> wanted_;  // requests wait for them, and no pod is there
  std::vector<std::function<void(const ShutdownResult&)>> shutdown_done_;
  ShutdownResult shutdown_;
  TimePoint closing_due_{};
  node_agent::Pressure pressure_ = node_agent::Pressure::ok;  // as last published
  std::optional<int> terminal_;                               // of the start: a descriptor
  int signals_seen_ = 0;
  int exit_code_ = 0;
  bool open_ = false;
  bool closing_ = false;
  bool stopping_replicas_ = false;
  bool finished_ = false;
  Lifetime alive_;
};

}  // namespace sluice::local
