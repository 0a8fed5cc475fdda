#include "programs/sluice/engine/run_engine.h"

#include "autoscaler/io/fleet_events.h"
#include "common/base/exit_status.h"
#include "common/base/version.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/scaling/cluster_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/engine_variables.h"
#include "programs/sluice/engine/engine.h"
#include "programs/sluice/engine/engine_log.h"
#include "programs/sluice/engine/spec_sources.h"
#include "programs/sluice/view/banner.h"
#include "programs/sluice/view/event_printer.h"
#include "programs/sluice/view/explain_text.h"
#include "programs/sluice/view/fields.h"
#include "programs/sluice/view/live_session.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace sluice::local {
namespace {

namespace fs = std::filesystem;
using commands::OutputFormat;
using commands::UpOptions;
using nlohmann::json;

constexpr std::uint16_t kFirstDoor = 8080;
constexpr std::uint16_t kLastDoor = 8099;

int fail(const Problem& problem, int code) {
  std::fprintf(stderr, "sluice: %s\n", problem.text().c_str());
  return code;
}

int fail_all(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) fail(problem, kExitConfig);
  return kExitConfig;
}

void write_out(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

log::Severity severity_of(const std::string& level) {
  if (level == "debug") return log::Severity::debug;
  if (level == "warn" || level == "warning") return log::Severity::warning;
  if (level == "error") return log::Severity::error;
  return log::Severity::info;
}

// The file that load_engine_settings reads; empty: there is none.
std::string settings_in_force(const std::optional<fs::path>& given) {
  if (given) return fs::absolute(*given).lexically_normal().string();
  std::error_code ignored;
  for (const fs::path& file : settings_files(process_env)) {
    if (fs::exists(file, ignored)) return file.string();
  }
  return {};
}

// What a start of that name had, unless this one has something of its own. A file that is gone
// blocks no start.
std::vector<std::string> take_up(UpOptions& options, const StartRecord& record) {
  std::vector<std::string> warnings;
  for (const std::string& file : record.files) {
    std::error_code ignored;
    if (fs::exists(file, ignored)) {
      options.files.push_back(file);
    } else {
      warnings.push_back(file + " is gone; its services are not resumed");
    }
  }
  if (!options.http_given && !record.http.empty()) {
    options.http = record.http;
    options.http_given = true;
  }
  if (!options.tls && record.tls.size() == 2) options.tls.emplace(record.tls[0], record.tls[1]);
  if (options.config_file.empty()) options.config_file = record.config;
  return warnings;
}

StartRecord start_record(const UpOptions& options) {
  StartRecord record;
  for (const std::string& file : options.files) {
    if (file != "-") record.files.push_back(fs::absolute(file).lexically_normal().string());
  }
  if (options.http_given) record.http = options.http;
  if (options.tls) record.tls = {options.tls->first, options.tls->second};
  if (!options.config_file.empty()) record.config = fs::absolute(options.config_file).string();
  return record;
}

Result<std::vector<net::Address>, Problem> doors_of(const UpOptions& options,
                                                    const EngineSettings& settings) {
  const bool given = options.http_given || settings.http != EngineSettings{}.http;
  const std::string text = options.http_given ? options.http : settings.http;
  const auto address = parse_door(text);
  if (!address) return address.error();
  std::vector<net::Address> doors{*address};
  // The default port moves on when another program has it; a requested port does not.
  for (std::uint16_t port = kFirstDoor + 1; !given && port <= kLastDoor; ++port) {
    doors.push_back(*address);
    doors.back().port = port;
  }
  return doors;
}

// Where the token stands and not what it is: output may be kept, and all may read a command line.
void add_token(view::BannerFacts& facts, const Engine& engine, const EnginePaths& paths) {
  facts.page_url = engine.page_url();
  if (engine.token().empty()) return;
  facts.edit_page = paths.edit_page().string();
  facts.api_url = engine.url_of("localhost") + "/_sluice/api/v1";
  facts.allows_edit = engine.rules().allow_edit;
  facts.token_file = paths.edit_token().string();
}

std::string banner_of(const UpOptions& options, const Engine& engine, const EnginePaths& paths,
                      std::int64_t ready_ms) {
  view::BannerFacts facts;
  facts.version = kVersion;
  facts.engine = options.engine;
  facts.ready_ms = ready_ms;
  facts.replicas = engine.platform().replicas();
  facts.certificate = engine.certificate();
  for (const auto& [name, service] : engine.platform().services()) {
    facts.services.push_back(view::banner_service(engine.service_facts(*service)));
  }
  if (engine.door_moved()) {
    facts.notes.push_back(
        fmt::format("port {} is taken; using {}", kFirstDoor, engine.door().port));
  }
  facts.notes.insert(facts.notes.end(), engine.notes().begin(), engine.notes().end());
  add_token(facts, engine, paths);
  return view::banner_text(facts);
}

// Problems, for a user who starts a detached engine.
std::string warnings_of(const EventRing& events) {
  EventFilter wrong;
  wrong.types = {"warning", "error"};
  std::string text;
  for (const auto& event : events.after(0, wrong).events) {
    const json body = reading::parsed(event->data());
    const std::string fix = view::text_field(body, "fix");
    text += event->key.type + ": " + view::text_field(body, "message");
    text += fix.empty() ? "\n" : "; " + fix + "\n";
  }
  return text;
}

void announce(const UpOptions& options, Engine& engine, const EnginePaths& paths, EventRing& events,
              TimePoint started, const Clock& clock) {
  const TimePoint now = clock.now();
  const std::string banner =
      banner_of(options, engine, paths,
                std::chrono::duration_cast<std::chrono::milliseconds>(now - started).count());
  if (options.output == OutputFormat::text) write_out(banner);
  json event = autoscaler::event_json("engine", now);
  event["event"] = "ready";
  event["name"] = options.engine;
  event["http"] = engine.door().text();
  event["pid"] = ::getpid();
  events.publish(event);
  commands::announce_ready(options, banner, warnings_of(events));
}

// The live view of a text-mode engine on a terminal; null otherwise.
std::unique_ptr<view::LiveSession> open_live_view(const UpOptions& options, Engine& engine) {
  if (options.output != OutputFormat::text || options.detach) return nullptr;
  auto terminal = view::Terminal::open();
  if (!terminal) return nullptr;
  view::LiveSource source;
  source.who = "engine " + options.name;
  source.address = "http://" + engine.door().text();
  source.services = [&engine] {
    return engine.services().service_list(0, engine.services().service_count());
  };
  source.explain = [&engine](const std::string& service) {
    const auto explained = engine.services().explain({"default", service}, std::nullopt);
    return explained ? view::explain_text(*explained) : explained.error().detail + "\n";
  };
  source.quit = [&engine] { engine.begin_shutdown([](const ShutdownResult&) {}); };
  return std::make_unique<view::LiveSession>(engine.io(), std::move(terminal), std::move(source));
}

// The engine's last words are for the screen that stays.
bool is_last(const Event& event) {
  return event.key.type == "engine" &&
         reading::text(reading::parsed(event.data()), "event") == "stopped";
}

// Of a detached engine; null otherwise.
std::unique_ptr<EngineLog> open_engine_log(const UpOptions& options, Engine& engine,
                                           const EnginePaths& paths, const Clock& clock,
                                           EventRing& events) {
  if (!options.detach) return nullptr;
  return std::make_unique<EngineLog>(engine.io(), paths.engine_log(),
                                     [&clock, &events](const std::string& what) {
                                       json event = autoscaler::event_json("warning", clock.now());
                                       event["message"] = what;
                                       events.publish(event);
                                     });
}

int serve(const UpOptions& options, EngineSetup setup, const EnginePaths& paths,
          const log::Logger& log, SpecSources& sources) {
  const Clock clock;
  const TimePoint started = clock.now();
  bool has_state = true;
  if (const auto problem = make_state_dir(paths)) {
    log.write(log::Severity::warning, problem->text());
    has_state = false;
  }
  EventRing events;
  bool live = false;
  EngineLog* own_log = nullptr;
  view::EventPrinter printer{
      options.output == OutputFormat::json ? view::PrintMode::json : view::PrintMode::plain,
      [&](std::string_view text) {
        if (own_log) {
          own_log->print(clock.now(), text);
        } else if (!live) {
          write_out(text);
        }
      }};
  Engine engine{std::move(setup), paths, log, has_state, events};
  if (const auto problem = engine.open(sources)) {
    const bool door = problem->what.starts_with("cannot listen");
    return fail(*problem, door ? kExitFailure : kExitConfig);
  }
  announce(options, engine, paths, events, started, clock);
  const auto detached_log = open_engine_log(options, engine, paths, clock, events);
  own_log = detached_log.get();
  // What happened while the engine opened comes after the banner: all of it for a program, what is
  // wrong for a person.
  EventFilter early;
  if (options.output == OutputFormat::text) early.types = {"warning", "error"};
  auto backlog = events.after(0, early).events;
  std::stable_partition(backlog.begin(), backlog.end(),
                        [](const auto& event) { return event->key.type == "engine"; });
  for (const auto& event : backlog) printer.on_event(reading::parsed(event->data()));
  const auto screen = open_live_view(options, engine);
  live = screen != nullptr;
  const auto subscription = events.subscribe({}, [&](const std::shared_ptr<const Event>& event) {
    const json body = reading::parsed(event->data());
    if (live && is_last(*event)) {
      screen->stop();
      live = false;
    }
    if (live) screen->on_event(body);
    printer.on_event(body);
  });
  return engine.run();
}

}  // namespace

