#include "common/base/exit_status.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/kube/access.h"
#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/net/lookup.h"
#include "common/values/flag_checks.h"

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/dashboard_rules.h"
#include "programs/sluice/commands/dashboard_server.h"
#include "programs/sluice/commands/plugin_run.h"
#include "programs/sluice/commands/verbs.h"
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <ostream>
#include <spawn.h>
#include <unistd.h>
#include <utility>

namespace sluice::commands {
namespace {

namespace asio = boost::asio;

struct Wish {
  kube::AccessChoice choice;
  std::string space{kAutoscalerSpace};
  int port = 0;
  bool open = false;
};

// Whatever the desktop has for links; it ends by itself.
void open_in_browser(const Surroundings& with, const std::string& link) {
  std::string words[] = {"xdg-open", link};
  char* argv[] = {words[0].data(), words[1].data(), nullptr};
  posix_spawn_file_actions_t quiet{};
  ::posix_spawn_file_actions_init(&quiet);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
  pid_t child = -1;
  const int failed = ::posix_spawnp(&child, argv[0], &quiet, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&quiet);
  if (failed != 0) with.err << "--open: xdg-open cannot be started; open the link yourself\n";
}

// The link of the engine's page. The token stands in a file alone.
int print_link(const Surroundings& with, bool open) {
  const auto engine = find_engine(with, {});
  if (!engine) return report(with, engine.error());
  const auto body = fetch(*engine, {.target = "/api/v1/version"});
  if (!body) return report(with, body.error());
  const std::string page = reading::text(reading::parsed(*body), "page");
  if (page.empty()) {
    return report(with, {kExitFailure, "engine " + engine->name +
                                           " is of a version without a page; start it again with "
                                           "this sluice"});
  }
  const std::filesystem::path file = local::EnginePaths{with.roots, engine->name}.edit_page();
  std::error_code ignored;
  const bool edits = std::filesystem::exists(file, ignored);
  const std::string link = edits ? "file://" + file.string() : page;
  with.out << link << std::endl;
  if (edits) with.err << "it opens " << page << " with the token of this start" << std::endl;
  if (open) open_in_browser(with, link);
  return kExitOk;
}

/// A look at the cluster before anything is served.
class Cluster {
 public:
  Cluster(const Surroundings& with, asio::io_context& io, const log::Logger& log)
      : with_{with}, io_{io}, log_{log} {}

  /// Whether an autoscaler answers in namespace `space`.
  [[nodiscard]] std::optional<Failure> find_autoscaler(const kube::Access& access,
                                                       const std::string& space) {
    auto client = kube::Client::make(io_, with_.clock, log_, access);
    if (!client) return Failure{kExitConfig, client.error().text()};
    std::optional<kube::Answer> answer;
    const auto call = (*client)->send({.path = proxy_path(space) + "/api/v1/version"},
                                      [&](kube::Answer given) { answer = std::move(given); });
    while (!answer && io_.run_one() > 0) {
    }
    if (!answer) return Failure{kExitUnavailable, "the API server did not answer"};
    kube::Failure failure{.kind = kube::Failure::Kind::garbled};
    if (*answer && !reading::text(reading::parsed(**answer), "version").empty())
      return std::nullopt;
    if (!*answer) failure = answer->error();
    return no_autoscaler(failure, space, shown(access));
  }

  [[nodiscard]] Result<std::vector<net::Address>, Failure> addresses(const kube::Access& access) {
    std::vector<net::Address> found;
    std::string why = "no address";
    bool done = false;
    const auto looking = net::look_up(
        io_, access.address,
        [&](const boost::system::error_code& ec, std::vector<net::Endpoint> all) {
          if (ec) why = ec.message();
          for (const net::Endpoint& each : all) {
            found.push_back({.host = net::ip_of(each), .port = access.address.port, .path = {}});
          }
          done = true;
        });
    io_.restart();
    while (!done && io_.run_one() > 0) {
    }
    if (!found.empty()) return found;
    return Failure{kExitUnavailable, "the API server " + shown(access) +
                                         " cannot be found: " + why + "; correct the kubeconfig"};
  }

