#include "programs/node-agent/app.h"

#include "common/base/exit_status.h"
#include "common/base/version.h"
#include "common/files/file_io.h"
#include "common/metrics/page.h"
#include "common/net/server/open_files.h"
#include "common/net/server/ready_line.h"
#include "common/net/server/side_limits.h"

#include "memory-pressure/io/agent_metrics.h"
#include "memory-pressure/io/own_weight.h"
#include "memory-pressure/io/restoration.h"
#include "memory-pressure/io/status_client.h"
#include "memory-pressure/io/status_text.h"
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr Duration kRestoreLimit = std::chrono::seconds{10};
constexpr Duration kRememberEvery = std::chrono::seconds{30};
constexpr std::string_view kScore = "-999";

// Few at a time, so that a crowd of askers costs the node nothing.
net::ServerLimits side_limits() {
  net::ServerLimits limits = net::side_limits();
  limits.connections_max = 64;
  limits.roomy_connections = 4;
  return limits;
}

std::vector<std::string> sockets(const Config& config) {
  return config.socket.empty() ? usual_sockets() : std::vector{config.socket};
}

RestorationOptions restoration(const Config& config, bool keep_trying) {
  return {.state_dir = config.state_dir,
          .sockets = sockets(config),
          .memory_source = config.memory_source,
          .lower = config.policy.lower,
          .limit = kRestoreLimit,
          .keep_trying = keep_trying};
}

proto::NodePressure on_the_wire(Pressure pressure) {
  switch (pressure) {
    case Pressure::ok:
      return proto::NodePressure::ok;
    case Pressure::high:
      return proto::NodePressure::high;
    case Pressure::critical:
      return proto::NodePressure::critical;
  }
  return proto::NodePressure::unspecified;
}

int run_agent(Config config, MakePolicy make_policy) {
  const log::Logger log{"node-agent", config.log_least};
  const auto refuse = [&log](const Problem& problem, int code) {
    log.write(log::Severity::error, problem.text());
    return code;
  };
  auto memory = MemorySense::open(config.memory_source);
  if (!memory) return refuse(memory.error(), kExitConfig);
  auto lock = StateLock::take(config.state_dir);
  if (!lock) return refuse(lock.error().problem, 1);
  std::optional<JournalFile> journal;
  if (!config.dry_run) {
    auto opened = JournalFile::open(config.state_dir);
    if (!opened) return refuse(opened.error(), 1);
    journal.emplace(std::move(*opened));
  }
  Belongings belongings{std::move(*lock), std::move(journal), std::move(*memory)};
  return App{std::move(config), std::move(belongings), std::move(make_policy)}.run();
}

}  // namespace

App::App(Config config, Belongings belongings, MakePolicy make_policy)
    : config_{std::move(config)},
      belongings_{std::move(belongings)},
      log_{"node-agent", config_.log_least},
      started_{clock_.now()},
      boot_{boot_id()},
      client_{io_, {.sockets = sockets(config_)}},
      watch_{client_, clock_, {}},
      births_{io_, clock_, log_, watch_.mounts().memory, {.sight = config_.policy.sight}},
      loop_{{.loop = time_,
             .log = log_,
             .memory = [this] { return belongings_.memory.read(); },
             .runtime = client_,
             .containers = watch_,
             .journal = belongings_.journal ? &*belongings_.journal : nullptr},
            {.controller = {.policy = config_.policy,
                            .boot_id = boot_,
                            .dry_run = config_.dry_run,
                            .make_policy = std::move(make_policy)},
             .lease = acts() ? config_.lease : Duration{}}},
      stalls_{io_, [this] { loop_.wake(); }},
      events_{io_,
              log_,
              {.news = [this] { watch_.look([this](bool) { loop_.wake(); }); },
               .started =
                   [this](const std::string& id, pid_t pid) {
                     if (!watch_.knows(id)) births_.started(id, pid);
                   }}},
      reports_{io_,
               time_,
               log_,
               {.addresses = config_.autoscalers,
                .tls_dir = config_.tls_dir,
                .seed = static_cast<std::uint64_t>(started_.time_since_epoch().count())},
               [this] { return report(); }},
      page_{{.metrics =
                 metrics::Page{[this](metrics::Families& families) { write_metrics(families); }},
             .trouble = [this] { return loop_.trouble(); },
             .status = [this] { return status(); },
             .switch_on = {}}},
      own_page_{{.metrics = metrics::Page{[this](metrics::Families& families) {
                   write_metrics(families);
                 }},
                 .trouble = [this] { return loop_.trouble(); },
                 .status = [this] { return status(); },
                 .switch_on = [this](bool on) { loop_.switch_on(on); }}},
      page_server_{io_, clock_, page_, side_limits()},
      own_server_{io_, clock_, own_page_, side_limits()},
      nri_{io_,
           time_,
           log_,
           {.socket = config_.nri},
           [this](const nri::Start& start) { on_start(start); }},
      signals_{io_} {
  loop_.on_recovered([this] {
    if (acts() && !signals_.seen()) begin();
    if (!std::exchange(hears_events_, true)) events_.start(client_.socket());
  });
  loop_.on_lapse_check([this] { return has_lapsed(); });
  loop_.on_decided([this] {
    reports_.news();
    remember();
  });
}

