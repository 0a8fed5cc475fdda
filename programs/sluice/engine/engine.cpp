#include "programs/sluice/engine/engine.h"

#include "common/net/server/open_files.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/sidecar.h"
#include "platform/process/unique_fd.h"
#include "programs/sluice/engine/documents.h"
#include "programs/sluice/engine/init_notify.h"
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

extern char** environ;

namespace sluice::local {
namespace {

// Each has two revisions that scale at most, so the scale loop has room for all of them.
constexpr std::size_t kServicesMax = 10'000;
static_assert(2 * kServicesMax <= autoscaler::MultiScaler::kRevisionsMax);

constexpr Duration kSecond = std::chrono::seconds{1};
constexpr Duration kClosingStep = std::chrono::milliseconds{20};
// The caller of `down` still has to read its answer.
constexpr Duration kLastWords = std::chrono::milliseconds{100};

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

// Of the front door. An eighth of the queue's memory beside it is for heads that are being read.
net::ServerLimits limits_of(const EngineSettings& settings, const net::OpenFiles& files) {
  net::ServerLimits limits;
  limits.head_bytes_max = static_cast<std::size_t>(settings.limits.header_bytes);
  limits.open_heads_bytes_max =
      std::max(static_cast<std::size_t>(settings.queue.bytes) / 8, limits.head_bytes_max);
  limits.connections_max =
      net::connections_within(files.now, static_cast<std::size_t>(settings.limits.connections));
  limits.write_timeout = settings.limits.write_timeout;
  return limits;
}

activator::QueueBudgetSpec budget_of(const EngineSettings& settings, const net::OpenFiles& files) {
  const std::size_t connections = limits_of(settings, files).connections_max;
  return activator::within_connections({settings.queue.total, settings.queue.bytes},
                                       static_cast<std::int64_t>(connections));
}

net::Address socket_at(const std::filesystem::path& path) {
  net::Address address;
  address.path = path.string();
  return address;
}

// Of the places that the API has for each proof (ApiServerLimits) most stay free of idle ones.
net::UpstreamLimits api_limits() {
  net::UpstreamLimits limits;
  limits.idle_max = 16;
  limits.h1_only = true;
  return limits;
}

std::unique_ptr<History> open_history(const EnginePaths& paths, bool has_state,
                                      const log::Logger& log) {
  if (!has_state) return nullptr;
  HistoryOptions options;
  options.file = paths.history_db();
  return std::make_unique<History>(options, [&log](const Problem& problem) {
    log.write(log::Severity::warning, problem.text());
  });
}

}  // namespace

Engine::Engine(EngineSetup setup, const EnginePaths& paths, const log::Logger& log, bool has_state,
               EventRing& events)
    : setup_{std::move(setup)},
      paths_{paths},
      log_{log},
      events_{events},
      history_{open_history(paths, has_state, log)},
      reaper_{io_},
      ports_{paths.runtime_dir().parent_path() / "ports", clock_},
      journal_{paths.replicas_json()},
      scale_loop_{io_, clock_},
      memory_{io_, clock_, log, cgroups_},
      platform_{io_,     clock_,      log_,    setup_.settings, setup_.cluster,
                paths_,  reaper_,     ports_,  journal_,        cgroups_,
                events_, scale_loop_, memory_, history_.get(),  nullptr},
      door_pool_{io_, socket_at(paths.door_socket()), api_limits()},
      own_pool_{io_, socket_at(paths.own_door_socket()), api_limits()},
      front_{io_, time_, *this, *this, {.queues = budget_of(setup_.settings, files_)}},
      server_{io_, clock_, front_, limits_of(setup_.settings, files_)},
      signals_{io_},
      ticker_{io_},
      closing_timer_{io_},
      started_{clock_.now()},
      next_tick_{std::chrono::floor<std::chrono::seconds>(started_) + kSecond} {
  platform_.front = &front_;
  platform_.environment = own_environment();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) signals_.add(number);
  std::signal(SIGPIPE, SIG_IGN);
}

