#include "load/io/options.h"

#include "common/http/text.h"
#include "common/values/flag_checks.h"

#include <CLI/CLI.hpp>

#include "load/core/quantity.h"
#include "load/core/shape.h"
#include "load/core/trace.h"
#include "load/io/body_file.h"
#include "load/io/scenario.h"
#include <algorithm>
#include <array>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr const char* kAbout =
    "Sends HTTP requests at a rate, measures latency from the planned send time.";

// The command line as text, before any check.
struct Raw {
  std::string url;
  std::string file;
  bool check = false;
  std::optional<double> rate;
  std::optional<std::size_t> connections;
  std::optional<std::size_t> max_connections;
  std::string reuse;
  std::optional<std::uint64_t> count;
  std::string duration;
  std::string shape;
  std::string replay;
  std::optional<double> speed;
  std::optional<std::uint64_t> times;
  std::vector<std::string> headers;
  std::string method;
  std::string body;
  std::string timeout;
  std::string arrivals;
  std::optional<std::uint64_t> seed;
  std::string warmup;
  std::string json;
  std::vector<std::string> fail_if;
  std::string output = "text";
  bool ids = false;
};

void declare(CLI::App& app, Raw& raw) {
  app.add_option("URL", raw.url, "where to send: [http://]HOST[:PORT][/PATH]");
  app.add_option("-f,--file", raw.file,
                 "a scenario of targets, phases and assertions (load/README.md); flags beside it\n"
                 "win over its defaults")
      ->type_name("PLAN.yaml");
  app.add_flag("--check", raw.check, "only read the scenario, and say what it would send");
  app.add_option("-R,--rate", raw.rate, "open loop: requests per second (default 50)");
  app.add_option("-c,--connections", raw.connections,
                 "closed loop: number of connections; with --rate, a limit on connections");
  app.add_option("-z,-d,--duration", raw.duration, "length of the run (default 30s, without -n)");
  app.add_option("-n,--count", raw.count, "stop after this many requests");
  app.add_option(
      "--shape", raw.shape,
      "open loop with rates over time, items joined by commas: step RATE:TIME, ramp A-B:TIME,\n"
      "exp A-B:TIME, sine LOW-HIGH/PERIOD:TIME, spike RATE:TIME, day LOW-HIGH:TIME, pause TIME");
  app.add_option(
         "--replay", raw.replay,
         "open loop with the times of a recorded trace: csv, an access log, HAR, a recording, "
         "see sluice trace;\n"
         "sends GET, HEAD and OPTIONS, and what has no method as -m and -b tell")
      ->type_name("FILE[:FORMAT]");
  app.add_option("--speed", raw.speed, "replay: times as fast (default 1)");
  app.add_option("--times", raw.times, "replay: send each request so many times (default 1)");
  app.add_option("-H,--header", raw.headers, "header 'Name: value' (repeatable)")
      ->allow_extra_args(false);
  app.add_option("-m,--method", raw.method, "method (default GET, with a body POST)");
  app.add_option("-b,--body", raw.body, "body, or @FILE; at most 16 MiB");
  app.add_option("--timeout", raw.timeout, "timeout of one request (30s)");
  app.add_option("--arrivals", raw.arrivals, "uniform or poisson (poisson)")
      ->type_name("uniform|poisson");
  app.add_option("--seed", raw.seed,
                 "seed of poisson arrivals, and of replayed times that are not exact (1)");
  app.add_option("--warmup", raw.warmup, "warm-up before the counted run (0s)");
  app.add_option("--max-connections", raw.max_connections,
                 "open loop: most connections (default 10000)");
  app.add_option("--reuse", raw.reuse,
                 "requests per connection: always, never (1) or a number (always)")
      ->type_name("always|never|N");
  app.add_flag("--ids", raw.ids, "send X-Request-Id: RUN-N, N from 1");
  app.add_option(
         "--fail-if", raw.fail_if,
         "exit 4 if true, like 'p99 > 250ms' (repeatable); figures: p0 to p99.99, mean, max,\n"
         "service.p99, lag.p99, errors, error_rate, refused, lost, non_2xx, status.404, rate,\n"
         "cold_start.p95, cold_start.count, replicas.max, replicas.seconds, panics,\n"
         "time_to_zero, generator")
      ->allow_extra_args(false);
  app.add_option("--json", raw.json, "write the report as JSON to a file, - for standard output")
      ->type_name("FILE");
  app.add_option("-o,--output", raw.output, "text or json (text)")->type_name("text|json");
}

// What other generators call something else, or what ours would take for something else.
struct Foreign {
  const char* flag;
  const char* there;  // what it means
  const char* fix;
};

