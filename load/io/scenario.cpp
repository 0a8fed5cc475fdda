#include "load/io/scenario.h"

#include "common/yaml/yaml_reader.h"

#include "load/core/quantity.h"
#include "load/core/shape.h"
#include "load/io/body_file.h"
#include "load/io/compare_options.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kNameMax = 40;
constexpr std::size_t kQuotedMax = 80;

bool is_name(std::string_view name) {
  constexpr std::string_view kSigns =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !name.empty() && name.size() <= kNameMax &&
         name.find_first_not_of(kSigns) == std::string_view::npos;
}

class ScenarioReading {
 public:
  ScenarioReading(const std::string& name, std::string folder, const BodyReader& read_body)
      : reader_{name}, folder_{std::move(folder)}, read_body_{read_body} {}

  Result<LoadPlan, ScenarioProblems> read(std::string_view text) {
    const std::vector<YAML::Node> documents = reader_.documents(text, kScenarioBytesMax);
    if (documents.size() == 1) {
      read_root(documents.front());
    } else if (!reader_.failed()) {
      reader_.fail(1, "the file has " + std::to_string(documents.size()) + " documents",
                   "write one scenario");
    }
    if (!reader_.failed()) return std::move(plan_);
    ScenarioProblems out{reader_.take_problems(), false};
    out.unknown_figure = unknown_figures_ >= out.problems.size();
    return out;
  }

 private:
  void read_root(const YAML::Node& root) {
    plan_.targets.clear();
    plan_.phases.clear();
    const auto entries = reader_.known_entries(
        root, 1, "scenario",
        {"name", "seed", "arrivals", "defaults", "targets", "phases", "assert", "compare"});
    const auto each = [&](const char* key, auto step) {
      for (const YamlEntry& entry : entries) {
        if (entry.key == key) step(entry);
      }
    };
    each("name", [this](const YamlEntry& entry) { plan_.name = name_of(entry, entry.value); });
    each("seed", [this](const YamlEntry& entry) { read_seed(entry); });
    each("arrivals", [this](const YamlEntry& entry) { read_arrivals(entry); });
    each("defaults", [this](const YamlEntry& entry) { read_defaults(entry); });
    each("targets", [this](const YamlEntry& entry) { read_targets(entry); });
    each("phases", [this](const YamlEntry& entry) { read_phases(entry); });
    each("assert", [this](const YamlEntry& entry) { read_assertions(entry); });
    each("compare", [this](const YamlEntry& entry) { read_compare(entry); });
    if (reader_.failed()) return;
    if (plan_.name.empty()) plan_.name = "load";
    require(!plan_.targets.empty(), "targets", "the scenario has no targets",
            "write `targets:` with a name and a `url` for each");
    require(!plan_.phases.empty(), "phases", "the scenario has no phases",
            "write `phases:` with a list, each with `for` and `rate`");
    if (!reader_.failed()) settle();
  }

  void require(bool there, const char* key, const char* what, const char* fix) {
    if (!there) reader_.fail_missing(1, key, what, fix);
  }

  void settle() {
    const auto is_generator = [](const Expression& condition) {
      return condition.metric == Metric::generator;
    };
    if (std::none_of(plan_.conditions.begin(), plan_.conditions.end(), is_generator)) {
      plan_.conditions.push_back(*parse_expression("generator == on_time", Use::assertion));
    }
    Duration length{0};
    bool sends = false;
    for (const Phase& phase : plan_.phases) {
      length += phase.length();
      sends = sends || phase.replay || expected_requests(phase) > 0;
    }
    plan_.duration = length;
    if (!sends) reader_.fail(1, "the scenario sends nothing", "give a phase a rate above 0");
    if (length > kRunMax) reader_.fail(1, "the phases last longer than a day", "shorten them");
  }

  // A problem that has no place of its own yet.
  void fail(const YamlEntry& entry, const Problem& problem) {
    reader_.fail(entry.line, "`" + entry.key + "`: " + problem.what, problem.fix);
  }

