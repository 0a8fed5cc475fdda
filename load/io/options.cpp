#include "load/io/options.h"

#include "common/base/clean_text.h"
#include "common/http/text.h"

#include <CLI/CLI.hpp>

#include "load/core/quantity.h"
#include "load/core/shape.h"
#include "load/core/trace.h"
#include "load/io/body_file.h"
#include "load/io/flags.h"
#include "load/io/foreign_flags.h"
#include "load/io/scenario.h"
#include <algorithm>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr const char* kAbout =
    "Sends HTTP requests at a rate, measures latency from the planned send time.";

Problem usage(std::string what, std::string fix) {
  return {std::move(what), std::move(fix)};
}

bool sets_rates(const Flags& flags) {
  return !flags.shape.empty() || flags.rate || flags.connections || !flags.duration.empty();
}

std::optional<Problem> read_rates(const Flags& flags, LoadPlan& plan) {
  if (flags.replay.given() && (sets_rates(flags) || !flags.arrivals.empty())) {
    return usage(
        "--replay cannot be joined with --shape, --rate, --connections, --duration or --arrivals",
        "the trace has the times; remove the other flags, or limit with -n or --max-connections");
  }
  if (flags.replay.given()) return read_replay(flags.replay, plan.phases.front());
  if (!flags.shape.empty() && (flags.rate || flags.connections || !flags.duration.empty())) {
    return usage("--shape cannot be joined with --rate, --connections or --duration",
                 "its items set rates and times; remove the other flags");
  }
  if (!flags.duration.empty()) {
    const auto duration = parse_duration(flags.duration, "--duration");
    if (!duration) {
      return usage(duration.error().what,
                   duration.error().fix + "; a body, which -d is in hey, is --body");
    }
    if (*duration <= Duration::zero()) return usage("--duration is zero", "give for example 30s");
    plan.duration = *duration;
  } else if (flags.count) {
    plan.duration.reset();
  }
  plan.loop = flags.connections && !flags.rate ? Loop::closed : Loop::open;
  if (!flags.shape.empty()) {
    auto segments = parse_shape(flags.shape);
    if (!segments) return segments.error();
    Phase& phase = plan.phases.front();
    phase.segments = *std::move(segments);
    phase.shape = http::trimmed(flags.shape);
    plan.duration = phase.length();
    if (mean_rate(plan) == 0) return usage("--shape sends nothing", "give an item a rate above 0");
    if (*plan.duration > kRunMax) return usage("--shape is longer than a day", "shorten it");
    return std::nullopt;
  }
  const double rate = flags.rate.value_or(50);
  if (!(rate > 0 && rate <= kRateMax)) {
    return usage("--rate is not above 0 and at most 1000000", "give for example --rate 200");
  }
  plan.phases.front().segments = {{rate, plan.duration.value_or(kRunMax)}};
  return std::nullopt;
}

// What a scenario may set too.
std::optional<Problem> read_defaults(const Flags& flags, LoadPlan& plan) {
  if (flags.connections || flags.max_connections) {
    const std::size_t wanted = flags.connections.value_or(flags.max_connections.value_or(0));
    if (wanted < 1 || wanted > kConnectionsMax) {
      return usage("the number of connections is not 1 to 10000", "give for example -c 8");
    }
    plan.connections = wanted;
  }
  if (auto problem = set_duration(plan.timeout, flags.timeout, "--timeout")) return problem;
  if (plan.timeout <= Duration::zero()) return usage("--timeout is zero", "give for example 30s");
  if (!flags.arrivals.empty()) {
    const auto arrivals = parse_arrivals(flags.arrivals);
    if (!arrivals) {
      return usage("--arrivals is unknown: '" + flags.arrivals + "'", "use uniform or poisson");
    }
    plan.arrivals = *arrivals;
  }
  if (!flags.reuse.empty()) {
    if (auto problem = set_reuse(plan, flags.reuse, "--reuse")) return problem;
  }
  plan.seed = flags.seed.value_or(plan.seed);
  return std::nullopt;
}

std::optional<Problem> read_limits(const Flags& flags, LoadPlan& plan) {
  if (flags.count && *flags.count == 0) return usage("--count is zero", "give at least -n 1");
  plan.count = flags.count;
  if (auto problem = set_duration(plan.warmup, flags.warmup, "--warmup")) return problem;
  if (plan.phases.front().replay && plan.warmup > Duration::zero()) {
    return usage("--replay cannot be joined with --warmup", "remove --warmup");
  }
  return std::nullopt;
}

