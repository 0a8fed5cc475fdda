#include "programs/sluice/engine/engine.h"

#include "autoscaler/io/ring_history.h"
#include "common/base/version.h"
#include "common/json/write.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/container.h"
#include "platform/process/engine_host.h"
#include "platform/process/sidecar.h"
#include "platform/process/unique_fd.h"
#include "programs/sluice/engine/history.h"
#include "programs/sluice/engine/init_notify.h"
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr Duration kSecond = std::chrono::seconds{1};
/// After the last SIGKILL, for containers to be removed.
constexpr Duration kRemovalsLimit = std::chrono::seconds{60};
/// Within which a program that is being started is started.
constexpr Duration kSpawnLimit = std::chrono::seconds{5};
constexpr Duration kClosingStep = std::chrono::milliseconds{20};
// The caller of `down` still has to read its answer.
constexpr Duration kLastWords = std::chrono::milliseconds{100};

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

// Of the places that the API has for each proof (ApiServerLimits) most stay free of idle ones.
net::UpstreamLimits api_limits() {
  net::UpstreamLimits limits;
  limits.idle_max = 16;
  limits.h1_only = true;
  return limits;
}

// `warn` is called from another thread.
std::unique_ptr<autoscaler::History> open_history(const EnginePaths& paths, bool has_state,
                                                  TimePoint now, History::Warn warn) {
  if (!has_state) return std::make_unique<autoscaler::RingHistory>();
  HistoryOptions options;
  options.file = paths.history_db();
  options.opened = now;
  return std::make_unique<History>(options, std::move(warn));
}

// Decisions are events here, which a terminal shows in its own words.
log::Logger of_decisions(const log::Logger& log, const EngineSettings& settings) {
  log::Logger decisions = log;
  if (settings.log_level != "debug") decisions.set_least(log::Severity::warning);
  return decisions;
}

activator::BookSpec book_spec(const EngineSettings& settings) {
  return {.cluster_domain = {},
          .queue_depth = static_cast<std::int32_t>(settings.queue.depth),
          .queue_wait = settings.queue.wait,
          .foresees = true,
          .gone = http::response_for(Error::draining)};
}

// Readable for this user alone.
bool write_private(const std::filesystem::path& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Opens the dashboard with the token behind `#`, which no browser sends to a server.
std::string edit_page(const std::string& url, const std::string& token) {
  const std::string link = url + "#token=" + token;
  return "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Sluice</title>\n"
         "<meta http-equiv=\"refresh\" content=\"0; url=" +
         link + "\">\n<a href=\"" + link + "\">dashboard</a>\n";
}

}  // namespace

// No activator of an earlier start can hold up a removal, and none comes but the one in here.
Engine::Engine(EngineSetup setup, const EnginePaths& paths, const log::Logger& log, bool has_state,
               EventRing& events)
    : setup_{std::move(setup)},
      paths_{paths},
      log_{log},
      events_{events},
      started_{clock_.now()},
      history_{open_history(paths, has_state, started_,
                            [this](const Problem& problem) {
                              boost::asio::post(io_, [this, problem] {
                                publish_text("warning", problem.what, problem.fix);
                              });
                            })},
      reaper_{io_},
      ports_{clock_},
      journal_{paths.replicas_json()},
      memory_{loop_, log, cgroups_},
      replica_events_{events, loop_},
      environment_{own_environment()},
      means_{means()},
      platform_{means_, setup_.cluster, paths.logs_dir(),
                has_state ? RevisionNumbers{paths.revisions_dir()} : RevisionNumbers{},
                has_state ? KeptRevisions{paths.kept_revisions_dir()} : KeptRevisions{}},
      door_pool_{io_, socket_at(paths.door_socket()), api_limits()},
      own_pool_{io_, socket_at(paths.own_door_socket()), api_limits()},
      front_{io_,
             loop_,
             *this,
             *this,
             {.queues = budget_of(setup_.settings, files_), .entrance = true}},
      prober_{io_, loop_, front_, asker_, {}, {}},
      book_{front_, prober_, log, book_spec(setup_.settings)},
      server_{io_, clock_, front_, limits_of(setup_.settings, files_)},
      decisions_log_{of_decisions(log, setup_.settings)},
      stats_{io_},
      scale_loop_{loop_},
      hub_{{.autoscaler = setup_.name, .version = std::string{kVersion}},
           {.all = {setup_.name}, .owned = {setup_.name}, .epoch = 0},
           started_ - autoscaler::kRemovalWait,
           Duration{0}},
      figures_{figures()},
      fleet_events_{loop_, events, *history_, &figures_},
      random_{static_cast<std::uint64_t>(started_.time_since_epoch().count())},
      around_{surroundings()},
      fleet_{around_},
      view_{loop_, fleet_events_, &figures_},
      mover_{{.clock = loop_,
              .fleet = fleet_,
              .placement = placement_,
              .news = [this](const placement::MoveRecord& record) { publish_move(record); },
              .place_news = [this](const std::string& place) { publish_place(place); },
              .measured = [this](const RevisionId& id) { return measured(id); }}},
      peer_{loop_, hub_, peer_events(),
            [this](const autoscaler::ActivatorHub::Heard& heard) { fleet_.heard(heard); }},
      api_{facts(),
           {.fleet = fleet_,
            .seen = fleet_events_,
            .history = *history_,
            .hub = hub_,
            .nodes = nullptr,
            .placement = placement_,
            .events = events,
            .front = &figures_,
            .mover = &mover_}},
      view_api_{
          {.program = facts(), .form = "machine", .edit = setup_.rules.allow_edit},
          {.clock = loop_, .api = api_, .view = view_, .history = *history_, .front = &figures_}},
      signals_{io_},
      closing_timer_{io_},
      kept_{paths} {
  mover_.set_rules(setup_.settings.placement);
  book_.on_added([this](const RevisionId& id, activator::RevisionHandle handle) {
    if (const ProcessRevision* const revision = platform_.revision(id)) {
      speaks_h2_.enter(handle, std::make_shared<const bool>(revision->spec().h2c));
    }
    if (const proto::RevisionState* const state = peer_.state(id)) desk_.apply(*state);
  });
  book_.on_removed([this](activator::RevisionHandle handle) {
    figures_.left(handle);
    speaks_h2_.leave(handle);
  });
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!terminal_ && ::isatty(number) != 0) terminal_ = number;
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) signals_.add(number);
  // A file that may not grow is a disk that is full, and no reason to end.
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
}

