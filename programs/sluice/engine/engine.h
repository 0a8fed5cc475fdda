#pragma once

#include "activator/core/revision_table.h"
#include "autoscaler/io/api_routes.h"
#include "common/api/api_server.h"
#include "common/loop/asio_loop.h"
#include "common/net/server/open_files.h"
#include "common/net/server/proxy_server.h"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "programs/sluice/engine/door_access.h"
#include "programs/sluice/engine/engine_api.h"
#include "programs/sluice/engine/platform.h"
#include "programs/sluice/engine/service.h"
#include "programs/sluice/engine/spec_sources.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice::local {

/// What an engine is started with, all of it checked.
struct EngineSetup {
  std::string name;
  EngineSettings settings;
  autoscaler::ClusterConfig cluster;
  std::vector<net::Address> doors;  ///< tried in order until one is free
  DoorRules rules = {};             ///< without a token: open() makes one where it is needed
  std::string memory_source = {};   ///< as MachineMemory::open reads it; empty: the machine's
};

/// One running `sluice up`: the front door, the services behind it, the loop that scales them, and
/// the API. Everything runs on one thread.
class Engine final : public EngineApi, public activator::Router, public activator::FrontOwner {
 public:
  /// `paths` directories exist and the engine's lock is held. `events` outlives the engine.
  Engine(EngineSetup setup, const EnginePaths& paths, const log::Logger& log, bool has_state,
         EventRing& events);
  ~Engine() override;

  /// Opens the front door and the API and adds the services of `sources`. Nothing runs yet.
  [[nodiscard]] std::optional<Problem> open(SpecSources& sources);

  /// Serves until shut down; returns the exit code.
  [[nodiscard]] int run();

  [[nodiscard]] const net::Address& door() const { return door_; }

  /// The token of this start; empty where nothing needs one. It stands in paths.edit_token() too.
  [[nodiscard]] const std::string& token() const { return setup_.rules.token; }

  [[nodiscard]] const DoorRules& rules() const { return setup_.rules; }

  [[nodiscard]] std::int32_t replicas() const;

  [[nodiscard]] const std::map<std::string, std::unique_ptr<Service>>& all() const {
    return services_;
  }

  [[nodiscard]] boost::asio::io_context& io() { return io_; }

  nlohmann::json services() override;
  ApiResult<nlohmann::json> service(const std::string& name) override;
  ApiResult<std::string> spec_yaml(const std::string& name, Values values) override;
  ApiResult<nlohmann::json> apply(const std::string& yaml, bool dry_run) override;
  ApiResult<nlohmann::json> remove(const std::string& name) override;
  ApiResult<nlohmann::json> explain(const std::string& name, std::optional<TimePoint> at) override;
  ApiResult<nlohmann::json> history(const std::string& name, TimePoint since) override;
  ApiResult<std::string> logs(const std::string& name, const LogQuery& query) override;
  ApiResult<nlohmann::json> wake(const std::string& name) override;
  ApiResult<nlohmann::json> sleep(const std::string& name) override;
  ApiResult<nlohmann::json> scale(const std::string& name, const ScaleBounds& bounds) override;
  nlohmann::json info() override;

  bool ready() override { return open_ && !closing_; }

  std::string metrics_text() override;
  void begin_shutdown(std::function<void(const ShutdownResult&)> done) override;

  EventRing& events() override { return events_; }

  activator::Routed route(net::Exchange& exchange) override;
  std::string_view unrouted_fields(std::string_view target) const override;
  void on_poke(activator::RevisionHandle revision, const activator::RevisionStat& stat) override;
  void on_held(activator::RevisionHandle revision) override;
  void on_pod_drained(activator::RevisionHandle revision, const PodId& pod) override;
  std::string cold_start(activator::RevisionHandle revision, TimePoint arrived,
                         TimePoint dispatched) override;
  void on_served(activator::RevisionHandle revision, const activator::Served& served) override;

 private:
  [[nodiscard]] std::optional<Problem> open_door();
  [[nodiscard]] std::optional<Problem> open_api();
  [[nodiscard]] std::optional<Problem> keep_token();
  [[nodiscard]] std::optional<Problem> add_all(const std::vector<ServiceSpec>& specs);
  [[nodiscard]] Result<Applied, Problem> put(const ServiceSpec& spec);
  [[nodiscard]] std::optional<Problem> check_room(const ServiceSpec& spec) const;
  [[nodiscard]] std::optional<Problem> check_hosts(const ServiceSpec& spec) const;
  [[nodiscard]] int revisions_before(const std::string& name) const;
  [[nodiscard]] Service* find(const std::string& name);
  [[nodiscard]] std::vector<std::string> names() const;
  void drop(const std::string& name);
  void update_routes();
  void reload(bool always);
  void tick();
  void on_second();
  void on_signal();
  void publish_text(const char* type, const std::string& message, const std::string& fix);
  void wait_for_requests();
  void stop_replicas();
  void finish_shutdown();
  [[nodiscard]] std::string url_of(const std::string& name) const;
  [[nodiscard]] activator::Routed route_internal(net::Exchange& exchange);
  [[nodiscard]] http::OwnResponse no_route(std::string_view host) const;

  EngineSetup setup_;
  const EnginePaths& paths_;  // outlives the engine, as does the log
  const log::Logger& log_;
  EventRing& events_;
  net::OpenFiles files_ = net::raise_open_files();
  boost::asio::io_context io_{1};
  Clock clock_;
  AsioLoop time_{io_, clock_};
  std::unique_ptr<History> history_;
  Reaper reaper_;
  PortAllocator ports_;
  ReplicaJournal journal_;
  CgroupTree cgroups_;
  ScaleLoop scale_loop_;
  MemoryPressure memory_;
  Platform platform_;
  net::UpstreamPool door_pool_;  // to the API, for requests that have shown nothing
  net::UpstreamPool own_pool_;   // likewise, for those of the engine's own user
  activator::FrontGateway front_;
  std::map<std::string, std::unique_ptr<Service>> services_;
  std::vector<std::unique_ptr<Service>> gone_;  // removed and still draining
  activator::RevisionTable table_;
  std::vector<Service*> targets_;  // what the table's indices mean
  net::ProxyServer server_;
  EngineServices api_services_{*this};
  std::unique_ptr<autoscaler::ApiRoutes> api_routes_;
  std::unique_ptr<api::ApiServer> api_;
  net::Address door_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer ticker_;
  boost::asio::steady_timer closing_timer_;
  TimePoint started_;
  TimePoint next_tick_;  // whole seconds: reports come before the ticks that fall into their second
  SpecSources* sources_ = nullptr;  // the caller's; outlives the engine
  std::vector<std::function<void(const ShutdownResult&)>> shutdown_done_;
  ShutdownResult shutdown_;
  TimePoint closing_due_{};
  int signals_seen_ = 0;
  int exit_code_ = 0;
  bool open_ = false;
  bool closing_ = false;
  bool stopping_replicas_ = false;
  bool finished_ = false;
};

}  // namespace sluice::local