// Words of one dash and several letters, which would be read as a flag with its value.
constexpr std::array<Foreign, 12> kForeignWords{
    {{"--latency", "in wrk more figures", "remove it: every report has them"},
     {"-qps", "in fortio the rate of all connections", "give --rate"},
     {"-host", "in hey the Host header", "give -H 'Host: NAME'"},
     {"-h2", "in hey HTTP/2, which is not supported", "remove it"},
     {"-cpus", "in hey the number of cores", "remove it: one is used"},
     {"-more", "in hey more figures", "remove it: the report has them, --json all of them"},
     {"-disable-keepalive", "in hey a connection for each request", "give --reuse never"},
     {"-disable-compression", "in hey no Accept-Encoding", "remove it: none is sent"},
     {"-disable-redirects", "in hey not to follow them", "remove it: none is followed"},
     {"-keepalive", "in fortio kept connections", "remove it: they are kept"},
     {"-payload", "in fortio the body", "give --body"},
     {"-nocatchup", "in fortio to leave out what is late", "remove it: nothing is left out"}}};

// Single letters. A value may stand in the same word.
constexpr std::array<Foreign, 8> kForeignLetters{
    {{"-q", "in hey the rate of each connection", "give the rate of all of them with --rate"},
     {"-t", "in hey the timeout in seconds, in wrk the threads, in fortio the duration",
      "give --timeout or --duration, like --timeout 20s"},
     {"-D", "in hey the file of the body", "give --body @FILE"},
     {"-T", "in hey the type of the body", "give -H 'Content-Type: TYPE'"},
     {"-A", "in hey the Accept header", "give -H 'Accept: TYPE'"},
     {"-U", "in hey the User-Agent header", "give -H 'User-Agent: NAME'"},
     {"-a", "in hey a user and a password", "give -H 'Authorization: …'"},
     {"-s", "in wrk a script", "give -m, -H and --body"}}};

Problem usage(std::string what, std::string fix) {
  return {std::move(what), std::move(fix)};
}

std::optional<Problem> read_replay(const Raw& raw, LoadPlan& plan) {
  if (!raw.shape.empty() || raw.rate || raw.connections || !raw.duration.empty() ||
      !raw.arrivals.empty()) {
    return usage(
        "--replay cannot be joined with --shape, --rate, --connections, --duration or --arrivals",
        "the trace has the times; remove the other flags, or limit with -n or --max-connections");
  }
  const double speed = raw.speed.value_or(1);
  if (!(speed >= kReplaySpeedMin && speed <= kReplaySpeedMax)) {
    return usage("--speed is not 0.001 to 1000", "give for example --speed 2");
  }
  const std::uint64_t times = raw.times.value_or(1);
  if (times < 1 || times > kReplayTimesMax) {
    return usage("--times is not 1 to 1000", "give for example --times 3");
  }
  Phase& phase = plan.phases.front();
  phase.replay = Replay{.trace = parse_trace_name(raw.replay), .speed = speed, .times = times};
  phase.segments.clear();
  return std::nullopt;
}

std::optional<Problem> read_rates(const Raw& raw, LoadPlan& plan) {
  if (!raw.replay.empty()) return read_replay(raw, plan);
  if (raw.speed || raw.times) {
    return usage("--speed and --times are for --replay", "give --replay FILE with them");
  }
  if (!raw.shape.empty() && (raw.rate || raw.connections || !raw.duration.empty())) {
    return usage("--shape cannot be joined with --rate, --connections or --duration",
                 "its items set rates and times; remove the other flags");
  }
  if (!raw.duration.empty()) {
    const auto duration = parse_duration(raw.duration, "--duration");
    if (!duration) {
      return usage(duration.error().what,
                   duration.error().fix + "; a body, which -d is in hey, is --body");
    }
    if (*duration <= Duration::zero()) return usage("--duration is zero", "give for example 30s");
    plan.duration = *duration;
  } else if (raw.count) {
    plan.duration.reset();
  }
  plan.loop = raw.connections && !raw.rate ? Loop::closed : Loop::open;
  if (!raw.shape.empty()) {
    auto segments = parse_shape(raw.shape);
    if (!segments) return segments.error();
    Phase& phase = plan.phases.front();
    phase.segments = *std::move(segments);
    phase.shape = http::trimmed(raw.shape);
    plan.duration = phase.length();
    if (mean_rate(plan) == 0) return usage("--shape sends nothing", "give an item a rate above 0");
    if (*plan.duration > kRunMax) return usage("--shape is longer than a day", "shorten it");
    return std::nullopt;
  }
  const double rate = raw.rate.value_or(50);
  if (!(rate > 0 && rate <= kRateMax)) {
    return usage("--rate is not above 0 and at most 1000000", "give for example --rate 200");
  }
  plan.phases.front().segments = {{rate, plan.duration.value_or(kRunMax)}};
  return std::nullopt;
}