Engine::~Engine() {
  api_.reset();
  server_.close_all();
  std::error_code ignored;
  std::filesystem::remove(paths_.edit_token(), ignored);
}

std::optional<Problem> Engine::open(SpecSources& sources) {
  sources_ = &sources;
  auto sidecar = find_sidecar();
  if (!sidecar) return sidecar.error();
  platform_.sidecar = *sidecar;
  platform_.open_files = files_.before;
  become_subreaper();
  for (const std::string& id : journal_.kill_leftovers()) {
    publish_text("warning", "killed " + id + ", left behind by an engine that crashed", "");
  }
  cgroups_ = CgroupTree::detect(setup_.name);
  if (cgroups_.kind() == CgroupKind::v1) cgroups_.clear();
  if (auto problem = memory_.open(setup_.memory_source,
                                  [this](const std::string& what, const std::string& fix) {
                                    publish_text("warning", what, fix);
                                  })) {
    return problem;
  }
  auto reading = sources.read();
  if (!reading) return reading.error().front();
  if (auto problem = open_door()) return problem;
  for (const std::string& warning : reading->warnings) publish_text("warning", warning, "");
  if (auto problem = add_all(reading->services)) return problem;
  if (auto problem = open_api()) return problem;
  open_ = true;
  return std::nullopt;
}

std::optional<Problem> Engine::open_api() {
  if (auto problem = keep_token()) return problem;
  // Who comes through the front door was judged there.
  api_routes_ = std::make_unique<autoscaler::ApiRoutes>(
      clock_, api_services_, this, [](const api::ApiRequest&) { return std::nullopt; });
  api_ = std::make_unique<api::ApiServer>(io_, *api_routes_);
  const std::pair<std::filesystem::path, Proof> entrances[] = {
      {paths_.api_socket(), Proof::socket},
      {paths_.own_door_socket(), Proof::own_user},
      {paths_.door_socket(), Proof::none}};
  for (const auto& [path, proof] : entrances) {
    if (const auto bound = api_->listen(socket_at(path), proof); !bound) return bound.error();
  }
  return std::nullopt;
}

