#include "programs/node-agent/config.h"

#include "common/base/exit_status.h"
#include "common/base/version.h"
#include "common/net/host_and_port.h"
#include "common/settings/program_variables.h"
#include "common/values/go_syntax.h"
#include "common/values/quantity.h"

#include <CLI/CLI.hpp>

#include "memory-pressure/io/cri_client.h"
#include <array>
#include <cmath>
#include <map>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

using settings::Reader;
using Need = Reader::Need;
using Flags = std::map<std::string, std::string>;

constexpr std::size_t kNameMax = 253;
constexpr std::size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;
constexpr double kCoresMax = 1000;
constexpr std::int64_t kBytesMax = 1'000'000'000'000'000'000;

struct Flag {
  const char* name;
  const char* help;
};

// Values are judged after parsing, where a wrong one is answered with its fix.
constexpr std::array kFlags{
    Flag{"--policy", "foresight, headroom or off (foresight)"},
    Flag{"--upper", "share of memory above which it acts (0.90)"},
    Flag{"--lower", "share below which the pressure is over (0.84)"},
    Flag{"--step", "containers per step (1)"},
    Flag{"--escalate-after", "time without effect after which it throttles harder (5s)"},
    Flag{"--sample", "interval between samples without pressure (250ms)"},
    Flag{"--quota", "CPU of a throttled container (25m)"},
    Flag{"--overcommit-factor", "share of possible growth to reserve for (0.6)"},
    Flag{"--reserve", "memory kept free (200Mi)"},
    Flag{"--hold", "how batch containers are held: freezer or quota (freezer)"},
    Flag{"--sight",
         "time within which a new container is seen; 0s: by the runtime's list only (10ms)"},
    Flag{"--confidence", "standard deviations of the expected memory use to keep free (2.5)"},
    Flag{"--brake", "how many times the memory growth of one reaction to keep free (1)"},
    Flag{"--order", "throttle order: age, usage or growth (age)"},
    Flag{"--memory-source", "proc, or cgroup:PATH to treat a group as the node"},
    Flag{"--runtime-endpoint", "unix:///path of the container runtime; default: the usual ones"},
    Flag{"--state-dir",
         "directory of journal, lock and agent.sock "
         "(/var/lib/sluice/node-agent)"},
    Flag{"--lease", "time after which the throttles of an agent that stopped are released (10s)"},
};

void read_share(Reader& reader, const char* name, double& share) {
  const auto text = reader.find(name);
  if (!text) return;
  const auto value = read_go_float(*text);
  if (!value || !std::isfinite(*value)) return reader.refuse(name, *text, "a number such as 0.9");
  share = *value;
}

void read_policy(Reader& reader, PolicySettings& policy) {
  policy.policy =
      reader.word_or("--policy", policy.policy, policy_named, "foresight, headroom or off");
  policy.order = reader.word_or("--order", policy.order, order_named, "age, usage or growth");
  read_share(reader, "--upper", policy.upper);
  read_share(reader, "--lower", policy.lower);
  read_share(reader, "--overcommit-factor", policy.overcommit_factor);
  read_share(reader, "--confidence", policy.confidence);
  read_share(reader, "--brake", policy.brake);
  policy.hold = reader.word_or("--hold", policy.hold, hold_named, "freezer or quota");
  policy.sight = reader.wait_or("--sight", policy.sight, {{}, std::chrono::minutes{1}});
  policy.step =
      static_cast<std::uint32_t>(reader.integer_or("--step", policy.step, {0, 1'000'000}));
  policy.escalate_after =
      reader.wait_or("--escalate-after", policy.escalate_after, {{}, std::chrono::hours{1}});
  policy.sample = reader.wait_or("--sample", policy.sample,
                                 {std::chrono::milliseconds{10}, std::chrono::minutes{1}});
  if (const auto text = reader.find("--quota")) {
    const auto cores = read_cores(*text);
    if (!cores || *cores > kCoresMax) return reader.refuse("--quota", *text, "CPU such as 25m");
    policy.quota_millicores = std::llround(*cores * 1000);
  }
  if (const auto text = reader.find("--reserve")) {
    const auto bytes = read_size(*text);
    if (!bytes || *bytes > kBytesMax) {
      return reader.refuse("--reserve", *text, "a size such as 200Mi");
    }
    policy.reserve = *bytes;
  }
  if (const auto problem = check(policy)) reader.complain(*problem);
}

void read_places(Reader& reader, Config& config) {
  config.memory_source = reader.find("--memory-source").value_or(config.memory_source);
  config.state_dir = reader.find("--state-dir").value_or(config.state_dir);
  if (!config.state_dir.starts_with('/')) {
    reader.refuse("--state-dir", config.state_dir, "an absolute path");
  }
  if (const auto endpoint = reader.find("--runtime-endpoint")) {
    auto path = socket_path(*endpoint);
    if (!path)
      return reader.complain({"--runtime-endpoint: " + path.error().what, path.error().fix});
    config.socket = std::move(*path);
  }
  config.lease =
      reader.wait_or("--lease", config.lease, {std::chrono::seconds{1}, std::chrono::hours{1}});
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data()
                                                                             : "localhost";
}

void read_enrolment(Reader& reader, const Config& config) {
  const bool by_token = !config.token_file.empty();
  if (by_token == config.ca_file.empty() || by_token == config.enroll.empty() ||
      (by_token && config.tls_dir.empty())) {
    reader.complain(
        {"SLUICE_TOKEN_FILE, SLUICE_CA_FILE, SLUICE_ENROLL_ADDRESS and SLUICE_TLS_DIR must "
         "be set together",
         "set all four to enrol with the autoscaler, or SLUICE_TLS_DIR alone for "
         "existing files"});
  }
  if (by_token && !net::host_and_port(config.enroll)) {
    reader.refuse("SLUICE_ENROLL_ADDRESS", config.enroll, "host:port of the autoscaler");
  }
}