std::optional<Problem> read_headers(const Flags& flags, TargetPlan& target) {
  for (const std::string& header : flags.headers) {
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

std::optional<Problem> read_body(const Flags& flags, TargetPlan& target) {
  target.body = flags.body;
  if (flags.body.starts_with('@')) {
    auto body = read_body_file(flags.body.substr(1));
    if (!body) return body.error();
    target.body = *std::move(body);
  }
  return settle_method(target, flags.method);
}

// Those beside a scenario replace its headers of the same names, for all targets.
std::optional<Problem> join_headers(const Flags& flags, LoadPlan& plan) {
  TargetPlan given;
  if (auto problem = read_headers(flags, given)) return problem;
  for (TargetPlan& target : plan.targets) {
    for (const auto& [name, value] : given.headers) {
      if (auto problem = set_header(target.headers, name, value)) return problem;
    }
  }
  return std::nullopt;
}

std::optional<Problem> read_reports(const Flags& flags, Options& options) {
  constexpr std::size_t kNameBytesMax = 100;
  const auto add = [&options](ReportForm form, const std::string& path) {
    if (!path.empty()) options.reports.push_back({form, path});
  };
  if (options.json_output) options.reports.push_back({ReportForm::json, "-", false});
  add(ReportForm::json, flags.json);
  add(ReportForm::csv, flags.csv);
  add(ReportForm::junit, flags.junit);
  add(ReportForm::markdown, flags.markdown);
  add(ReportForm::html, flags.html);
  for (const std::string& path : flags.hdr) {
    if (path.empty()) return usage("--hdr is empty", "give a file, like run.hlog or run.hgrm");
    add(ReportForm::hdr, path);
  }
  if (flags.name.size() > kNameBytesMax || clean_text(flags.name) != flags.name) {
    return usage("--name is longer than 100 bytes, or has control characters", "shorten it");
  }
  options.plan.run_name = flags.name;
  return std::nullopt;
}

std::optional<Refusal> read_output(const Flags& flags, Options& options) {
  std::vector<Expression>& conditions = options.plan.conditions;
  if (conditions.size() + flags.fail_if.size() > kConditionsMax) {
    return Refusal{usage("more than 100 conditions", "give fewer --fail-if")};
  }
  for (const std::string& text : flags.fail_if) {
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
  if (flags.output != "text" && flags.output != "json") {
    return Refusal{usage("--output is unknown: '" + flags.output + "'", "use text or json")};
  }
  if (!flags.engine.empty()) {
    auto source = parse_engine_source(flags.engine);
    if (!source) return Refusal{source.error()};
    options.engine = *std::move(source);
  }
  options.json_output = flags.output == "json";
  if (auto problem = read_reports(flags, options)) return Refusal{*problem};
  options.ids = flags.ids;
  options.check = flags.check;
  return std::nullopt;
}

std::optional<Problem> read_url(const Flags& flags, LoadPlan& plan) {
  if (flags.url.empty()) return usage("URL is required", "give one, or a scenario with --file");
  auto target = parse_target(flags.url);
  if (!target) return target.error();
  const std::string& protocol = flags.protocol.protocol;
  if (!protocol.empty()) {
    if (auto problem = set_protocol(*target, protocol, "--protocol")) return problem;
  }
  TargetPlan& only = plan.targets.front();
  only.url = flags.url;
  only.path = PathTemplate::literal(target->path);
  only.target = *std::move(target);
  return std::nullopt;
}

// Without a scenario: one target, one phase.
std::optional<Problem> read_single(const Flags& flags, LoadPlan& plan) {
  TargetPlan& target = plan.targets.front();
  if (flags.check) return usage("--check is for --file", "give --file PLAN.yaml with it");
  std::optional<Problem> problem = read_url(flags, plan);
  if (!problem) problem = read_rates(flags, plan);
  if (!problem) problem = read_limits(flags, plan);
  if (!problem) problem = read_defaults(flags, plan);
  if (!problem) problem = read_headers(flags, target);
  if (!problem) problem = read_body(flags, target);
  return problem;
}

std::optional<Refusal> read_scenario(const Flags& flags, Options& options) {
  if (!flags.url.empty() || flags.rate || flags.connections || flags.count ||
      !flags.duration.empty() || !flags.shape.empty() || flags.replay.given() ||
      !flags.method.empty() || !flags.body.empty() || !flags.warmup.empty() ||
      !flags.protocol.protocol.empty()) {
    return Refusal{usage(
        "--file cannot be joined with a URL, --rate, --connections, --duration, --count, --shape, "
        "--replay and what belongs to it, --method, --body, --warmup or --protocol",
        "the scenario has what is sent and when")};
  }
  auto scenario = read_scenario_file(flags.file);
  if (!scenario) {
    const std::vector<Problem>& problems = scenario.error().problems;
    return Refusal{problems.front(),
                   {problems.begin() + 1, problems.end()},
                   scenario.error().unknown_figure ? kExitFailure : kExitConfig};
  }
  options.plan = *std::move(scenario);
  std::optional<Problem> problem = read_defaults(flags, options.plan);
  if (!problem) problem = join_headers(flags, options.plan);
  if (problem) return Refusal{*problem};
  return std::nullopt;
}

Result<Options, Refusal> settle(const Flags& flags) {
  Options options;
  if (!flags.file.empty()) {
    if (auto refusal = read_scenario(flags, options)) return *std::move(refusal);
  } else if (auto problem = read_single(flags, options.plan)) {
    return Refusal{*problem};
  }
  if (auto problem = read_protocols(flags.protocol, options.plan)) return Refusal{*problem};
  if (auto problem = read_baseline(flags.baseline, options.plan)) return Refusal{*problem};
  if (auto refusal = read_output(flags, options)) return *std::move(refusal);
  return options;
}

}  // namespace

void show_flags(const std::function<void(CLI::App&)>& see) {
  CLI::App app{kAbout};
  Flags flags;
  declare(app, flags);
  see(app);
}

Result<Options, Refusal> parse_options(std::vector<std::string> arguments) {
  if (const auto foreign = foreign_flag(arguments)) return Refusal{*foreign};
  CLI::App app{kAbout, "sluice load"};
  Flags flags;
  declare(app, flags);
  check_values(app);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return Refusal{{error.what(), "see sluice load --help"}};
  }
  return settle(flags);
}

}  // namespace sluice::loadgen
