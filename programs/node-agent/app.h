#pragma once

#include "common/log/log.h"
#include "common/loop/asio_loop.h"
#include "common/metrics/families.h"
#include "common/net/server/proxy_server.h"
#include "common/program/end_signals.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include "memory-pressure/io/agent_page.h"
#include "memory-pressure/io/birth_watch.h"
#include "memory-pressure/io/container_events.h"
#include "memory-pressure/io/container_watch.h"
#include "memory-pressure/io/control_loop.h"
#include "memory-pressure/io/cri_client.h"
#include "memory-pressure/io/enrolment.h"
#include "memory-pressure/io/guardian.h"
#include "memory-pressure/io/journal_file.h"
#include "memory-pressure/io/memory_sense.h"
#include "memory-pressure/io/nri_plugin.h"
#include "memory-pressure/io/psi_trigger.h"
#include "memory-pressure/io/reports.h"
#include "memory-pressure/io/state_lock.h"
#include "programs/node-agent/config.h"
#include <optional>
#include <string>

namespace sluice::node_agent {

/// What only one agent of a state directory has. `journal` is absent in a dry run.
struct Belongings {
  StateLock lock;
  std::optional<JournalFile> journal;
  MemorySense memory;
};

/// The node agent, put together on one thread: senses, loop, hand, and the doors for people.
class App {
 public:
  App(Config config, Belongings belongings, MakePolicy make_policy);

  /// Works until a signal, then restores all quotas. Returns the exit code: 1 for an address
  /// or a runtime it cannot have, or when not everything could be given back.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] std::optional<Problem> open_doors();
  void protect_ourselves() const;
  void begin();
  void watch_births();
  void on_start(const nri::Start& start);
  [[nodiscard]] std::string kin_path() const;
  void recall();
  void remember();
  [[nodiscard]] std::optional<Problem> begin_reports();
  [[nodiscard]] bool has_lapsed();
  void leave();
  void give_up();
  void fail(const Problem& problem);
  [[nodiscard]] proto::NodeReport report() const;
  [[nodiscard]] std::string status() const;
  void write_metrics(metrics::Families& families) const;
  [[nodiscard]] bool acts() const;

  Config config_;
  Belongings belongings_;
  Clock clock_;
  log::Logger log_;
  TimePoint started_;
  std::string boot_;
  boost::asio::io_context io_{1};
  AsioLoop time_{io_, clock_};
  CriClient client_;
  ContainerWatch watch_;
  BirthWatch births_;
  ControlLoop loop_;
  PsiTrigger stalls_;
  ContainerEvents events_;
  bool hears_events_ = false;
  TimePoint remembered_at_;
  std::optional<Guardian> guardian_;
  Reports reports_;
  std::optional<Enrolment> enrolment_;  // with SLUICE_TOKEN_FILE
  AgentPage page_;
  AgentPage own_page_;
  net::ProxyServer page_server_;
  net::ProxyServer own_server_;
  NriPlugin nri_;  // goes early: a start would wait for it while others end
  program::EndSignals signals_;
  int exit_code_ = 0;
};

/// Runs with the configuration; returns the exit code. 78: a wrong setting. `make_policy`:
/// another only for comparisons.
[[nodiscard]] int run(Config config, MakePolicy make_policy = make_rule);

}  // namespace sluice::node_agent