  std::string name_of(const YamlEntry& entry, const YAML::Node& node) {
    std::string name = node.IsScalar() ? node.Scalar() : std::string{};
    if (is_name(name)) return name;
    reader_.fail(entry.line, "not a name: `" + name.substr(0, kQuotedMax) + "`",
                 "use 1 to 40 letters, digits, dashes and underscores");
    return {};
  }

  void read_seed(const YamlEntry& entry) {
    const auto seed = reader_.integer(entry, 0, std::numeric_limits<std::int64_t>::max());
    if (seed) plan_.seed = static_cast<std::uint64_t>(*seed);
  }

  void read_arrivals(const YamlEntry& entry) {
    const auto word = reader_.text(entry);
    if (!word) return;
    const auto arrivals = parse_arrivals(*word);
    if (arrivals) plan_.arrivals = *arrivals;
    if (!arrivals) {
      reader_.fail(entry.line, "`arrivals` is unknown: `" + word->substr(0, kQuotedMax) + "`",
                   "use uniform or poisson");
    }
  }

  std::optional<Duration> time_of(const YamlEntry& entry) {
    const auto text = reader_.text(entry);
    if (!text) return std::nullopt;
    const auto time = parse_duration(*text, "`" + entry.key + "`");
    if (time) return *time;
    reader_.fail(entry.line, time.error().what, time.error().fix);
    return std::nullopt;
  }

  std::optional<Duration> duration_of(const YamlEntry& entry) {
    const auto duration = time_of(entry);
    if (!duration || *duration > Duration::zero()) return duration;
    reader_.fail(entry.line, "`" + entry.key + "` is 0 s", "give for example 30s");
    return std::nullopt;
  }

  void read_defaults(const YamlEntry& defaults) {
    for (const YamlEntry& entry :
         reader_.known_entries(defaults.value, defaults.line, "defaults",
                               {"timeout", "headers", "max-connections", "reuse"})) {
      if (entry.key == "timeout") {
        plan_.timeout = duration_of(entry).value_or(plan_.timeout);
      } else if (entry.key == "headers") {
        read_headers(entry, headers_);
      } else if (entry.key == "max-connections") {
        const auto most = reader_.integer(entry, 1, kConnectionsMax);
        if (most) plan_.connections = static_cast<std::size_t>(*most);
      } else if (const auto reuse = reader_.text(entry)) {
        const auto problem = set_reuse(plan_, *reuse, "`reuse`");
        if (problem) reader_.fail(entry.line, problem->what, problem->fix);
      }
    }
  }

  void read_headers(const YamlEntry& headers,
                    std::vector<std::pair<std::string, std::string>>& to) {
    for (const YamlEntry& entry : reader_.any_entries(headers.value, headers.line, "headers")) {
      const auto value = reader_.text(entry);
      if (!value) continue;
      if (const auto problem = set_header(to, entry.key, *value)) fail(entry, *problem);
    }
  }

  void read_targets(const YamlEntry& targets) {
    const auto entries = reader_.any_entries(targets.value, targets.line, "targets");
    if (entries.size() > kTargetsMax) {
      reader_.fail(targets.line, "`targets` has " + std::to_string(entries.size()) + " targets",
                   "give at most 100");
      return;
    }
    for (const YamlEntry& entry : entries) read_target(entry);
  }