  [[nodiscard]] static std::string shown(const kube::Access& access) {
    return (access.tls ? "https://" : "http://") + kube::authority_of(access);
  }

 private:
  const Surroundings& with_;
  asio::io_context& io_;
  const log::Logger& log_;
};

// Serves the page of the cluster until a signal ends it.
int serve_page(const Surroundings& with, const Wish& wish, const PersonAccess& person) {
  const kube::Access& access = person.access;
  std::signal(SIGPIPE, SIG_IGN);
  const log::Logger log{"sluice", log::Severity::error};
  asio::io_context io{1};
  Cluster cluster{with, io, log};
  if (const auto problem = cluster.find_autoscaler(access, wish.space))
    return report(with, *problem);
  const auto servers = cluster.addresses(access);
  if (!servers) return report(with, servers.error());
  std::unique_ptr<kube::ServerTls> tls;
  if (access.tls) {
    auto made = kube::ServerTls::make(access);
    if (!made) return report(with, {kExitConfig, made.error().text()});
    tls = std::move(*made);
  }
  asio::signal_set signals{io, SIGINT, SIGTERM};
  DashboardServer server{io, with.clock, log, person, std::move(tls), *servers, wish.space};
  const auto bound = server.listen(static_cast<std::uint16_t>(wish.port));
  if (!bound) return report(with, {kExitFailure, bound.error().text()});
  const std::string link = "http://" + bound->text() + "/";
  with.out << link << std::endl;
  with.err << "reads " << wish.space << " at " << Cluster::shown(access)
           << " with the rights of this user, and changes nothing; end it with Ctrl-C" << std::endl;
  if (wish.open) open_in_browser(with, link);
  signals.async_wait(
      [&](const boost::system::error_code& /*failed*/, int /*number*/) { io.stop(); });
  io.restart();
  io.run();
  return kExitOk;
}

}  // namespace

int run_dashboard(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Prints the link of the dashboard. Without an engine here, or with a flag of a cluster, it "
      "serves the page of the cluster's autoscaler on this machine until it is ended, read-only.");
  Wish wish;
  const std::vector<CLI::Option*> of_cluster = {
      app.add_option("--kubeconfig", wish.choice.kubeconfig,
                     "serve the page of the cluster of this file")
          ->type_name("FILE")
          ->check(check_not_empty),
      app.add_option("--context", wish.choice.context,
                     "serve that of this context of the kubeconfig")
          ->type_name("NAME")
          ->check(check_not_empty),
      app.add_option("-n,--namespace", wish.space,
                     "serve that of the autoscaler there (sluice-system)")
          ->type_name("NAME"),
      app.add_option("--port", wish.port,
                     "serve it at this port of 127.0.0.1; 0, the default: a free one")
          ->check(CLI::Range(0, 65535))};
  app.add_flag("--open", wish.open, "open the link in a browser, with xdg-open");
  if (const auto code = ends_early(with, app, "dashboard", args)) return *code;
  bool asked = false;
  for (const CLI::Option* option : of_cluster) asked = asked || option->count() > 0;
  if (asked && !with.engine.empty()) {
    return report(with, {kExitUsage,
                         "--engine is for an engine on this machine, the other flags "
                         "are for a cluster; give one of both"});
  }
  if (const auto wrong = wrong_namespace(wish.space)) return report(with, *wrong);
  if (!asked && (!with.engine.empty() || !places(with).empty())) return print_link(with, wish.open);
  const auto access = access_of_person(with.clock, wish.choice);
  if (access) return serve_page(with, wish, *access);
  if (asked) {
    return report(with,
                  {kExitConfig, access.error().text() +
                                    "; these flags are for the page of a cluster: for that of "
                                    "an engine here give none of them"});
  }
  return report(with,
                {kExitUnavailable,
                 "no engine is running; start one: sluice up -- COMMAND; and for a cluster: " +
                     access.error().text()});
}

}  // namespace sluice::commands
