#include "load/io/protocol_flags.h"

#include "common/files/file_io.h"
#include "common/values/flag_checks.h"

#include <CLI/CLI.hpp>

#include "load/core/quantity.h"
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace sluice::loadgen {

namespace {

// What `path`, the value of `flag`, holds; an empty path nothing.
Result<std::string, Problem> content_of(const std::string& flag, const std::string& path) {
  using Text = Result<std::string, Problem>;
  // Said outright: a string would also do for a Problem.
  if (path.empty()) return Text{boost::system::in_place_value, std::string{}};
  auto content = files::read_file(path);
  if (!content) return Problem{flag + ": " + content.error().what, content.error().fix};
  if (!*content) return Problem{flag + ": there is no file '" + path + "'", "check its path"};
  return Text{boost::system::in_place_value, **std::move(content)};
}

std::optional<Problem> read_tls(const ProtocolFlags& flags, TlsPlan& tls) {
  if (flags.insecure && !flags.cacert.empty()) {
    return Problem{"--cacert and --insecure cannot be joined",
                   "without verification no authority is needed; remove one"};
  }
  if (flags.cert.empty() != flags.key.empty()) {
    return Problem{"--cert and --key belong together", "give both, as files in PEM"};
  }
  tls.verify = !flags.insecure;
  for (const auto& [flag, path, to] : {std::tuple{"--cacert", &flags.cacert, &tls.ca},
                                       std::tuple{"--cert", &flags.cert, &tls.certificate},
                                       std::tuple{"--key", &flags.key, &tls.key}}) {
    auto content = content_of(flag, *path);
    if (!content) return content.error();
    if (!path->empty() && content->empty()) {
      return Problem{std::string{flag} + ": the file '" + *path + "' is empty",
                     "give one with PEM in it"};
    }
    *to = *std::move(content);
  }
  return std::nullopt;
}

std::optional<Problem> read_times(const ProtocolFlags& flags, TargetPlan& target) {
  if (flags.every.empty() && flags.hold.empty()) return std::nullopt;
  if (target.target.protocol != Protocol::ws) {
    return Problem{"--every and --hold are for WebSocket", "give a ws:// URL, or remove them"};
  }
  if (auto problem = set_duration(target.every, flags.every, "--every")) return problem;
  return set_duration(target.hold, flags.hold, "--hold");
}

}  // namespace

void declare(CLI::App& app, ProtocolFlags& flags) {
  app.add_option("--protocol", flags.protocol,
                 "http1, h2, grpc or ws, in place of what the scheme says: https chooses h2 or\n"
                 "http1, the others name theirs")
      ->type_name("http1|h2|grpc|ws")
      ->check(check_not_empty);
  app.add_option(
         "--streams", flags.streams,
         "h2: requests at once on a connection (as many as the server allows; closed loop 1)")
      ->check(check_unsigned);
  app.add_option("--threads", flags.threads,
                 "that send; their number never changes the schedule (1)")
      ->check(check_unsigned);
  app.add_option("--every", flags.every, "ws: from message to message of a session (1s)")
      ->check(check_not_empty);
  app.add_option("--hold", flags.hold, "ws: how long a session lasts (10s)")
      ->check(check_not_empty);
  app.add_flag("-k,--insecure", flags.insecure, "https: accept any certificate");
  app.add_option("--cacert", flags.cacert,
                 "https: trust these certificate authorities, in place of the machine's")
      ->type_name("FILE")
      ->check(check_not_empty);
  app.add_option("--cert", flags.cert, "https: certificate to show to servers that ask for one")
      ->type_name("FILE")
      ->check(check_not_empty);
  app.add_option("--key", flags.key, "https: its private key")
      ->type_name("FILE")
      ->check(check_not_empty);
}

std::optional<Problem> read_protocols(const ProtocolFlags& flags, LoadPlan& plan) {
  if (flags.streams && (*flags.streams < 1 || *flags.streams > kStreamsMax)) {
    return Problem{"--streams is not 1 to 1000", "give for example --streams 10"};
  }
  plan.streams = flags.streams;
  const std::size_t threads = flags.threads.value_or(1);
  if (threads < 1 || threads > std::min(kThreadsMax, plan.connections)) {
    return Problem{"--threads is not 1 to 64, or there are fewer connections",
                   "give for example --threads 2, and as many connections"};
  }
  plan.threads = threads;
  for (TargetPlan& target : plan.targets) {
    if (auto problem = read_times(flags, target)) return problem;
    if (auto problem = protocol_problem(plan, target)) return problem;
  }
  const bool given =
      flags.insecure || !flags.cacert.empty() || !flags.cert.empty() || !flags.key.empty();
  if (!given) return std::nullopt;
  if (!plan.any_tls()) {
    return Problem{"--insecure, --cacert, --cert and --key are for TLS, and no target is under it",
                   "give an https:// URL, or remove them"};
  }
  return read_tls(flags, plan.tls);
}

}  // namespace sluice::loadgen