Engine::~Engine() {
  alive_.end();
  api_server_.reset();
  server_.close_all();
  std::error_code ignored;
  std::filesystem::remove(paths_.edit_token(), ignored);
  std::filesystem::remove(paths_.edit_page(), ignored);
}

std::optional<Problem> Engine::open(SpecSources& sources) {
  sources_ = &sources;
  auto sidecar = find_sidecar();
  if (!sidecar) return sidecar.error();
  sidecar_ = HeldProgram{*sidecar};
  become_subreaper();
  for (const std::string& id : journal_.kill_leftovers()) {
    publish_text("warning", "killed " + id + ", left behind by an engine that crashed", "");
  }
  const std::filesystem::path note = paths_.containers_note();
  for (const std::string& name :
       remove_noted_containers(clock_, open_note(note), note, environment_)) {
    publish_text("warning", "removed container " + name + ", left behind by an engine that crashed",
                 "");
  }
  std::error_code ignored;
  for (const std::filesystem::path& left : paths_.replicas_dirs()) {
    std::filesystem::remove_all(left, ignored);  // of replicas that crashed with their engine
  }
  cgroups_ = CgroupTree::detect(setup_.name, paths_.runtime_dir().native());
  if (cgroups_.kind() == CgroupKind::v1) cgroups_.clear();
  if (auto problem = memory_.open(setup_.memory_source,
                                  [this](const std::string& what, const std::string& fix) {
                                    publish_text("warning", what, fix);
                                  })) {
    return problem;
  }
  open_groups();
  const SpecSources::Reading reading = sources.read_valid();
  if (auto problem = open_door()) return problem;
  if (auto problem = platform_.open(*this, started_, [](const std::optional<Problem>&) {})) {
    return problem;
  }
  peer_.start();
  // In whole seconds, so that reports come before the evaluations that fall into their second.
  desk_.start(peer_, std::chrono::floor<std::chrono::seconds>(started_) + kSecond,
              [this](std::span<const activator::RevisionStat> /*stats*/) { on_second(); });
  fleet_events_.begin();
  for (const std::string& warning : setup_.warnings) publish_text("warning", warning, "");
  publish_warnings(reading.warnings);
  for (const Problem& problem : reading.problems) publish_text("error", problem.what, problem.fix);
  if (auto problem = add_services(reading)) return problem;
  if (auto problem = open_api()) return problem;
  open_ = true;
  return std::nullopt;
}

std::optional<Problem> Engine::open_api() {
  if (auto problem = keep_token()) return problem;
  // Who comes through the front door was judged there.
  api_routes_ = std::make_unique<autoscaler::ApiRoutes>(
      clock_, api_, this, [](const api::ApiRequest&) { return std::nullopt; }, &view_api_);
  api_server_ = std::make_unique<api::ApiServer>(io_, *api_routes_);
  const std::pair<std::filesystem::path, Proof> entrances[] = {
      {paths_.api_socket(), Proof::socket},
      {paths_.own_door_socket(), Proof::own_user},
      {paths_.door_socket(), Proof::none}};
  for (const auto& [path, proof] : entrances) {
    if (const auto bound = api_server_->listen(socket_at(path), proof); !bound)
      return bound.error();
  }
  return std::nullopt;
}

// In a file of the engine's user alone, since what is printed may end in a log.
std::optional<Problem> Engine::keep_token() {
  std::error_code ignored;
  for (const auto& file : {paths_.edit_token(), paths_.edit_page()})
    std::filesystem::remove(file, ignored);
  if (!setup_.rules.allow_edit && !setup_.rules.opened()) return std::nullopt;
  const std::string token = make_token();
  const std::string line = "Sluice-Edit: " + token + "\n";  // as `curl -H @FILE` wants it
  const bool kept = !token.empty() && write_private(paths_.edit_token(), line) &&
                    write_private(paths_.edit_page(), edit_page(page_url(), token));
  if (!kept) {
    return Problem{"cannot keep the token of this start in " + paths_.edit_token().string(),
                   "make the directory writable, or start without --allow-edit and `dashboard`"};
  }
  setup_.rules.token = token;
  return std::nullopt;
}

