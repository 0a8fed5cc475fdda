#include "memory-pressure/io/restoration.h"

#include "common/loop/asio_loop.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "memory-pressure/core/recovery.h"
#include "memory-pressure/io/container_watch.h"
#include "memory-pressure/io/control_loop.h"
#include "memory-pressure/io/cri_client.h"
#include "memory-pressure/io/guardian.h"
#include "memory-pressure/io/memory_sense.h"
#include "memory-pressure/io/state_lock.h"
#include "memory-pressure/io/thaw.h"
#include <csignal>
#include <sys/prctl.h>
#include <utility>

namespace sluice::node_agent {
namespace {

// Whether the process that has the lock has said in the journal that what is listed there is its
// own. One that only looks on, in a dry run, never does.
bool vouches(const std::string& holder, const std::string& state_dir) {
  const auto journal = JournalFile::open(state_dir);
  if (!journal) return false;
  const auto content = journal->content();
  if (!content) return false;
  const auto lease = recover(*content, boot_id(), {}).lease;
  return lease && lease->by == holder && lease->until > Clock{}.now();
}

// Without the runtime, which may be what hangs.
void thaw_listed(const RestorationOptions& options, const log::Logger& log, JournalFile& journal) {
  const auto content = journal.content();
  if (!content) return;  // said by who restores the quotas
  auto frozen = recover(*content, boot_id(), {}).frozen;
  if (frozen.empty()) return;
  boost::asio::io_context io{1};
  const Clock clock;
  AsioLoop time{io, clock};
  auto memory = MemorySense::open(options.memory_source);
  const auto is_tight = [&] {
    const auto seen = memory ? memory->read() : std::nullopt;
    return !seen || seen->is_above(options.lower);
  };
  Thaw thaw{{.loop = time,
             .journal = journal,
             .log = log,
             .freezer = Freezer{find_cgroup_mounts().freezer},
             .is_tight = is_tight}};
  thaw.start(std::move(frozen), [] {});
  io.run();
}

std::optional<Problem> restore_within_limit(const RestorationOptions& options,
                                            const log::Logger& log, JournalFile& journal) {
  boost::asio::io_context io{1};
  const Clock clock;
  AsioLoop time{io, clock};
  CriClient client{io, {.sockets = options.sockets}};
  ContainerWatch watch{client, clock, {}};
  PolicySettings policy;
  policy.policy = PolicyKind::off;
  ControlLoop loop{
      {.loop = time,
       .log = log,
       .memory = {},
       .runtime = client,
       .containers = watch,
       .journal = &journal},
      {.controller = {.policy = policy, .boot_id = boot_id(), .strays = options.strays}}};
  std::optional<Problem> problem;
  loop.start([&](const Problem& fatal) {
    problem = fatal;
    if (!options.keep_trying) io.stop();
  });
  const auto limit = time.timer();
  limit->after(options.limit + std::chrono::seconds{5}, [&] { io.stop(); });
  bool done = false;
  loop.restore(options.limit, [&](bool restored) {
    done = true;
    if (!restored) {
      problem = Problem{"not every container could be released: " +
                            (loop.is_degraded() ? loop.trouble() : "the runtime refuses"),
                        "check that the container runtime answers, then run node-agent --restore"};
    }
    io.stop();
  });
  io.run();
  if (problem) return problem;
  if (!done) return Problem{"the runtime has not answered in time", "check that it runs"};
  return journal.compact({});
}

}  // namespace

std::optional<Problem> restore_everything(const RestorationOptions& options, const log::Logger& log,
                                          bool shared) {
  auto journal = JournalFile::open(options.state_dir);
  if (!journal) return journal.error();
  if (shared) journal->share();
  thaw_listed(options, log, *journal);
  while (true) {
    auto problem = restore_within_limit(options, log, *journal);
    if (!problem || !options.keep_trying) return problem;
    log.write(log::Severity::error, problem->text());
  }
}

int restore_once(const RestorationOptions& options, const log::Logger& log) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto lock = StateLock::take(options.state_dir);
  if (!lock) {
    log.write(log::Severity::error, lock.error().problem.text());
    return 1;
  }
  if (const auto problem = restore_everything(options, log, false)) {
    log.write(log::Severity::error, problem->text());
    return 1;
  }
  log.write(log::Severity::info, "all containers are released");
  return 0;
}

int keep_guard(RestorationOptions options, Duration lease, const log::Logger& log) {
  options.strays = false;  // whose they are, others must say: another agent may be at work here
  std::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_NAME, "node-agent");  // it was started as /proc/self/exe
  boost::asio::io_context io{1};
  Vigil vigil{io, kGuardLine, lease};
  boost::asio::signal_set signals{io, SIGTERM, SIGINT, SIGHUP};
  std::function<void()> mind_signals = [&] {
    signals.async_wait([&](auto error, int) {
      if (error) return;
      vigil.hurry();
      mind_signals();
    });
  };
  mind_signals();
  auto how = Vigil::End::dismissed;
  vigil.keep([&](Vigil::End end) {
    how = end;
    io.stop();
  });
  io.run();
  if (how == Vigil::End::dismissed) return 0;
  const auto lock = StateLock::take(options.state_dir);
  const bool followed =
      !lock && lock.error().why == StateLock::Failure::held && vigil.agent_is_gone();
  if (followed && vouches(lock.error().holder, options.state_dir)) return 0;
  log.write(log::Severity::warning, "the agent's lease expired: releasing the containers it held");
  if (const auto problem = restore_everything(options, log, !lock)) {
    log.write(log::Severity::error, problem->text());
    return 1;
  }
  return 0;
}

}  // namespace sluice::node_agent