// In a file of the engine's user alone, since what is printed may end in a log.
std::optional<Problem> Engine::keep_token() {
  std::error_code ignored;
  std::filesystem::remove(paths_.edit_token(), ignored);
  if (!setup_.rules.allow_edit && !setup_.rules.opened()) return std::nullopt;
  const std::string token = make_token();
  const UniqueFd file(
      ::open(paths_.edit_token().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string line = "Sluice-Edit: " + token + "\n";  // as `curl -H @FILE` wants it
  if (token.empty() || !file ||
      ::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return Problem{"cannot keep the token of this start in " + paths_.edit_token().string(),
                   "make the directory writable, or start without --allow-edit and `dashboard`"};
  }
  setup_.rules.token = token;
  return std::nullopt;
}

std::optional<Problem> Engine::open_door() {
  const std::vector<int> passed = passed_sockets();
  if (!passed.empty()) {
    auto bound = server_.adopt(passed.front());
    if (!bound) return bound.error();
    door_ = *bound;
    return std::nullopt;
  }
  std::optional<Problem> last;
  for (const net::Address& address : setup_.doors) {
    auto bound = server_.listen(address);
    if (bound) {
      door_ = *bound;
      return std::nullopt;
    }
    last = bound.error();
  }
  return last;
}

std::string Engine::url_of(const std::string& name) const {
  return fmt::format("http://{}.localhost:{}", name, door_.port);
}

std::optional<Problem> Engine::add_all(const std::vector<ServiceSpec>& specs) {
  for (const ServiceSpec& spec : specs) {
    if (auto result = put(spec); !result) return result.error();
  }
  return std::nullopt;
}

std::optional<Problem> Engine::check_room(const ServiceSpec& spec) const {
  if (services_.size() < kServicesMax || services_.contains(spec.name)) return std::nullopt;
  return Problem{
      fmt::format("service {}: engine {} runs {} services already, and more than that "
                  "are not taken",
                  spec.name, setup_.name, kServicesMax),
      "delete services nobody needs, or run the rest in a second engine: sluice up --name"};
}

// A removed service of the same name drains under its revisions' names.
int Engine::revisions_before(const std::string& name) const {
  int last = 0;
  for (const auto& service : gone_) {
    if (service->spec().name == name) last = std::max(last, service->revisions());
  }
  return last;
}

std::optional<Problem> Engine::check_hosts(const ServiceSpec& spec) const {
  std::vector<activator::RevisionRoute> routes;
  const auto add = [&routes](const ServiceSpec& other) {
    routes.push_back({other.name + ".localhost", "", 0});
    for (const HostRule& rule : other.hosts) routes.push_back({rule.host, rule.path_prefix, 0});
  };
  for (const auto& [name, service] : services_) {
    if (name != spec.name) add(service->spec());
  }
  add(spec);
  if (const auto table = activator::RevisionTable::build(routes); !table) return table.error();
  return std::nullopt;
}

Result<Applied, Problem> Engine::put(const ServiceSpec& spec) {
  if (auto problem = check_room(spec)) return *problem;
  if (auto problem = check_hosts(spec)) return *problem;
  auto& service = services_[spec.name];
  if (!service) {
    service = std::make_unique<Service>(
        platform_, [this] { update_routes(); }, url_of(spec.name), revisions_before(spec.name));
  }
  const bool limited = spec.is_limited();
  auto result = service->apply(spec);
  if (!result && service->empty() && service->spec().name.empty()) services_.erase(spec.name);
  if (result && limited && !(cgroups_.can_limit_cpu() && cgroups_.can_limit_memory()) &&
      *result != Applied::unchanged) {
    publish_text("warning",
                 "service " + spec.name +
                     ": its cpu and memory limits are only accounted, no writable cgroup was found",
                 "see `sluice doctor`");
  }
  return result;
}

Service* Engine::find(const std::string& name) {
  const auto found = services_.find(name);
  return found == services_.end() ? nullptr : found->second.get();
}

std::vector<std::string> Engine::names() const {
  std::vector<std::string> all;
  for (const auto& [name, service] : services_) all.push_back(name);
  return all;
}

void Engine::drop(const std::string& name) {
  const auto found = services_.find(name);
  if (found == services_.end()) return;
  found->second->publish("removed");
  gone_.push_back(std::move(found->second));
  services_.erase(found);
  Service* service = gone_.back().get();
  update_routes();
  service->remove([this, service] {
    std::erase_if(gone_, [service](const auto& other) { return other.get() == service; });
  });
}

void Engine::update_routes() {
  std::vector<activator::RevisionRoute> routes;
  targets_.clear();
  for (const auto& [name, service] : services_) {
    if (!service || service->spec().name.empty()) continue;
    const auto target = static_cast<std::uint32_t>(targets_.size());
    targets_.push_back(service.get());
    routes.push_back({name + ".localhost", "", target});
    for (const HostRule& rule : service->spec().hosts) {
      routes.push_back({rule.host, rule.path_prefix, target});
    }
  }
  auto table = activator::RevisionTable::build(routes);
  if (table) table_ = std::move(*table);
}

// Files are read again as a whole; what is wrong with any of them leaves everything as it was.
void Engine::reload(bool always) {
  if (sources_ == nullptr || closing_ || (!always && !sources_->changed())) return;
  auto reading = sources_->read();
  if (!reading) {
    for (const Problem& problem : reading.error()) {
      publish_text("error", problem.what, problem.fix);
    }
    return;
  }
  for (const ServiceSpec& spec : reading->services) {
    if (auto result = put(spec); !result) {
      publish_text("error", result.error().what, result.error().fix);
    }
  }
  for (const std::string& name : names()) {
    const bool kept = std::any_of(reading->services.begin(), reading->services.end(),
                                  [&name](const ServiceSpec& spec) { return spec.name == name; });
    const bool applied = std::filesystem::exists(paths_.specs_dir() / (name + ".yaml"));
    if (!kept && !applied) drop(name);
  }
}

int Engine::run() {
  on_signal();
  tick();
  notify_init("READY=1");
  io_.run();
  return exit_code_;
}

void Engine::tick() {
  ticker_.expires_after(std::max(Duration{0}, next_tick_ - clock_.now()));
  ticker_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    on_second();
    const TimePoint now = clock_.now();
    do {
      next_tick_ += kSecond;
    } while (next_tick_ <= now);
    tick();
  });
}