std::string Engine::page_url() const {
  return url_of(kEngineHost) + "/";
}

autoscaler::ApiFacts Engine::facts() const {
  return {.name = setup_.name,
          .version = std::string{kVersion},
          .platform = "process",
          .started = started_};
}

std::string Engine::url_of(std::string_view host) const {
  return fmt::format("{}://{}:{}", door_tls_ ? "https" : "http", host, door_.port);
}

std::optional<Problem> Engine::open_door() {
  net::TlsSessions* sessions = nullptr;
  if (setup_.tls) {
    door_tls_.emplace(*setup_.tls, net::TlsSettings{.min = net::TlsVersion::v1_2}, log_);
    const auto loaded = door_tls_->load();
    if (!loaded) return loaded.error();
    if (*loaded == nullptr) {
      std::error_code ignored;
      const bool has_certificate = std::filesystem::exists(setup_.tls->certificate, ignored);
      return Problem{
          "--tls: no such file: " + (has_certificate ? setup_.tls->key : setup_.tls->certificate),
          "give a PEM certificate chain and its PEM key"};
    }
    (*loaded)->offer_h2_to([this](std::string_view name) { return host_speaks_h2(name); });
    sessions = *loaded;
  }
  const std::vector<int> passed = passed_sockets();
  if (!passed.empty()) {
    auto bound = server_.adopt(passed.front(), sessions);
    if (!bound) return bound.error();
    door_ = *bound;
    return std::nullopt;
  }
  std::optional<Problem> last;
  for (const net::Address& address : setup_.doors) {
    auto bound = server_.listen(address, sessions);
    if (bound) {
      door_ = *bound;
      return std::nullopt;
    }
    last = bound.error();
  }
  return last;
}

int Engine::run() {
  on_signal();
  notify_init("READY=1");
  io_.run();
  const bool spawner_ended = spawner_.end(kSpawnLimit);
  // Nothing is left of them, unless all was to be killed at once or the runtime did not answer.
  const bool killed = signals_seen_ > 1 || !spawner_ended;
  const std::filesystem::path note = paths_.containers_note();
  static_cast<void>(remove_noted_containers(clock_, open_note(note), note, environment_, killed));
  if (!spawner_ended) {
    log_.write(log::Severity::error,
               "a program could not be started in 5 s; its file system may not answer");
    std::_Exit(exit_code_);  // its thread cannot be joined
  }
  return exit_code_;
}

void Engine::on_second() {
  platform_.tick();
  mover_.tick();
  record_traffic();
  reload(false);
  reload_settings(false);
  remove_groups();
  keep_again();
  publish_memory();
  if (door_tls_) door_tls_->look();
  notify_init("WATCHDOG=1");
}

void Engine::on_signal() {
  signals_.async_wait([this](const boost::system::error_code& ec, int number) {
    if (ec) return;
    const bool closed = terminal_ && ::isatty(*terminal_) == 0;  // which hangs up on us
    if (number == SIGHUP && !closed) {
      reload(true);
      reload_settings(true);
    } else if (number == SIGUSR1) {
      log_.write(log::Severity::info, json_line(api_.service_list(0, api_.service_count())));
    } else if (++signals_seen_ == 1 && !(closing_ && number == SIGINT)) {
      begin_shutdown([](const ShutdownResult&) {});
    } else {
      platform_.stop_all(true);
      exit_code_ = 128 + number;
      io_.stop();
      return;
    }
    on_signal();
  });
}

void Engine::publish_text(const char* type, const std::string& message, const std::string& fix) {
  nlohmann::json event = autoscaler::event_json(type, clock_.now());
  event["message"] = message;
  if (!fix.empty()) event["fix"] = fix;
  events_.publish(event);
}

void Engine::begin_shutdown(std::function<void(const ShutdownResult&)> done) {
  shutdown_done_.push_back(std::move(done));
  if (closing_) return;
  closing_ = true;
  mover_.stop();
  notify_init("STOPPING=1");
  nlohmann::json event = autoscaler::event_json("engine", clock_.now());
  event["event"] = "stopping";
  event["name"] = setup_.name;
  events_.publish(event);
  shutdown_.stopped = platform_.replicas();
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
    closing_due_ = clock_.now() + platform_.longest_grace() + kRemovalsLimit;
    platform_.stop_all(false);
  }
  if (platform_.replicas() > 0 && clock_.now() >= closing_due_) {
    publish_text("error", "replicas that do not end are left behind",
                 "find what is left of them with ps");
    platform_.stop_all(true);
    finish_shutdown();
    return;
  }
  if (platform_.replicas() == 0) {
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
  nlohmann::json event = autoscaler::event_json("engine", clock_.now());
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