void read_nri(Reader& reader, std::string& socket) {
  const std::string given = reader.find("SLUICE_NRI_SOCKET").value_or(socket);
  socket.clear();
  if (given.empty()) return;
  auto path = socket_path(given);
  if (!path || path->size() > kSocketPathMax) {
    return reader.refuse("SLUICE_NRI_SOCKET", given,
                         "the path of a socket such as /run/nri/nri.sock, or nothing for none");
  }
  socket = std::move(*path);
}

void read_environment(Reader& reader, Config& config) {
  config.node = reader.text("NODE_NAME", Need::optional);
  if (config.node.empty()) config.node = host_name();
  if (config.node.size() > kNameMax) {
    reader.refuse("NODE_NAME", config.node, "a name of at most 253 bytes");
  }
  config.autoscalers = reader.list("SLUICE_AUTOSCALER_ADDRESS");
  std::erase(config.autoscalers, "");
  for (const std::string& each : config.autoscalers) {
    if (!net::is_dialable(each)) {
      reader.refuse("SLUICE_AUTOSCALER_ADDRESS", each,
                    "host:port or unix:/path, separated by commas");
    }
  }
  config.tls_dir = reader.text("SLUICE_TLS_DIR", Need::optional);
  config.token_file = reader.text("SLUICE_TOKEN_FILE", Need::optional);
  config.ca_file = reader.text("SLUICE_CA_FILE", Need::optional);
  config.enroll = reader.text("SLUICE_ENROLL_ADDRESS", Need::optional);
  read_enrolment(reader, config);
  read_nri(reader, config.nri);
  config.metrics = reader.address_unless_empty("SLUICE_METRICS_ADDRESS", ":9090");
  config.log_least = settings::read_log_level(reader);
  config.ready_fd = settings::read_ready_fd(reader);
}

Result<Config, Usage> judge(Config config, const Flags& flags,
                            const settings::Environment& environment) {
  const settings::Environment given = [&flags](const char* name) -> std::optional<std::string> {
    const auto at = flags.find(name);
    return at == flags.end() ? std::nullopt : std::optional{at->second};
  };
  Reader of_flags{given};
  read_policy(of_flags, config.policy);
  read_places(of_flags, config);
  if (of_flags.problem()) return Usage{kExitUsage, of_flags.problem()->text()};
  const int ready_fd = config.ready_fd;
  Reader of_environment{environment};
  read_environment(of_environment, config);
  if (of_environment.problem()) return Usage{kExitConfig, of_environment.problem()->text()};
  if (ready_fd >= 0) config.ready_fd = ready_fd;
  return config;
}

struct Switches {
  bool restore = false;
  bool no_gate = false;
  bool no_pause = false;
};

// Verbs of the program beside its plain run; `guard` is the agent's own.
void add_verbs(CLI::App& cli, Config& config) {
  cli.fallthrough();  // flags may follow the verb
  CLI::App* const status = cli.add_subcommand("status", "show the state of the running agent");
  status->add_flag("--json", config.json, "as JSON");
  status->callback([&config] { config.task = Task::status; });
  cli.add_subcommand("off", "switch the running agent off: it releases all containers and idles")
      ->callback([&config] { config.task = Task::off; });
  cli.add_subcommand("on", "switch the running agent on again")->callback([&config] {
    config.task = Task::on;
  });
  cli.add_subcommand("guard", "")->fallthrough()->group("")->callback([&config] {
    config.task = Task::guard;
  });
  cli.require_subcommand(0, 1);
}

}  // namespace

Result<Config, Usage> read_config(int argc, const char* const* argv,
                                  const settings::Environment& environment) {
  Config config;
  Switches switches;
  std::array<std::string, kFlags.size()> values;
  CLI::App cli{"node-agent: throttles containers when memory runs short, so that none is killed"};
  cli.footer("README.md lists what it never touches, and which variables it reads.");
  std::array<CLI::Option*, kFlags.size()> options{};
  for (std::size_t i = 0; i < kFlags.size(); ++i) {
    options[i] = cli.add_option(kFlags[i].name, values[i], kFlags[i].help);
  }
  cli.add_flag("--dry-run", config.dry_run, "decide and log, change nothing");
  cli.add_flag("--restore", switches.restore, "undo what the journal lists, then exit");
  cli.add_flag("--no-gate", switches.no_gate, "never delay a start");
  cli.add_flag("--no-pause", switches.no_pause, "never throttle: only the start gate");
  cli.add_option("--ready-fd", config.ready_fd,
                 "write one line to this descriptor once all ports are bound");
  cli.set_version_flag("--version", "node-agent " + std::string{kVersion});
  add_verbs(cli, config);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Usage{cli.exit(error) == 0 ? 0 : kExitUsage, {}};
  }
  Flags flags;
  for (std::size_t i = 0; i < kFlags.size(); ++i) {
    if (options[i]->count() > 0) flags.emplace(kFlags[i].name, values[i]);
  }
  if (switches.restore) config.task = Task::restore;
  config.policy.gate = !switches.no_gate;
  config.policy.pause = !switches.no_pause;
  return judge(std::move(config), flags, environment);
}

}  // namespace sluice::node_agent
