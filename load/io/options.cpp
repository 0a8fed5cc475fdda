#include "load/io/options.h"

#include "common/http/text.h"
#include "common/values/whole_number.h"

#include <CLI/CLI.hpp>

#include "load/core/quantity.h"
#include "load/core/shape.h"
#include "load/core/trace.h"
#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr const char* kAbout =
    "Sends HTTP requests at a rate, measures latency from the planned send time.";

constexpr std::size_t kHeadersMax = 100;
constexpr std::size_t kConditionsMax = 100;
constexpr Duration kCountedRunMax = std::chrono::hours{24};

// The command line as text, before any check.
struct Raw {
  std::string url;
  std::optional<double> rate;
  std::optional<std::size_t> connections;
  std::optional<std::size_t> max_connections;
  std::string reuse = "always";
  std::optional<std::uint64_t> count;
  std::string duration;
  std::string shape;
  std::string replay;
  std::optional<double> speed;
  std::optional<std::uint64_t> times;
  std::vector<std::string> headers;
  std::string method;
  std::string body;
  std::string timeout = "30s";
  std::string arrivals;
  std::uint64_t seed = 1;
  std::string warmup = "0s";
  std::string json;
  std::vector<std::string> fail_if;
  std::string output = "text";
  bool ids = false;
};