  void read_target(const YamlEntry& target) {
    TargetPlan out;
    out.headers = headers_;
    out.name = target.key;
    if (!is_name(out.name)) {
      reader_.fail(target.line, "not a name: `" + out.name.substr(0, kQuotedMax) + "`",
                   "use 1 to 40 letters, digits, dashes and underscores");
    } else if (is_figure_word(out.name)) {
      reader_.fail(target.line, "a target cannot be called as a figure: `" + out.name + "`",
                   "give it another name");
    }
    std::string method;
    std::optional<int> message_line;
    std::optional<int> session_line;
    for (const YamlEntry& entry :
         reader_.known_entries(target.value, target.line, target.key,
                               {"url", "method", "headers", "body", "message", "send", "hold"})) {
      if (entry.key == "url") read_url(entry, out);
      if (entry.key == "method") method = reader_.text(entry).value_or("");
      if (entry.key == "headers") read_headers(entry, out.headers);
      if (entry.key == "body" || entry.key == "message") read_body(entry, out);
      if (entry.key == "message") message_line = entry.line;
      if (entry.key == "send") read_send(entry, out);
      if (entry.key == "hold") read_time(entry, out.hold);
      if (entry.key == "send" || entry.key == "hold") session_line = entry.line;
    }
    if (message_line && out.target.protocol != Protocol::grpc) {
      reader_.fail(*message_line, "`message` is for a target with a grpc:// URL",
                   "give what is sent as `body`");
    }
    if (session_line && out.target.protocol != Protocol::ws) {
      reader_.fail(*session_line, "`send` and `hold` are for a target with a ws:// URL",
                   "give what is sent as `body`");
    }
    if (out.url.empty()) {
      reader_.fail_missing(target.line, "url", "target `" + out.name + "` has no `url`",
                           "write it like `url: http://app.localhost:8080/`");
    }
    if (const auto problem = settle_method(out, method)) fail(target, *problem);
    plan_.targets.push_back(std::move(out));
  }

  void read_time(const YamlEntry& entry, Duration& to) {
    if (const auto time = time_of(entry)) to = *time;
  }

  // The messages of a WebSocket.
  void read_send(const YamlEntry& send, TargetPlan& out) {
    for (const YamlEntry& entry :
         reader_.known_entries(send.value, send.line, send.key, {"text", "every"})) {
      if (entry.key == "text") out.body = reader_.text(entry).value_or("");
      if (entry.key == "every") read_time(entry, out.every);
    }
  }

  void read_url(const YamlEntry& entry, TargetPlan& out) {
    const auto url = reader_.text(entry);
    if (!url) return;
    out.url = *url;
    const auto target = reader_.checked(entry, parse_target(*url));
    if (!target) return;
    const auto path = reader_.checked(entry, PathTemplate::parse(target->path));
    out.target = *target;
    if (path) out.path = *path;
  }

  [[nodiscard]] std::string path_of(const std::string& file) const {
    return (std::filesystem::path{folder_} / file).string();
  }

  void read_body(const YamlEntry& body, TargetPlan& out) {
    if (!body.value.IsMap()) {
      out.body = reader_.text(body).value_or("");
      return;
    }
    for (const YamlEntry& entry :
         reader_.known_entries(body.value, body.line, body.key, {"file", "hex"})) {
      const auto file = reader_.text(entry);
      if (!file) continue;
      if (entry.key == "hex") {
        const auto bytes = reader_.checked(entry, parse_hex(*file));
        if (bytes) out.body = *bytes;
        continue;
      }
      auto bytes = read_body_(path_of(*file));
      if (bytes) {
        out.body = *std::move(bytes);
      } else {
        fail(entry, bytes.error());
      }
    }
  }

  void read_phases(const YamlEntry& phases) {
    for (const YamlEntry& item : reader_.items(phases, kPhasesMax)) read_phase(item);
  }

  void read_phase(const YamlEntry& item) {
    Phase phase;
    phase.segments.clear();
    std::optional<YamlEntry> length;
    std::optional<YamlEntry> rate;
    for (const YamlEntry& entry : reader_.known_entries(item.value, item.line, "phases",
                                                        {"name", "for", "rate", "mix", "replay"})) {
      if (entry.key == "name") phase.name = name_of(entry, entry.value);
      if (entry.key == "for") length = entry;
      if (entry.key == "rate") rate = entry;
      if (entry.key == "mix") read_mix(entry, phase);
      if (entry.key == "replay") read_replay(entry, phase);
    }
    if (phase.name.empty()) {
      reader_.fail_missing(item.line, "name", "the phase has no `name`", "give it one");
    } else if (plan_.phase_named(phase.name)) {
      reader_.fail(item.line, "two phases are called `" + phase.name + "`", "rename one of them");
    }
    if (phase.replay && (length || rate)) {
      reader_.fail(item.line, "a phase with `replay` has its rates and its length from the trace",
                   "remove `for` and `rate`");
    } else if (!phase.replay && !(length && rate)) {
      const char* missing = length ? "rate" : "for";
      reader_.fail_missing(item.line, missing, std::string{"the phase has no `"} + missing + "`",
                           "write for example `for: 60s` and `rate: 20`");
    } else if (!phase.replay) {
      read_rate(*rate, *length, phase);
    }
    plan_.phases.push_back(std::move(phase));
  }

