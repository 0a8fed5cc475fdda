#include "load/run_load.h"

#include "common/base/exit_status.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "load/core/quantity.h"
#include "load/core/report.h"
#include "load/io/baseline.h"
#include "load/io/engine_choice.h"
#include "load/io/engine_watches.h"
#include "load/io/load_threads.h"
#include "load/io/machine.h"
#include "load/io/options.h"
#include "load/io/replay_cells.h"
#include "load/io/report_files.h"
#include "load/run_compare.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

namespace {

constexpr int kInterrupted = 130;

// The engine tells of a cold start after its answer has gone out: wait for its last words.
constexpr Duration kLastWords = std::chrono::milliseconds{200};

constexpr const char* kEraseToEnd = "\x1b[K";

void complain(const std::string& text) {
  std::fprintf(stderr, "sluice load: %s\n", text.c_str());
}

// One run from the first look at the engine to the figures.
class LoadProgram {
 public:
  enum class End {
    whole,
    killed,     // by a second interrupt
    no_engine,  // the one that was asked for has no target; nothing was sent
  };

  // What `cells` read and `tls` outlive this. `addresses` by target.
  LoadProgram(const LoadPlan& plan, const std::vector<std::string>& addresses,
              const EngineChoice& engine, std::vector<std::vector<CellReader>> cells,
              const net::ClientTls* tls)
      : plan_{plan},
        needs_engine_{engine.source.is_required()},
        watches_{watches_of(engine, addresses)},
        run_{loop_, clock_, plan_, addresses, std::move(cells), tls} {}

  End run() {
    wait_for_signal();
    watches_.start([this] { start(); });
    loop_.run();
    return end_;
  }

  [[nodiscard]] Report report() const {
    Report report;
    report.plan = plan_;
    report.results = run_.results();
    report.tracks = watches_.tracks();
    report.track = ReplicaTrack::merged(report.tracks);
    report.length = length_;
    report.connections = run_.connections();
    report.cap_waits = run_.cap_waits();
    report.generator = run_.generator();
    report.interrupted = run_.interrupted();
    report.errors = run_.error_samples();
    return report;
  }

  [[nodiscard]] TimePoint began() const { return run_.began(); }

 private:
  void wait_for_signal() {
    signals_.async_wait([this](ErrorCode error, int) {
      if (error) return;
      if (stopped_) {
        end_ = End::killed;
        loop_.stop();
        return;
      }
      stopped_ = true;
      if (started_) run_.stop();
      if (sent_) end_watch();
      wait_for_signal();
    });
  }

  EngineWatches watches_of(const EngineChoice& engine, const std::vector<std::string>& addresses) {
    if (engine.source.kind == EngineSource::Kind::targets) {
      return {loop_, clock_, plan_.targets, addresses};
    }
    return {loop_, clock_, plan_.targets, engine.api};
  }

  void start() {
    if (needs_engine_ && !watches_.any_joined()) {
      end_ = End::no_engine;
      end_watch();
      return;
    }
    started_ = true;
    run_.start([this] { all_sent(); });
    show_progress();
    watches_.begin(run_.began());
    if (stopped_) run_.stop();
  }

  // Once a second, where a person watches.
  void show_progress() {
    const std::size_t width = terminal_width(STDERR_FILENO);
    if (width == 0) return;
    progress_.expires_after(std::chrono::seconds{1});
    progress_.async_wait([this, width](ErrorCode error) {
      if (error) return;
      const std::string text =
          progress_text(plan_, run_.results().whole, clock_.now() - run_.began());
      std::fprintf(stderr, "\r%s%s", text.substr(0, width - 1).c_str(), kEraseToEnd);
      show_progress();
    });
  }