// Whether containers may be throttled at all.
bool App::acts() const {
  return !config_.dry_run && config_.policy.policy != PolicyKind::off && config_.policy.pause;
}

std::optional<Problem> App::open_doors() {
  const net::Address socket{.host = {}, .port = 0, .path = agent_socket(config_.state_dir)};
  const ::mode_t usual = ::umask(S_IRWXG | S_IRWXO);
  const auto own = own_server_.listen(socket);
  ::umask(usual);
  if (!own) return settings::named("--state-dir", own.error());
  std::vector<std::pair<std::string, net::Address>> bound{{"agent", *own}};
  if (config_.metrics) {
    const auto metrics = page_server_.listen(*config_.metrics);
    if (!metrics) return settings::named("SLUICE_METRICS_ADDRESS", metrics.error());
    bound.emplace_back("metrics", *metrics);
  }
  return net::tell_ready(config_.ready_fd, bound);
}

// The kernel must not first kill the process that prevents the shortage. Best effort.
void App::protect_ourselves() const {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, kScore.data(), kScore.size());
  ::close(file);
}

int App::run() {
  std::signal(SIGPIPE, SIG_IGN);
  (void)net::raise_open_files();
  protect_ourselves();
  if (const auto problem = open_doors()) {
    log_.write(log::Severity::error, problem->text());
    return 1;
  }
  const int window = stalls_.arm(belongings_.memory.stall_path());
  log_.write(log::Severity::info, "started",
             {{"policy", std::string{name(config_.policy.policy)}},
              {"memory", belongings_.memory.shown()},
              {"stalls", belongings_.memory.stall_path().empty() ? "not reported by the kernel"
                         : window == 0
                             ? "read with each sample"
                             : "reported by the kernel, window " + std::to_string(window) + " s"},
              {"state_dir", config_.state_dir},
              {"dry_run", config_.dry_run ? "true" : "false"}});
  raise_own_priority();
  (void)raise_own_weight();
  recall();
  watch_births();
  signals_.listen([this] { leave(); }, [this] { give_up(); });
  if (const auto problem = begin_reports()) {
    log_.write(log::Severity::error, problem->text());
    return kExitConfig;
  }
  loop_.start([this](const Problem& problem) { fail(problem); });
  io_.run();
  return exit_code_;
}

// Before the first look, so that no birth falls between the two.
void App::watch_births() {
  const PolicySettings& policy = config_.policy;
  if (policy.policy == PolicyKind::off || !policy.pause || policy.sight == Duration::zero()) return;
  watch_.on_placed([this](const std::string& group) { births_.cover_siblings(group); });
  births_.on_expected([this](const std::string& id) { watch_.expect(id); });
  const bool told = births_.start([this](const std::vector<Birth>& births) {
    for (const Birth& each : births) {
      const auto late = std::chrono::ceil<std::chrono::milliseconds>(each.seen - each.after);
      const bool known = each.after != TimePoint{};
      log_.write(
          log::Severity::info, "container began",
          {{"id", each.id}, {"late_ms_max", known ? std::to_string(late.count()) : "unknown"}});
    }
    watch_.born(births);
  });
  if (!told) {
    log_.write(log::Severity::warning,
               "the kernel reports no new control groups: containers are first seen in the "
               "runtime's list");
  }
  if (!belongings_.memory.group().empty()) births_.cover(belongings_.memory.group());
  nri_.start();
}

// Its process is there before its program is, and looked at until then. What has begun meanwhile
// is looked at once more, unless its birth was seen.
void App::on_start(const nri::Start& start) {
  if (watch_.knows(start.id)) return;
  if (!start.begun) watch_.expect(start.id, start.pod);
  if (start.pid > 0) births_.started(start.id, start.pid);
}

std::string App::kin_path() const {
  return config_.state_dir + "/kin";
}

// What is not there, or cannot be read, is learned again.
void App::recall() {
  const auto kin = files::read_file(kin_path());
  if (!kin) log_.write(log::Severity::warning, kin.error().text());
  if (kin && *kin) loop_.controller().learn(**kin);
}

// Every now and then: what is lost by a crash is learned again.
void App::remember() {
  const TimePoint now = clock_.now();
  if (config_.dry_run || now - remembered_at_ < kRememberEvery) return;
  remembered_at_ = now;
  const std::string learned = loop_.controller().learned();
  if (learned.empty()) return;
  if (const auto problem = files::keep_file(kin_path(), learned, S_IRUSR | S_IWUSR)) {
    log_.write(log::Severity::warning, problem->text());
  }
}

// With a token the files of tls_dir come first.
std::optional<Problem> App::begin_reports() {
  if (config_.token_file.empty() || config_.autoscalers.empty()) return reports_.start();
  enrolment_.emplace(
      io_, time_, log_,
      Enrolment::Options{
          .address = config_.enroll,
          .tls_dir = config_.tls_dir,
          .token_file = config_.token_file,
          .ca_file = config_.ca_file,
          .seed = static_cast<std::uint64_t>(started_.time_since_epoch().count()) + 1},
      [this] {
        if (const auto problem = reports_.start()) fail(*problem);
      });
  enrolment_->start();
  return std::nullopt;
}