  void read_rate(const YamlEntry& rate, const YamlEntry& length, Phase& phase) {
    if (!duration_of(length)) return;
    std::optional<std::string> text;
    std::string period;
    if (rate.value.IsMap()) {
      for (const YamlEntry& entry :
           reader_.known_entries(rate.value, rate.line, "rate",
                                 {"step", "ramp", "exp", "sine", "spike", "day", "period"})) {
        if (entry.key == "period") {
          if (duration_of(entry)) period = "/" + entry.value.Scalar();
        } else if (!text) {
          const auto rates = rates_of(entry);
          if (!rates) return;
          text = entry.key + " " + *rates;
        } else {
          reader_.fail(entry.line, "`rate` has two shapes", "write a phase for each");
        }
      }
      // Of a key that is no shape there is a problem already.
      if (!text && rate.value.size() == (period.empty() ? 0U : 1U)) {
        reader_.fail(rate.line, "`rate` names no shape",
                     "write for example `rate: {ramp: [1, 9]}`");
      }
    } else if (const auto rates = rates_of(rate)) {
      text = "step " + *rates;
    }
    if (!text) return;
    const std::vector<Phase>& before = plan_.phases;
    const bool follows = !before.empty() && !before.back().segments.empty();
    auto segments =
        parse_shape(*text + period + ":" + length.value.Scalar(),
                    {.name = "`rate`",
                     .has_columns = false,
                     .rate_before = follows ? rate_at_end(before.back().segments.back()) : 0});
    if (!segments) {
      reader_.fail(rate.line, segments.error().what, segments.error().fix);
      return;
    }
    phase.segments = *std::move(segments);
    if (rate.value.IsMap()) phase.shape = *text + period;
  }

  // One rate or two, as a shape writes them: `20-400`. Nothing else passes, so that the text of the
  // shape is what it seems.
  std::optional<std::string> rates_of(const YamlEntry& entry) {
    std::string text;
    const bool several = entry.value.IsSequence();
    for (const YamlEntry& item : several ? reader_.items(entry, 2) : std::vector{entry}) {
      const auto rate = reader_.text(item);
      if (!rate) return std::nullopt;
      if (!parse_number(*rate)) {
        reader_.fail(item.line, "not a rate: `" + rate->substr(0, kQuotedMax) + "`",
                     "give requests per second, 0 to 1000000");
        return std::nullopt;
      }
      text += (text.empty() ? "" : "-") + *rate;
    }
    return text;
  }

  void read_mix(const YamlEntry& mix, Phase& phase) {
    phase.mix.assign(plan_.targets.size(), 0);
    double sum = 0;
    for (const YamlEntry& entry : reader_.any_entries(mix.value, mix.line, "mix")) {
      const auto target = plan_.target_named(entry.key);
      const auto text = reader_.text(entry);
      if (!text) continue;
      const auto share = parse_number(*text);
      if (!target) {
        reader_.fail(entry.line,
                     "`mix`: there is no target `" + entry.key.substr(0, kQuotedMax) + "`",
                     "write it below `targets`");
      } else if (!share || *share > kRateMax) {
        reader_.fail(entry.line, "`mix`: not a share: `" + text->substr(0, kQuotedMax) + "`",
                     "write a number from 0 to 1000000");
      } else {
        sum += *share;
        phase.mix[*target] = *share;
      }
    }
    if (sum <= 0) reader_.fail(mix.line, "`mix` gives no target a share", "write like {shop: 9}");
  }