  void all_sent() {
    sent_ = true;
    progress_.cancel();
    if (terminal_width(STDERR_FILENO) > 0) std::fprintf(stderr, "\r%s", kEraseToEnd);
    length_ = clock_.now() - run_.began();
    const Duration patience = stopped_ ? Duration::zero() : time_to_watch();
    if (patience == Duration::zero()) {
      end_watch();
      return;
    }
    after_.expires_after(patience);
    after_.async_wait([this](ErrorCode) { end_watch(); });
    if (!waits_for_zero()) return;
    const auto look = [this] {
      if (watches_.none_ready()) after_.cancel();
    };
    watches_.on_change(look);
    look();
  }

  [[nodiscard]] bool waits_for_zero() const {
    return std::any_of(
        plan_.conditions.begin(), plan_.conditions.end(),
        [](const Expression& expression) { return expression.metric == Metric::time_to_zero; });
  }

  // A condition on the time to zero can be judged once that time has passed.
  [[nodiscard]] Duration time_to_watch() const {
    if (!watches_.any_joined()) return Duration::zero();
    Duration longest = kLastWords;
    for (const Expression& expression : plan_.conditions) {
      if (expression.metric != Metric::time_to_zero) continue;
      longest = std::max(longest, from_seconds(expression.value) + std::chrono::seconds{1});
    }
    return longest;
  }

  void end_watch() {
    if (std::exchange(ended_, true)) return;
    after_.cancel();
    watches_.stop([this] { signals_.cancel(); });
  }

