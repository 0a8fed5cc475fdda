#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platform/process/unique_fd.h"
#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/explain_text.h"
#include "programs/sluice/view/live_view.h"
#include "programs/sluice/view/tables.h"
#include "programs/sluice/view/terminal.h"
#include <array>
#include <csignal>
#include <memory>
#include <ostream>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr int kFrameMilliseconds = 250;
constexpr std::size_t kLogLines = 50;
constexpr int kSignalled = 128;

// The signals that end a program, read rather than delivered, so that the terminal is given back
// first.
class StopSignals {
 public:
  StopSignals() {
    sigset_t stops;
    ::sigemptyset(&stops);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      ::sigaddset(&stops, number);
    }
    ::sigprocmask(SIG_BLOCK, &stops, &before_);
    fd_ = local::UniqueFd(::signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  ~StopSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] int fd() const { return fd_.get(); }

  // The one that came, 0 when none did.
  [[nodiscard]] int take() const {
    signalfd_siginfo came{};
    const ssize_t size = ::read(fd_.get(), &came, sizeof came);
    return size == static_cast<ssize_t>(sizeof came) ? static_cast<int>(came.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  local::UniqueFd fd_;
};

// The services of all `engines`, each with its engine when there are several.
Result<json, Failure> services_of(const std::vector<ApiPlace>& engines) {
  json all = json::array();
  for (const ApiPlace& engine : engines) {
    auto services = fetch_services(engine);
    if (!services) return services.error();
    for (json& service : *services) {
      if (engines.size() > 1) service["engine"] = engine.name;
      all.push_back(std::move(service));
    }
  }
  return all;
}

// What the chosen pane shows about the chosen service.
void fill_pane(view::LiveView& live, const std::vector<ApiPlace>& engines) {
  const std::string selected = live.selected();
  if (selected.empty()) {
    return;
  }
  FoundService chosen{.engine = engines.front(), .service = selected};
  if (const std::size_t slash = selected.find('/'); slash != std::string::npos) {
    chosen.service = selected.substr(slash + 1);
    for (const ApiPlace& engine : engines) {
      if (engine.name == selected.substr(0, slash)) chosen.engine = engine;
    }
  }
  if (live.pane() == view::Pane::explain) {
    const auto body = fetch(chosen.engine, {.target = chosen.path() + "/explain"});
    live.set_explanation(body ? view::explain_text(reading::parsed(*body)) : body.error().text);
    return;
  }
  const auto body =
      fetch(chosen.engine, {.target = chosen.path() + "/logs?tail=" + std::to_string(kLogLines)});
  if (body && live.pane() == view::Pane::logs) {
    live.set_logs(*body);
  }
}

std::string whose(const std::vector<ApiPlace>& engines) {
  if (engines.size() > 1) return std::to_string(engines.size()) + " engines";
  return (engines.front().is_server() ? "autoscaler " : "engine ") + engines.front().name;
}

// Of the front door; empty when there is none, or several.
std::string address_of(const std::vector<ApiPlace>& engines) {
  if (engines.size() > 1) return {};
  const auto version = fetch(engines.front(), {.target = "/api/v1/version"});
  return version ? reading::text(reading::parsed(*version), "url") : "";
}

int watch(const Surroundings& with, const std::vector<ApiPlace>& engines,
          std::unique_ptr<view::Terminal> terminal) {
  view::LiveView live(view::Quit::leaves, whose(engines), address_of(engines));
  const StopSignals signals;
  std::array<pollfd, 2> inputs{{{.fd = terminal->key_fd(), .events = POLLIN, .revents = 0},
                                {.fd = signals.fd(), .events = POLLIN, .revents = 0}}};
  while (true) {
    const auto services = services_of(engines);
    if (!services) {
      terminal.reset();
      return report(with, services.error());
    }
    live.set_services(*services);
    fill_pane(live, engines);
    terminal->write(live.paint(terminal->size()));
    ::poll(inputs.data(), inputs.size(), kFrameMilliseconds);
    if (const int number = signals.take(); number != 0) {
      terminal.reset();
      return kSignalled + number;
    }
    if (live.on_keys(terminal->read_keys())) {
      return kExitOk;
    }
  }
}

}  // namespace

int run_top(const Surroundings& with, const Arguments& args) {
  CLI::App app("Shows the live view; without a terminal, prints the table once.");
  std::string name;
  app.add_option("ENGINE", name, "the engine, when several run");
  if (const auto code = ends_early(with, app, "top", args)) {
    return *code;
  }
  auto engines = places(with);
  const bool all = engines.size() > 1 && name.empty() && with.engine.empty();
  if (!all) {
    const auto engine = find_engine(with, name);
    if (!engine) {
      return report(with, engine.error());
    }
    engines = {*engine};
  }
  auto terminal = with.terminal ? view::Terminal::open() : nullptr;
  if (terminal) {
    return watch(with, engines, std::move(terminal));
  }
  const auto services = services_of(engines);
  if (!services) {
    return report(with, services.error());
  }
  with.out << view::top_text(view::top_rows(*services));
  return kExitOk;
}

}  // namespace sluice::commands
