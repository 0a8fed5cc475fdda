#include "load/io/options.h"

#include "common/http/text.h"

#include <CLI/CLI.hpp>

#include "load/core/quantity.h"
#include "load/core/shape.h"
#include "load/core/trace.h"
#include <algorithm>
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
  app.add_option("URL", raw.url, "where to send: http://HOST[:PORT][/PATH]")->required();
  app.add_option("-q,--rate", raw.rate, "open loop: requests per second (default 50)");
  app.add_option("-c,--connections", raw.connections,
                 "closed loop: number of connections; with --rate, a limit on connections");
  app.add_option("-z,-d,--duration", raw.duration, "length of the run (default 30s, without -n)");
  app.add_option("-n,--count", raw.count, "stop after this many requests");
  app.add_option(
      "--shape", raw.shape,
      "open loop with rates over time, items joined by commas: step RATE:TIME, ramp A-B:TIME,\n"
      "exp A-B:TIME, sine LOW-HIGH/PERIOD:TIME, spike RATE:TIME, day LOW-HIGH:TIME, pause TIME");
  app.add_option("--replay", raw.replay,
                 "open loop with the times of a recorded trace: csv, azure2019 or a recording, "
                 "see sluice trace;\n"
                 "sends GET, HEAD and OPTIONS, and what has no method as -m and -b tell")
      ->type_name("FILE[:FORMAT]");
  app.add_option("--speed", raw.speed, "replay: times as fast (default 1)");
  app.add_option("--times", raw.times, "replay: send each request so many times (default 1)");
  app.add_option("-H,--header", raw.headers, "header 'Name: value' (repeatable)")
      ->allow_extra_args(false);
  app.add_option("-m,--method", raw.method, "method (default GET, with a body POST)");
  app.add_option("-b,--body", raw.body, "body, or @FILE; at most 16 MiB");
  app.add_option("-t,--timeout", raw.timeout, "timeout of one request")->capture_default_str();
  app.add_option("--arrivals", raw.arrivals, "uniform or poisson (poisson)")
      ->type_name("uniform|poisson");
  app.add_option("--seed", raw.seed,
                 "seed of poisson arrivals, and of replayed times that are not exact")
      ->capture_default_str();
  app.add_option("--warmup", raw.warmup, "warm-up before the counted run")->capture_default_str();
  app.add_option("--max-connections", raw.max_connections,
                 "open loop: most connections (default 10000)");
  app.add_flag("--ids", raw.ids, "send X-Request-Id: RUN-N, N from 1");
  app.add_option("--fail-if", raw.fail_if,
                 "exit 4 if true, like 'p99 > 250ms' (repeatable); figures: p50 to p99.99, max,\n"
                 "errors, error_rate, cold_start.p95, replicas.max, time_to_zero")
      ->allow_extra_args(false);
  app.add_option("--json", raw.json, "write the report as JSON to a file, - for standard output")
      ->type_name("FILE");
  app.add_option("-o,--output", raw.output, "text or json (text)")->type_name("text|json");
}

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
    if (!duration) return duration.error();
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

std::optional<Problem> read_output(const Raw& raw, Options& options) {
  if (raw.fail_if.size() > kConditionsMax) return usage("more than 100 --fail-if", "give fewer");
  for (const std::string& text : raw.fail_if) {
    auto expression = parse_expression(text);
    if (!expression) return expression.error();
    options.plan.fail_if.push_back(*std::move(expression));
  }
  if (raw.output != "text" && raw.output != "json") {
    return usage("--output is unknown: '" + raw.output + "'", "use text or json");
  }
  options.json_output = raw.output == "json";
  options.json_file = raw.json;
  options.ids = raw.ids;
  return std::nullopt;
}

Result<Options, Problem> settle(const Raw& raw) {
  Options options;
  LoadPlan& plan = options.plan;
  auto target = parse_target(raw.url);
  if (!target) return target.error();
  plan.url = raw.url;
  plan.target = *std::move(target);
  std::optional<Problem> problem = read_rates(raw, plan);
  if (!problem) problem = read_limits(raw, plan);
  if (!problem) problem = read_headers(raw, plan);
  if (!problem) problem = read_body(raw, plan);
  if (!problem) problem = read_output(raw, options);
  if (problem) return *problem;
  return options;
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

}  // namespace

void show_flags(const std::function<void(CLI::App&)>& see) {
  CLI::App app{kAbout};
  Raw raw;
  declare(app, raw);
  see(app);
}

Result<Options, Problem> parse_options(std::vector<std::string> arguments) {
  CLI::App app{kAbout, "sluice load"};
  Raw raw;
  declare(app, raw);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return Problem{error.what(), "see sluice load --help"};
  }
  if (auto empty = find_empty(app)) return *std::move(empty);
  return settle(raw);
}

}  // namespace sluice::loadgen