int run_engine(const UpOptions& given) {
  log::Logger log{"sluice"};
  const auto roots = path_roots(process_env, ::getuid());
  if (!roots) return fail(roots.error(), kExitFailure);
  const EnginePaths paths{*roots, given.engine};
  UpOptions options = given;
  StartRecord before;
  EngineSetup setup;
  if (options.resume) {
    before = KeptServices{paths}.start();
    setup.warnings = take_up(options, before);
    if (!before.warning.empty()) setup.warnings.push_back(before.warning);
  }
  std::optional<fs::path> config;
  if (!options.config_file.empty()) config = options.config_file;
  auto settings = load_engine_settings(config, settings_files(process_env));
  if (!settings) return fail_all(settings.error());
  log.set_least(severity_of(options.log_level.empty() ? settings->log_level : options.log_level));
  if (settings->log_format != "auto") log.set_json(settings->log_format == "json");
  setup.name = options.engine;
  const autoscaler::StringMap keys{settings->autoscaler.begin(), settings->autoscaler.end()};
  const auto cluster = autoscaler::parse_cluster_config(keys);
  if (!cluster) return fail(cluster.error(), kExitConfig);
  setup.cluster = *cluster;
  const auto doors = doors_of(options, *settings);
  if (!doors) return fail(doors.error(), kExitConfig);
  setup.doors = *doors;
  if (options.tls) {
    setup.tls = net::TlsFiles{.certificate = options.tls->first, .key = options.tls->second};
  }
  setup.rules.allow_edit = options.allow_edit;
  setup.rules.any_peer = settings->dashboard.any_peer();
  setup.rules.hosts = settings->dashboard.hosts;
  if (const char* source = std::getenv(kMemorySourceVariable.name)) setup.memory_source = source;
  setup.config = settings_in_force(config);
  setup.command = options.service;
  if (setup.command) complete_command(*setup.command, options.concurrency.has_value(), *settings);
  setup.start = start_record(options);
  if (options.resume) setup.start.files = before.files;  // one that is gone may come back
  setup.resume = options.resume;
  SpecSources sources{options.files, settings->defaults};
  setup.settings = std::move(*settings);
  setup.tolerant = options.resume || sources.has_directory();
  // All errors in the user's input are reported before anything is changed. A directory, or what
  // ran before, is no input of this moment.
  if (const auto reading = sources.read(); !reading && !setup.tolerant) {
    for (const std::string& warning : reading.error().warnings) {
      std::fprintf(stderr, "sluice: warning: %s\n", warning.c_str());
    }
    return fail_all(reading.error().problems);
  }
  if (const auto problem = make_runtime_dir(paths)) return fail(*problem, kExitFailure);
  const auto lock = EngineLock::take(paths);
  if (!lock) {
    if (lock.error().exit_code == commands::kNameHeld) return commands::kNameHeld;
    return fail(lock.error().problem, lock.error().exit_code);
  }
  return serve(options, std::move(setup), paths, log, sources);
}

}  // namespace sluice::local