// What a scenario may set too.
std::optional<Problem> read_defaults(const Raw& raw, LoadPlan& plan) {
  if (raw.connections || raw.max_connections) {
    const std::size_t wanted = raw.connections.value_or(raw.max_connections.value_or(0));
    if (wanted < 1 || wanted > kConnectionsMax) {
      return usage("the number of connections is not 1 to 10000", "give for example -c 8");
    }
    plan.connections = wanted;
  }
  if (!raw.timeout.empty()) {
    const auto timeout = parse_duration(raw.timeout, "--timeout");
    if (!timeout) return timeout.error();
    if (*timeout <= Duration::zero()) return usage("--timeout is zero", "give for example 30s");
    plan.timeout = *timeout;
  }
  if (!raw.arrivals.empty()) {
    const auto arrivals = parse_arrivals(raw.arrivals);
    if (!arrivals) {
      return usage("--arrivals is unknown: '" + raw.arrivals + "'", "use uniform or poisson");
    }
    plan.arrivals = *arrivals;
  }
  if (!raw.reuse.empty()) {
    if (auto problem = set_reuse(plan, raw.reuse, "--reuse")) return problem;
  }
  plan.seed = raw.seed.value_or(plan.seed);
  return std::nullopt;
}

std::optional<Problem> read_limits(const Raw& raw, LoadPlan& plan) {
  if (raw.count && *raw.count == 0) return usage("--count is zero", "give at least -n 1");
  plan.count = raw.count;
  if (raw.warmup.empty()) return std::nullopt;
  const auto warmup = parse_duration(raw.warmup, "--warmup");
  if (!warmup) return warmup.error();
  plan.warmup = *warmup;
  if (plan.phases.front().replay && plan.warmup > Duration::zero()) {
    return usage("--replay cannot be joined with --warmup", "remove --warmup");
  }
  return std::nullopt;
}

std::optional<Problem> read_headers(const Raw& raw, TargetPlan& target) {
  for (const std::string& header : raw.headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos) {
      return usage("not a header: '" + header.substr(0, 60) + "'",
                   "write it like -H 'Name: value'");
    }
    auto problem = add_header(target.headers, header.substr(0, colon),
                              std::string{http::trimmed(header.substr(colon + 1))});
    if (problem) return problem;
  }
  return std::nullopt;
}

std::optional<Problem> read_body(const Raw& raw, TargetPlan& target) {
  target.body = raw.body;
  if (raw.body.starts_with('@')) {
    auto body = read_body_file(raw.body.substr(1));
    if (!body) return body.error();
    target.body = *std::move(body);
  }
  return settle_method(target, raw.method);
}

// Those beside a scenario replace its headers of the same names, for all targets.
std::optional<Problem> join_headers(const Raw& raw, LoadPlan& plan) {
  TargetPlan given;
  if (auto problem = read_headers(raw, given)) return problem;
  for (TargetPlan& target : plan.targets) {
    for (const auto& [name, value] : given.headers) {
      if (auto problem = set_header(target.headers, name, value)) return problem;
    }
  }
  return std::nullopt;
}

std::optional<Refusal> read_output(const Raw& raw, Options& options) {
  std::vector<Expression>& conditions = options.plan.conditions;
  if (conditions.size() + raw.fail_if.size() > kConditionsMax) {
    return Refusal{usage("more than 100 conditions", "give fewer --fail-if")};
  }
  for (const std::string& text : raw.fail_if) {
    auto expression = parse_expression(text);
    std::optional<ExpressionProblem> problem;
    if (!expression) problem = expression.error();
    if (!problem) problem = unknown_part(options.plan, *expression);
    if (problem) {
      return Refusal{
          {problem->what, problem->fix}, {}, problem->unknown_figure ? kExitFailure : kExitUsage};
    }
    conditions.push_back(*std::move(expression));
  }
  if (raw.output != "text" && raw.output != "json") {
    return Refusal{usage("--output is unknown: '" + raw.output + "'", "use text or json")};
  }
  options.json_output = raw.output == "json";
  options.json_file = raw.json;
  options.ids = raw.ids;
  options.check = raw.check;
  return std::nullopt;
}