// Its guardian must not be at work any more when we are.
bool App::has_lapsed() {
  if (!guardian_ || !guardian_->lapsed()) return false;
  guardian_->end();
  guardian_.reset();
  return true;
}

// The guardian is there before the first throttle.
void App::begin() {
  guardian_.emplace(io_, log_,
                    Guardian::Options{.state_dir = config_.state_dir,
                                      .socket = client_.socket(),
                                      .memory_source = config_.memory_source,
                                      .lower = config_.policy.lower,
                                      .lease = config_.lease});
  if (const auto problem = guardian_->start()) {
    log_.write(log::Severity::error, problem->text());
  }
}

void App::fail(const Problem& problem) {
  log_.write(log::Severity::error, problem.text());
  exit_code_ = 1;
  io_.stop();
}

void App::give_up() {
  exit_code_ = 1;
  io_.stop();
}

// Everything is given back first; what could not be is left to the guardian.
void App::leave() {
  log_.write(log::Severity::info, "stopping on a signal: releasing all containers");
  page_server_.stop_accepting();
  own_server_.stop_accepting();
  const bool untouched = !belongings_.journal || belongings_.journal->size() == 0;
  if (untouched && !loop_.is_recovered()) {
    io_.stop();
    return;
  }
  loop_.restore(kRestoreLimit, [this](bool restored) {
    if (restored) {
      log_.write(log::Severity::info, "all containers are released");
      if (guardian_) guardian_->dismiss();
    } else {
      log_.write(log::Severity::error, "not every container could be released; " + loop_.trouble());
      exit_code_ = 1;
    }
    remembered_at_ = {};
    remember();
    if (enrolment_) enrolment_->stop();
    reports_.stop();
    io_.stop();
  });
}

proto::NodeReport App::report() const {
  const Observation& seen = loop_.controller().seen();
  const Decision& decision = loop_.controller().decision();
  proto::NodeReport report;
  report.node = config_.node;
  report.boot_id = boot_;
  report.pressure = on_the_wire(decision.pressure);
  report.reserve_bytes = config_.policy.reserve;
  report.growth_bytes_per_second = decision.growth_per_second;
  report.admit_bytes = decision.admit_bytes;
  if (seen.memory) {
    report.capacity_bytes = seen.memory->capacity;
    report.used_bytes = seen.memory->used;
    const Stall stall = seen.memory->stall.value_or(Stall{});
    report.some_avg10 = stall.some_avg10;
    report.full_avg10 = stall.full_avg10;
  }
  for (const HeldThrottle& held : loop_.controller().held()) {
    if (report.throttled.size() == proto::kThrottledMax) break;
    report.throttled.push_back({.pod_uid = held.container.pod_uid,
                                .space = held.container.pod_namespace,
                                .pod = held.container.pod,
                                .container = held.container.name,
                                .quota_us = held.quota.quota_us,
                                .period_us = held.quota.period_us,
                                .since_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                                                held.since.time_since_epoch())
                                                .count(),
                                .ladder_step = held.ladder_step});
  }
  report.degraded = loop_.is_degraded();
  report.dry_run = config_.dry_run;
  report.version = kVersion;
  return report;
}

std::string App::status() const {
  return status_json({.loop = loop_,
                      .policy = config_.policy,
                      .version = std::string{kVersion},
                      .node = config_.node,
                      .memory_source = belongings_.memory.shown(),
                      .socket = client_.socket(),
                      .dry_run = config_.dry_run,
                      .guarded = guardian_ && guardian_->pid() > 0,
                      .lease = acts() ? config_.lease : Duration{},
                      .autoscalers = config_.autoscalers,
                      .reporting = reports_.connected(),
                      .started = started_,
                      .now = clock_.now()});
}

void App::write_metrics(metrics::Families& families) const {
  write_agent_metrics(families, loop_,
                      {.dry_run = config_.dry_run,
                       .guarded = guardian_ && guardian_->pid() > 0,
                       .births = births_.counts(),
                       .nri = nri_.is_connected(),
                       .reports = reports_.reports(),
                       .reporting = reports_.connected(),
                       .started = to_seconds(started_.time_since_epoch())});
}

int run(Config config, MakePolicy make_policy) {
  const log::Logger log{"node-agent", config.log_least};
  switch (config.task) {
    case Task::run:
      return run_agent(std::move(config), std::move(make_policy));
    case Task::restore:
      return restore_once(restoration(config, false), log);
    case Task::status:
      return ask_agent(config.state_dir, "status", config.json);
    case Task::on:
      return ask_agent(config.state_dir, "on", false);
    case Task::off:
      return ask_agent(config.state_dir, "off", false);
    case Task::guard:
      return keep_guard(restoration(config, true), config.lease, log);
  }
  return 1;
}

}  // namespace sluice::node_agent