void Engine::on_second() {
  std::vector<activator::RevisionStat> stats;
  front_.report(clock_.now(), stats);
  for (const activator::RevisionStat& stat : stats) scale_loop_.report(stat);
  for (const auto& [name, service] : services_) service->on_second();
  front_.sweep();
  reload(false);
  notify_init("WATCHDOG=1");
}

void Engine::on_signal() {
  signals_.async_wait([this](const boost::system::error_code& ec, int number) {
    if (ec) return;
    if (number == SIGHUP) {
      reload(true);
    } else if (number == SIGUSR1) {
      log_.write(log::Severity::info, services().dump());
    } else if (++signals_seen_ == 1) {
      begin_shutdown([](const ShutdownResult&) {});
    } else {
      for (const auto& [name, service] : services_) service->stop_all(true);
      exit_code_ = 128 + number;
      io_.stop();
      return;
    }
    on_signal();
  });
}

void Engine::publish_text(const char* type, const std::string& message, const std::string& fix) {
  nlohmann::json event = event_json(type, clock_.now());
  event["message"] = message;
  if (!fix.empty()) event["fix"] = fix;
  events_.publish(event);
}

std::int32_t Engine::replicas() const {
  std::int32_t total = 0;
  for (const auto& [name, service] : services_) total += service->replicas();
  for (const auto& service : gone_) total += service->replicas();
  return total;
}

void Engine::begin_shutdown(std::function<void(const ShutdownResult&)> done) {
  shutdown_done_.push_back(std::move(done));
  if (closing_) return;
  closing_ = true;
  notify_init("STOPPING=1");
  nlohmann::json event = event_json("engine", clock_.now());
  event["event"] = "stopping";
  event["name"] = setup_.name;
  events_.publish(event);
  shutdown_.stopped = replicas();
  closing_due_ = clock_.now() + setup_.settings.stop_timeout;
  server_.stop_accepting();
  server_.close_after_responses();
  front_.refuse_waiting();
  wait_for_requests();
}

void Engine::wait_for_requests() {
  if (front_.in_flight() == 0 || clock_.now() >= closing_due_) {
    shutdown_.cut = front_.in_flight();
    stop_replicas();
    return;
  }
  closing_timer_.expires_after(kClosingStep);
  closing_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) wait_for_requests();
  });
}

void Engine::stop_replicas() {
  if (!stopping_replicas_) {
    stopping_replicas_ = true;
    server_.close_idle();
    for (const auto& [name, service] : services_) service->stop_all(false);
    for (const auto& service : gone_) service->stop_all(false);
  }
  if (platform_.replicas == 0) {
    finish_shutdown();
    return;
  }
  closing_timer_.expires_after(kClosingStep);
  closing_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) stop_replicas();
  });
}

void Engine::finish_shutdown() {
  if (finished_) return;
  finished_ = true;
  nlohmann::json event = event_json("engine", clock_.now());
  event["event"] = "stopped";
  event["name"] = setup_.name;
  event["stopped"] = shutdown_.stopped;
  event["cut"] = shutdown_.cut;
  events_.publish(event);
  // What left its group by setsid and became ours.
  (void)kill_strays(reaper_.watched());
  cgroups_.clear();
  for (const auto& done : shutdown_done_) done(shutdown_);
  closing_timer_.expires_after(shutdown_done_.size() > 1 || signals_seen_ == 0 ? kLastWords
                                                                               : Duration{0});
  closing_timer_.async_wait([this](const boost::system::error_code&) { io_.stop(); });
}

}  // namespace sluice::local