  // The loop outlives all that has operations on it.
  asio::io_context loop_{1};
  Clock clock_;
  LoadPlan plan_;
  asio::signal_set signals_{loop_, SIGINT, SIGTERM};
  asio::steady_timer after_{loop_};
  asio::steady_timer progress_{loop_};
  bool needs_engine_;
  EngineWatches watches_;
  LoadThreads run_;
  Duration length_{0};
  bool started_ = false;
  bool stopped_ = false;
  bool sent_ = false;
  bool ended_ = false;
  End end_ = End::whole;
};

// The text goes to standard error where another report has the place.
bool publish(ReportFiles& files, const ReportSource& source) {
  const ReportFile* const first = files.on_stdout();
  bool written =
      print(first == nullptr ? source.text : report_in(first->form, first->path, source), stdout);
  if (!written) complain("cannot write the whole report to standard output; check the disk");
  if (first != nullptr && first->by_flag) written = print(source.text, stderr) && written;
  for (const Problem& problem : files.write(source)) {
    complain(problem.text());
    written = false;
  }
  return written;
}

// A run that no application answered has measured nothing, whatever it was to be judged by.
int availability(const Report& report) {
  const Tally& tally = report.results.whole;
  const std::uint64_t answered = tally.ended(Ending::answered);
  const bool nothing_came = answered == 0 && tally.ended(Ending::grpc) == 0 && tally.errors() > 0;
  const std::vector<TargetPlan>& targets = report.plan.targets;
  const std::string place =
      targets.size() == 1 ? targets.front().url : "any of " + grouped(targets.size()) + " targets";
  const std::string first_error = report.errors.first();
  if (nothing_came && tally.ended(Ending::tls) > 0) {
    complain("no TLS with " + place + " (" + first_error +
             "); trust the authority of its certificate with --cacert FILE, or accept any with "
             "--insecure");
  } else if (nothing_came) {
    complain("no server answers at " + place +
             (first_error.empty() ? " within the timeout" : " (" + first_error + ")") +
             "; start one: sluice up -- COMMAND");
  } else if (answered > 0 && tally.refused() == answered) {
    complain("Sluice itself refused all " + grouped(answered) + " requests to " + place +
             "; check the name of the service (sluice get) and its state "
             "(sluice explain SERVICE)");
  } else {
    return kExitOk;
  }
  return kExitUnavailable;
}

int judged(const Report& report, const std::vector<Verdict>& verdicts) {
  int status = kExitOk;
  for (const Verdict& verdict : verdicts) {
    if (verdict.failed) return kExitGateFailed;
    if (verdict.actual) continue;
    complain("cannot evaluate '" + verdict.expression +
             "': the run has no such figure; check that requests were answered and that "
             "the URL is a service of an engine");
    status = kExitFailure;
  }
  return status == kExitOk ? availability(report) : status;
}

void announce(const Options& options) {
  if (terminal_width(STDERR_FILENO) == 0) return;
  const LoadPlan& plan = options.plan;
  const std::string to = plan.name.empty() ? " to " + plan.targets.front().url : "";
  std::fprintf(stderr, "%s%s; Ctrl-C stops it and prints the report so far\n",
               describe(plan).c_str(), to.c_str());
}

// The traces of a plan, by phase.
class Replays {
 public:
  // Completes the replays of `plan` and its length.
  [[nodiscard]] std::optional<Problem> open(LoadPlan& plan) {
    for (Phase& phase : plan.phases) {
      auto& cells = cells_.emplace_back();
      if (!phase.replay) continue;
      auto opened = ReplayCells::open(*phase.replay);
      if (!opened) return opened.error();
      cells.emplace(*std::move(opened));
      replays_ = true;
    }
    if (replays_) plan.duration = plan.begin_of(plan.phases.size()) - plan.warmup;
    if (replays_ && *plan.duration > kRunMax) {
      return Problem{"the phases with their traces last longer than a day", "shorten them"};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<CellReader> readers() {
    std::vector<CellReader> out;
    for (std::optional<ReplayCells>& cells : cells_) {
      out.emplace_back();
      if (cells) out.back() = [&cells](const CellSink& sink) { return cells->read(sink); };
    }
    return out;
  }

  // Why not all of a trace was sent.
  [[nodiscard]] std::optional<Problem> problem() const {
    for (const std::optional<ReplayCells>& cells : cells_) {
      if (cells && cells->problem()) return cells->problem();
    }
    return std::nullopt;
  }

 private:
  std::vector<std::optional<ReplayCells>> cells_;
  bool replays_ = false;
};

std::optional<Problem> fit_connections(LoadPlan& plan) {
  const std::size_t room = raise_connection_limit();
  if (plan.loop == Loop::closed && plan.connections > room) {
    return Problem{"only " + std::to_string(room) + " connections fit the limit on open files",
                   "raise it: ulimit -n 16384"};
  }
  plan.connections = std::min(plan.connections, room);
  return std::nullopt;
}

Result<std::vector<std::string>, Problem> resolve_all(const LoadPlan& plan) {
  std::map<std::string, std::string> known;  // by host
  std::vector<std::string> addresses;
  for (const TargetPlan& target : plan.targets) {
    const std::string& host = target.target.host;
    if (!known.contains(host)) {
      const auto address = resolve(target.target);
      if (!address) return address.error();
      known[host] = *address;
    }
    addresses.push_back(known[host]);
  }
  return addresses;
}

// How the servers of a plan are called; null where none is under TLS.
Result<std::unique_ptr<net::ClientTls>, Problem> tls_of(const LoadPlan& plan) {
  if (!plan.any_tls()) return std::unique_ptr<net::ClientTls>{};
  using Part = net::ClientTlsProblem::Part;
  auto made = net::ClientTls::make(
      {.ca = plan.tls.ca, .own = {plan.tls.certificate, plan.tls.key}, .verify = plan.tls.verify});
  if (made) return *std::move(made);
  const net::ClientTlsProblem& problem = made.error();
  const char* const flag = problem.part == Part::ca    ? "--cacert: "
                           : problem.part == Part::own ? "--cert and --key: "
                                                       : "";
  const bool lacks_ca = problem.part == Part::machine;
  return Problem{flag + problem.what, lacks_ca ? "give them with --cacert FILE" : problem.fix};
}

// The text of a report, and what its comparison with a baseline adds.
struct Outcomes {
  std::string text;
  std::string json = "null";
  bool worse = false;
};

Outcomes outcomes_of(const Report& report, const std::vector<Verdict>& verdicts,
                     const Circumstances& where, const std::optional<Baseline>& baseline) {
  Outcomes out{.text = report_text(report, verdicts)};
  if (!baseline) return out;
  const auto beside = baseline->compare(report_json(report, verdicts, where));
  if (!beside) {
    complain("cannot compare with the baseline: " + beside.error().text());
    return out;
  }
  out.text += "\n" + beside->text;
  out.json = beside->json;
  out.worse = beside->worse;
  return out;
}

int run(const Options& options, const std::vector<std::string>& args,
        const std::vector<std::string>& addresses, const EngineChoice& engine, Replays& replays,
        ReportFiles& files, const std::optional<Baseline>& baseline) {
  const auto tls = tls_of(options.plan);
  if (!tls) {
    complain(tls.error().text());
    return kExitUsage;
  }
  announce(options);
  // Each thread reads all of a trace, and sends its share.
  std::deque<Replays> further;
  std::vector<std::vector<CellReader>> cells;
  cells.push_back(replays.readers());
  while (cells.size() < options.plan.threads) {
    LoadPlan again = options.plan;
    if (const auto problem = further.emplace_back().open(again)) {
      complain(problem->text());
      return kExitUsage;
    }
    cells.push_back(further.back().readers());
  }
  LoadProgram program{options.plan, addresses, engine, std::move(cells), tls->get()};
  const LoadProgram::End end = program.run();
  if (end == LoadProgram::End::killed) return kInterrupted;
  if (end == LoadProgram::End::no_engine) {
    complain(
        "--engine: no answer about any service of the targets within 1 s; check it with sluice "
        "get or curl, or leave it out");
    return kExitUnavailable;
  }
  const Report report = program.report();
  const std::vector<Verdict> verdicts = judge(report);
  const Circumstances here = circumstances(program.began(), args);
  const Outcomes out = outcomes_of(report, verdicts, here, baseline);
  const bool written =
      publish(files, {report, verdicts, here, program.began(), out.text, out.json});
  const auto problem = replays.problem();
  if (problem) complain("not all of the trace was sent: " + problem->text());
  const int status = judged(report, verdicts);
  if (status == kExitOk && out.worse) return kExitGateFailed;
  return status == kExitOk && (!written || problem) ? kExitFailure : status;
}

int carry_out(Options options, const std::vector<std::string>& args,
              const EngineFinder& find_engine) {
  LoadPlan& plan = options.plan;
  Replays replays;
  if (const auto problem = replays.open(plan)) {
    complain(problem->text());
    return plan.name.empty() ? kExitUsage : kExitConfig;
  }
  if (options.check) {
    return print(plan_text(plan), stdout) ? kExitOk : kExitFailure;
  }
  std::optional<Baseline> baseline;
  if (!plan.baseline.empty()) {
    auto opened = Baseline::open(plan);
    if (!opened) {
      complain(opened.error().text());
      return kExitConfig;
    }
    baseline.emplace(*std::move(opened));
  }
  ReportFiles files;
  if (const auto problem = files.open(options.reports)) {
    complain(problem->text());
    return kExitUsage;
  }
  if (const auto problem = fit_connections(plan)) {
    complain(problem->text());
    return kExitUsage;
  }
  if (options.ids) plan.ids = fresh_run_id();
  const auto addresses = resolve_all(plan);
  if (!addresses) {
    complain(addresses.error().text());
    return kExitUnavailable;
  }
  const auto engine = choose_engine(options.engine, find_engine);
  if (!engine) {
    complain(engine.error().text());
    return kExitUnavailable;
  }
  return run(options, args, *addresses, *engine, replays, files, baseline);
}

}  // namespace

int run_load(std::vector<std::string> args, const EngineFinder& find_engine) {
  try {
    if (!args.empty() && args.front() == "compare") {
      return run_compare({args.begin() + 1, args.end()});
    }
    auto options = parse_options(args);
    if (!options) {
      complain(options.error().text());
      for (const Problem& other : options.error().others) complain(other.text());
      return options.error().status;
    }
    return carry_out(std::move(*options), args, find_engine);
  } catch (const std::exception& error) {
    complain(error.what());
    return kExitFailure;
  }
}

}  // namespace sluice::loadgen