  void read_replay(const YamlEntry& replay, Phase& phase) {
    phase.replay.emplace();
    Replay& out = *phase.replay;
    for (const YamlEntry& entry :
         reader_.known_entries(replay.value, replay.line, "replay",
                               {"file", "speed", "times", "from", "until", "unsafe"})) {
      if (entry.key == "file") {
        const std::string name = reader_.text(entry).value_or("");
        if (!name.empty()) out.trace = parse_trace_name(path_of(name));
      } else if (entry.key == "times") {
        const auto times = reader_.integer(entry, 1, kReplayTimesMax);
        if (times) out.times = static_cast<std::uint64_t>(*times);
      } else if (entry.key == "from") {
        out.part.from = duration_of(entry).value_or(out.part.from);
      } else if (entry.key == "until") {
        out.part.until = duration_of(entry).value_or(out.part.until);
      } else if (entry.key == "unsafe") {
        if (reader_.boolean(entry).value_or(false)) out.part.methods = Methods::all;
      } else {
        const auto speed = parse_number(reader_.text(entry).value_or(""));
        if (speed && *speed >= kReplaySpeedMin && *speed <= kReplaySpeedMax) {
          out.speed = *speed;
        } else {
          reader_.fail(entry.line, "`speed` is not 0.001 to 1000", "give for example 2");
        }
      }
    }
    if (out.part.until <= out.part.from) {
      reader_.fail(replay.line, "`until` is not after `from`", "give for example 20m");
    }
    if (out.trace.file.empty()) {
      reader_.fail_missing(replay.line, "file", "`replay` has no `file`", "name the trace");
    }
  }

  void read_compare(const YamlEntry& compare) {
    for (const YamlEntry& entry :
         reader_.known_entries(compare.value, compare.line, "compare", {"baseline", "tolerance"})) {
      const auto text = reader_.text(entry);
      if (!text) continue;
      if (entry.key == "baseline") {
        plan_.baseline = path_of(*text);
        continue;
      }
      const auto tolerance = parse_tolerance(*text, "`tolerance`");
      if (!tolerance) fail(entry, tolerance.error());
      if (tolerance) plan_.tolerance = *tolerance;
    }
    require(!plan_.baseline.empty(), "compare", "`compare` has no `baseline`",
            "write for example `compare: {baseline: main.json}`");
  }

  void read_assertions(const YamlEntry& assertions) {
    for (const YamlEntry& item : reader_.items(assertions, kConditionsMax - 1)) {
      const auto text = reader_.text(item);
      if (!text) continue;
      const auto expression = parse_expression(*text, Use::assertion);
      std::optional<ExpressionProblem> problem;
      if (!expression) problem = expression.error();
      if (!problem) problem = unknown_part(plan_, *expression);
      if (!problem) {
        plan_.conditions.push_back(*expression);
        continue;
      }
      if (problem->unknown_figure) ++unknown_figures_;
      reader_.fail(item.line, problem->what, problem->fix);
    }
  }

  YamlReader reader_;
  std::string folder_;
  const BodyReader& read_body_;  // of the caller of parse_scenario
  LoadPlan plan_;
  std::vector<std::pair<std::string, std::string>> headers_;  // of defaults
  std::size_t unknown_figures_ = 0;
};

}  // namespace

Result<LoadPlan, ScenarioProblems> parse_scenario(std::string_view text, const std::string& name,
                                                  const std::string& folder,
                                                  const BodyReader& read_body) {
  return ScenarioReading{name, folder, read_body}.read(text);
}

Result<LoadPlan, ScenarioProblems> read_scenario_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::string text(kScenarioBytesMax + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || !file.is_open() || (file.fail() && !file.eof())) {
    return ScenarioProblems{{{"cannot read the scenario '" + path + "'", "check the path"}}, false};
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_scenario(text, path, std::filesystem::path{path}.parent_path().string(),
                        read_body_file);
}

}  // namespace sluice::loadgen
