#include "load/io/flags.h"

#include "common/values/flag_checks.h"

#include <CLI/CLI.hpp>

namespace sluice::loadgen {

void declare(CLI::App& app, Flags& flags) {
  app.add_option("URL", flags.url,
                 "where to send: [SCHEME://]HOST[:PORT][/PATH], SCHEME one of http (default), "
                 "https, h2c, grpc, grpcs, ws, wss");
  app.add_option("-f,--file", flags.file,
                 "a scenario of targets, phases and assertions (load/README.md); flags beside it\n"
                 "win over its defaults")
      ->type_name("PLAN.yaml");
  app.add_flag("--check", flags.check, "only read the scenario, and say what it would send");
  app.add_option("-R,--rate", flags.rate, "open loop: requests per second (default 50)");
  app.add_option("-c,--connections", flags.connections,
                 "closed loop: number of connections; with --rate, a limit on connections");
  app.add_option("-z,-d,--duration", flags.duration, "length of the run (default 30s, without -n)");
  app.add_option("-n,--count", flags.count, "stop after this many requests");
  app.add_option(
      "--shape", flags.shape,
      "open loop with rates over time, items joined by commas: step RATE:TIME, ramp A-B:TIME,\n"
      "exp A-B:TIME, sine LOW-HIGH/PERIOD:TIME, spike RATE:TIME, day LOW-HIGH:TIME, pause TIME");
  declare(app, flags.replay);
  app.add_option("-H,--header", flags.headers, "header 'Name: value' (repeatable)")
      ->allow_extra_args(false);
  app.add_option("-m,--method", flags.method, "method (default GET, with a body POST)");
  app.add_option("-b,--body", flags.body, "body, or @FILE; at most 16 MiB");
  app.add_option("--timeout", flags.timeout, "timeout of one request (30s)");
  app.add_option("--arrivals", flags.arrivals, "uniform or poisson (poisson)")
      ->type_name("uniform|poisson");
  app.add_option("--seed", flags.seed,
                 "seed of poisson arrivals, and of replayed times that are not exact (1)");
  app.add_option("--warmup", flags.warmup, "warm-up before the counted run (0s)");
  app.add_option("--max-connections", flags.max_connections,
                 "open loop: most connections (default 10000)");
  app.add_option("--reuse", flags.reuse,
                 "requests per connection: always, never (1) or a number (always)")
      ->type_name("always|never|N");
  declare(app, flags.protocol);
  app.add_option(
         "--engine", flags.engine,
         "where replicas and decisions come from: auto (the targets' hosts), off, an engine's "
         "name, its URL,\n"
         "or NAMESPACE/NAME@URL, a service of an autoscaler (auto)")
      ->type_name("auto|off|NAME|URL")
      ->check(check_not_empty);
  app.add_flag("--ids", flags.ids, "send X-Request-Id: RUN-N, N from 1");
  app.add_option(
         "--fail-if", flags.fail_if,
         "exit 4 if true, like 'p99 > 250ms' (repeatable); figures: p0 to p99.99, mean, max,\n"
         "service.p99, lag.p99, errors, error_rate, refused, lost, non_2xx, status.404, rate,\n"
         "cold_start.p95, cold_start.count, queue.max, replicas.max, replicas.seconds, panics,\n"
         "time_to_zero, generator")
      ->allow_extra_args(false);
  app.add_option("--json", flags.json, "write the report as JSON to a file, - for standard output")
      ->type_name("FILE");
  app.add_option("--html", flags.html, "write the report as a page of one file, with charts")
      ->type_name("FILE");
  app.add_option("--csv", flags.csv,
                 "write a row for each second and target, - for standard output")
      ->type_name("FILE");
  app.add_option("--junit", flags.junit, "write a test case for each condition as JUnit's XML")
      ->type_name("FILE");
  app.add_option("--markdown", flags.markdown, "write verdicts and figures for a pull request")
      ->type_name("FILE");
  app.add_option("--hdr", flags.hdr,
                 "write a log of HdrHistogram, .hlog, or percentiles, .hgrm (repeatable)")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--name", flags.name,
                 "name of the run in its reports (that of the scenario, load)");
  declare(app, flags.baseline);
  app.add_option("-o,--output", flags.output, "text or json (text)")->type_name("text|json");
}

// What has no text would be read as not given, and something else would run than was meant.
void check_values(CLI::App& app) {
  for (const char* const flag :
       {"--file", "--rate", "--shape", "--duration", "--arrivals", "--method", "--timeout",
        "--warmup", "--reuse", "--json", "--html", "--csv", "--junit", "--markdown", "--name"}) {
    app.get_option(flag)->check(check_not_empty);
  }
  for (const char* const flag : {"--connections", "--count", "--seed", "--max-connections"}) {
    app.get_option(flag)->check(check_unsigned);
  }
}

}  // namespace sluice::loadgen