void declare(CLI::App& app, Raw& raw) {
  app.add_option("URL", raw.url, "where to send: [http://]HOST[:PORT][/PATH]")->required();
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
  app.add_option("--timeout", raw.timeout, "timeout of one request")->capture_default_str();
  app.add_option("--arrivals", raw.arrivals, "uniform or poisson (poisson)")
      ->type_name("uniform|poisson");
  app.add_option("--seed", raw.seed,
                 "seed of poisson arrivals, and of replayed times that are not exact")
      ->capture_default_str();
  app.add_option("--warmup", raw.warmup, "warm-up before the counted run")->capture_default_str();
  app.add_option("--max-connections", raw.max_connections,
                 "open loop: most connections (default 10000)");
  app.add_option("--reuse", raw.reuse, "requests per connection: always, never (1) or a number")
      ->type_name("always|never|N")
      ->capture_default_str();
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
constexpr std::array<Foreign, 11> kForeignWords{
    {{"-qps", "in fortio the rate of all connections", "give --rate"},
     {"-host", "in hey the Host header", "give -H 'Host: NAME'"},
     {"-h2", "in hey HTTP/2, which is not supported", "remove it"},
     {"-cpus", "in hey the number of cores", "remove it: one is used"},
     {"-more", "in hey more figures", "remove it: the report has them, --json all of them"},
     {"-disable-keepalive", "in hey a connection for each request",
      "give -H 'Connection: close' for that"},
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
  plan.replay = Replay{.trace = parse_trace_name(raw.replay), .speed = speed, .times = times};
  plan.segments.clear();
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
    plan.segments = *std::move(segments);
    plan.shape = http::trimmed(raw.shape);
    plan.duration = Duration::zero();
    for (const Segment& segment : plan.segments) *plan.duration += segment.length;
    if (mean_rate(plan) == 0) return usage("--shape sends nothing", "give an item a rate above 0");
    if (*plan.duration > kCountedRunMax) return usage("--shape is longer than a day", "shorten it");
    return std::nullopt;
  }
  const double rate = raw.rate.value_or(50);
  if (!(rate > 0 && rate <= kRateMax)) {
    return usage("--rate is not above 0 and at most 1000000", "give for example --rate 200");
  }
  plan.segments = {{rate, plan.duration.value_or(kCountedRunMax)}};
  return std::nullopt;
}

std::optional<Problem> read_reuse(const Raw& raw, LoadPlan& plan) {
  if (raw.reuse == "always") return std::nullopt;
  plan.reuse = raw.reuse == "never" ? 1 : whole_number<std::uint64_t>(raw.reuse, 1);
  if (plan.reuse) return std::nullopt;
  return usage(
      "--reuse is not always, never or a number from 1 on: '" + raw.reuse.substr(0, 40) + "'",
      "give for example --reuse 100");
}

std::optional<Problem> read_limits(const Raw& raw, LoadPlan& plan) {
  const std::size_t wanted =
      raw.connections.value_or(raw.max_connections.value_or(kConnectionsMax));
  if (wanted < 1 || wanted > kConnectionsMax) {
    return usage("the number of connections is not 1 to 10000", "give for example -c 8");
  }
  plan.connections = wanted;
  if (raw.count && *raw.count == 0) return usage("--count is zero", "give at least -n 1");
  plan.count = raw.count;
  const auto timeout = parse_duration(raw.timeout, "--timeout");
  if (!timeout) return timeout.error();
  if (*timeout <= Duration::zero()) return usage("--timeout is zero", "give for example 30s");
  plan.timeout = *timeout;
  const auto warmup = parse_duration(raw.warmup, "--warmup");
  if (!warmup) return warmup.error();
  plan.warmup = *warmup;
  if (plan.replay && plan.warmup > Duration::zero()) {
    return usage("--replay cannot be joined with --warmup", "remove --warmup");
  }
  if (!raw.arrivals.empty() && raw.arrivals != "poisson" && raw.arrivals != "uniform") {
    return usage("--arrivals is unknown: '" + raw.arrivals + "'", "use uniform or poisson");
  }
  plan.arrivals = raw.arrivals == "uniform" ? Arrivals::uniform : Arrivals::poisson;
  plan.seed = raw.seed;
  return std::nullopt;
}

std::optional<Problem> read_headers(const Raw& raw, LoadPlan& plan) {
  if (raw.headers.size() > kHeadersMax) return usage("more than 100 headers", "send fewer");
  for (const std::string& header : raw.headers) {
    const std::size_t colon = header.find(':');
    const std::string name = header.substr(0, colon);
    const std::size_t value_at =
        colon == std::string::npos ? colon : header.find_first_not_of(" \t", colon + 1);
    const std::string value = value_at == std::string::npos ? "" : header.substr(value_at);
    if (colon == std::string::npos || !is_header(name, value)) {
      return usage("not a header: '" + header.substr(0, 60) + "'",
                   "write it like -H 'Name: value'");
    }
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (lower == "content-length" || lower == "transfer-encoding") {
      return usage("the header " + name + " is set from the body", "remove it and use --body");
    }
    plan.headers.emplace_back(name, value);
  }
  return std::nullopt;
}

std::optional<Problem> read_body(const Raw& raw, LoadPlan& plan) {
  plan.body = raw.body;
  if (raw.body.starts_with('@')) {
    const std::string path = raw.body.substr(1);
    std::ifstream file{path, std::ios::binary};
    plan.body.assign(kBodyBytesMax + 1, '\0');
    if (file) file.read(plan.body.data(), static_cast<std::streamsize>(plan.body.size()));
    if (file.bad() || !file.is_open() || (file.fail() && !file.eof())) {
      return usage("cannot read the body from '" + path + "'", "check the path after --body @");
    }
    plan.body.resize(static_cast<std::size_t>(file.gcount()));
  }
  if (plan.body.size() > kBodyBytesMax) {
    return usage("the body is larger than 16 MiB", "send a smaller one");
  }
  plan.method = !raw.method.empty() ? raw.method : plan.body.empty() ? "GET" : "POST";
  if (!is_token(plan.method) || plan.method.size() > 32 || plan.method == "CONNECT") {
    return usage("not a method to send: '" + plan.method.substr(0, 40) + "'",
                 "use for example -m PUT");
  }
  return std::nullopt;
}

std::optional<Refusal> read_output(const Raw& raw, Options& options) {
  if (raw.fail_if.size() > kConditionsMax) {
    return Refusal{usage("more than 100 --fail-if", "give fewer")};
  }
  for (const std::string& text : raw.fail_if) {
    auto expression = parse_expression(text);
    if (!expression) {
      return Refusal{expression.error(),
                     expression.error().unknown_figure ? kExitFailure : kExitUsage};
    }
    options.plan.fail_if.push_back(*std::move(expression));
  }
  if (raw.output != "text" && raw.output != "json") {
    return Refusal{usage("--output is unknown: '" + raw.output + "'", "use text or json")};
  }
  options.json_output = raw.output == "json";
  options.json_file = raw.json;
  options.ids = raw.ids;
  return std::nullopt;
}

Result<Options, Refusal> settle(const Raw& raw) {
  Options options;
  LoadPlan& plan = options.plan;
  auto target = parse_target(raw.url);
  if (!target) return Refusal{target.error()};
  plan.url = raw.url;
  plan.target = *std::move(target);
  std::optional<Problem> problem = read_rates(raw, plan);
  if (!problem) problem = read_limits(raw, plan);
  if (!problem) problem = read_reuse(raw, plan);
  if (!problem) problem = read_headers(raw, plan);
  if (!problem) problem = read_body(raw, plan);
  if (problem) return Refusal{*problem};
  if (auto refusal = read_output(raw, options)) return *std::move(refusal);
  return options;
}

Problem refused(const Foreign& foreign) {
  return {std::string{foreign.flag} + " is " + foreign.there, foreign.fix};
}

std::optional<Problem> foreign_word(const std::string& argument) {
  const std::string word = argument.substr(0, argument.find('='));
  for (const Foreign& foreign : kForeignWords) {
    if (word == foreign.flag) return refused(foreign);
  }
  return std::nullopt;
}

// What has no text is read as not given, and something else would run than was meant: a variable of
// a script that is not set.
std::optional<Problem> find_empty(const CLI::App& app) {
  for (const char* const flag :
       {"--shape", "--replay", "--duration", "--arrivals", "--method", "--json"}) {
    const CLI::Option* const option = app.get_option(flag);
    if (option->count() > 0 && option->results().back().empty()) {
      return usage(std::string{flag} + " is empty", "give it a value, or remove it");
    }
  }
  return std::nullopt;
}

void declare_foreign(CLI::App& app, std::optional<Problem>& problem) {
  for (const Foreign& foreign : kForeignLetters) {
    const auto refuse = [&problem, foreign](const std::string&) { problem = refused(foreign); };
    app.add_option_function<std::string>(foreign.flag, refuse)->group("")->expected(0, 1);
  }
  app.add_flag("--latency")->description("of wrk: what every report has")->group("");
}

}  // namespace

void show_flags(const std::function<void(CLI::App&)>& see) {
  CLI::App app{kAbout};
  Raw raw;
  declare(app, raw);
  see(app);
}

Result<Options, Refusal> parse_options(std::vector<std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (const auto foreign = foreign_word(argument)) return Refusal{*foreign};
  }
  CLI::App app{kAbout, "sluice load"};
  Raw raw;
  declare(app, raw);
  std::optional<Problem> foreign;
  declare_foreign(app, foreign);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (!foreign) return Refusal{{error.what(), "see sluice load --help"}};
  }
  if (foreign) return Refusal{*foreign};
  if (auto empty = find_empty(app)) return Refusal{*std::move(empty)};
  return settle(raw);
}

}  // namespace sluice::loadgen