std::optional<Problem> read_url(const Raw& raw, LoadPlan& plan) {
  if (raw.url.empty()) return usage("URL is required", "give one, or a scenario with --file");
  auto target = parse_target(raw.url);
  if (!target) return target.error();
  TargetPlan& only = plan.targets.front();
  only.url = raw.url;
  only.path = PathTemplate::literal(target->path);
  only.target = *std::move(target);
  return std::nullopt;
}

// Without a scenario: one target, one phase.
std::optional<Problem> read_single(const Raw& raw, LoadPlan& plan) {
  TargetPlan& target = plan.targets.front();
  if (raw.check) return usage("--check is for --file", "give --file PLAN.yaml with it");
  std::optional<Problem> problem = read_url(raw, plan);
  if (!problem) problem = read_rates(raw, plan);
  if (!problem) problem = read_limits(raw, plan);
  if (!problem) problem = read_defaults(raw, plan);
  if (!problem) problem = read_headers(raw, target);
  if (!problem) problem = read_body(raw, target);
  return problem;
}

std::optional<Refusal> read_scenario(const Raw& raw, Options& options) {
  if (!raw.url.empty() || raw.rate || raw.connections || raw.count || !raw.duration.empty() ||
      !raw.shape.empty() || !raw.replay.empty() || raw.speed || raw.times || !raw.method.empty() ||
      !raw.body.empty() || !raw.warmup.empty()) {
    return Refusal{usage(
        "--file cannot be joined with a URL, --rate, --connections, --duration, --count, --shape, "
        "--replay, --speed, --times, --method, --body or --warmup",
        "the scenario has what is sent and when")};
  }
  auto scenario = read_scenario_file(raw.file);
  if (!scenario) {
    const std::vector<Problem>& problems = scenario.error().problems;
    return Refusal{problems.front(),
                   {problems.begin() + 1, problems.end()},
                   scenario.error().unknown_figure ? kExitFailure : kExitConfig};
  }
  options.plan = *std::move(scenario);
  std::optional<Problem> problem = read_defaults(raw, options.plan);
  if (!problem) problem = join_headers(raw, options.plan);
  if (problem) return Refusal{*problem};
  return std::nullopt;
}

// What has no text would be read as not given, and something else would run than was meant.
void check_values(CLI::App& app) {
  for (const char* const flag :
       {"--file", "--rate", "--speed", "--shape", "--replay", "--duration", "--arrivals",
        "--method", "--timeout", "--warmup", "--reuse", "--json"}) {
    app.get_option(flag)->check(check_not_empty);
  }
  for (const char* const flag :
       {"--connections", "--count", "--times", "--seed", "--max-connections"}) {
    app.get_option(flag)->check(check_unsigned);
  }
}

Result<Options, Refusal> settle(const Raw& raw) {
  Options options;
  if (!raw.file.empty()) {
    if (auto refusal = read_scenario(raw, options)) return *std::move(refusal);
  } else if (auto problem = read_single(raw, options.plan)) {
    return Refusal{*problem};
  }
  if (auto refusal = read_output(raw, options)) return *std::move(refusal);
  return options;
}

// A letter may have a number in its own word: `-t4`.
bool is_letter_flag(std::string_view argument, std::string_view flag) {
  return argument.starts_with(flag) &&
         argument.find_first_not_of("0123456789=", flag.size()) == std::string_view::npos;
}

}  // namespace

std::optional<Problem> foreign_flag(const std::vector<std::string>& arguments) {
  const auto refused = [](const Foreign& foreign) {
    return Problem{std::string{foreign.flag} + ": " + foreign.there, foreign.fix};
  };
  bool is_value = false;
  for (const std::string& argument : arguments) {
    // What follows these may be any text.
    if (std::exchange(is_value, argument == "-b" || argument == "--body" || argument == "-H" ||
                                    argument == "--header")) {
      is_value = false;
      continue;
    }
    const std::string word = argument.substr(0, argument.find('='));
    for (const Foreign& foreign : kForeignWords) {
      if (word == foreign.flag) return refused(foreign);
    }
    for (const Foreign& foreign : kForeignLetters) {
      if (is_letter_flag(argument, foreign.flag)) return refused(foreign);
    }
  }
  return std::nullopt;
}

void show_flags(const std::function<void(CLI::App&)>& see) {
  CLI::App app{kAbout};
  Raw raw;
  declare(app, raw);
  see(app);
}

Result<Options, Refusal> parse_options(std::vector<std::string> arguments) {
  if (const auto foreign = foreign_flag(arguments)) return Refusal{*foreign};
  CLI::App app{kAbout, "sluice load"};
  Raw raw;
  declare(app, raw);
  check_values(app);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return Refusal{{error.what(), "see sluice load --help"}};
  }
  return settle(raw);
}

}  // namespace sluice::loadgen
