// The probes of a container.

#include "platform/process/probe_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sluice::local {
namespace {

constexpr std::int64_t kSecondsMax = 3600;
constexpr std::size_t kWordsMax = 10'000;
constexpr std::size_t kQuotedMax = 80;
constexpr std::int32_t kHealthPeriod = 10;  // what a cluster takes when a probe names none
constexpr std::int32_t kHealthFailures = 3;

bool is_header_name(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kOthers.find(c) != kOthers.npos;
  });
}

void read_probe_header(YamlReader& reader, const YamlEntry& item, ReadinessProbe& probe) {
  std::pair<std::string, std::string> header;
  for (const YamlEntry& field :
       reader.entries(item.value, item.line, "httpHeaders", {{"name", "value"}})) {
    if (auto text = reader.text(field))
      (field.key == "name" ? header.first : header.second) = std::move(*text);
  }
  const bool clean = std::none_of(header.second.begin(), header.second.end(),
                                  [](char c) { return c == '\r' || c == '\n'; });
  if (!is_header_name(header.first) || !clean) {
    reader.fail(item.line, fmt::format("`{}` is not a header", header.first.substr(0, 80)),
                "give each item of httpHeaders a `name` and a one-line `value`");
    return;
  }
  probe.headers.push_back(std::move(header));
}

/// What a probe asks: `kinds` counts its questions, `port` is as written.
struct Question {
  ReadinessProbe& probe;
  int kinds = 0;
  std::string port = {};
};

void read_http_get(YamlReader& reader, const YamlEntry& entry, Question& question) {
  ReadinessProbe& probe = question.probe;
  probe.kind = ProbeKind::http;
  const YamlKeys keys{{"path", "scheme", "httpHeaders", "port"}, {"host"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "httpGet", keys)) {
    if (field.key == "httpHeaders") {
      for (const YamlEntry& item : reader.items(field, 100)) read_probe_header(reader, item, probe);
      continue;
    }
    const auto text = reader.text(field);
    if (!text || text->empty()) continue;
    if (field.key == "port") {
      question.port = *text;
    } else if (field.key == "scheme" && *text != "HTTP") {
      reader.fail(field.line, fmt::format("`scheme` {} is not possible", text->substr(0, 80)),
                  "the app is asked over plain HTTP on $PORT: remove `scheme`");
    } else if (field.key == "path") {
      probe.path = text->front() == '/' ? *text : "/" + *text;
      if (std::any_of(text->begin(), text->end(), [](char c) { return c >= 0 && c <= ' '; }))
        reader.fail(field.line, "`path` contains a space", "escape it as %20");
    }
  }
}

void read_tcp_socket(YamlReader& reader, const YamlEntry& entry, Question& question) {
  for (const YamlEntry& part :
       reader.entries(entry.value, entry.line, "tcpSocket", {{"port"}, {"host"}})) {
    if (auto text = reader.text(part)) question.port = std::move(*text);
  }
}

void read_grpc(YamlReader& reader, const YamlEntry& entry, Question& question) {
  question.probe.kind = ProbeKind::grpc;
  for (const YamlEntry& part :
       reader.entries(entry.value, entry.line, "grpc", {{"port", "service"}})) {
    if (auto text = reader.text(part))
      (part.key == "port" ? question.port : question.probe.service) = std::move(*text);
  }
}

void read_exec(YamlReader& reader, const YamlEntry& entry, ReadinessProbe& probe) {
  probe.kind = ProbeKind::exec;
  for (const YamlEntry& part : reader.entries(entry.value, entry.line, "exec", {{"command"}})) {
    for (const YamlEntry& item : reader.items(part, kWordsMax)) {
      if (auto text = reader.text(item)) probe.command.push_back(std::move(*text));
    }
  }
  if (probe.command.empty() || probe.command.front().empty())
    reader.fail(entry.line, "`exec` has no command", "add `command: [program, argument]`");
}

/// Whether `field` is the question of a probe; then it is read.
bool read_question(YamlReader& reader, const YamlEntry& field, Question& question) {
  if (field.key == "httpGet") {
    read_http_get(reader, field, question);
  } else if (field.key == "tcpSocket") {
    read_tcp_socket(reader, field, question);
  } else if (field.key == "grpc") {
    read_grpc(reader, field, question);
  } else if (field.key == "exec") {
    read_exec(reader, field, question.probe);
  } else {
    return false;
  }
  ++question.kinds;
  return true;
}

void check_one_question(YamlReader& reader, const YamlEntry& entry, const Question& question) {
  if (question.kinds < 2) return;
  reader.fail(entry.line,
              fmt::format("`{}` has several of httpGet, tcpSocket, grpc and exec", entry.key),
              "keep one of them");
}

/// Whether the question is for the port that serves, one of `ports`.
[[nodiscard]] bool check_port(YamlReader& reader, const YamlEntry& entry, const Question& question,
                              const std::vector<std::string>& ports) {
  const std::string& port = question.port;
  if (port.empty() || port == "0" || std::find(ports.begin(), ports.end(), port) != ports.end())
    return true;
  if (std::isdigit(static_cast<unsigned char>(port.front())) == 0) {
    reader.fail(entry.line,
                fmt::format("`{}` names port `{}`, which is not there", entry.key,
                            port.substr(0, kQuotedMax)),
                fmt::format("remove the port, or write {}", fmt::join(ports, " or ")));
    return true;
  }
  reader.warn(entry.line, fmt::format("`{}` on port {} has no effect on one machine; only the "
                                      "port that serves is asked",
                                      entry.key, port.substr(0, kQuotedMax)));
  return false;
}

}  // namespace

void read_readiness(YamlReader& reader, const YamlEntry& entry,
                    const std::vector<std::string>& ports, ReadinessProbe& probe) {
  Question question{probe};
  const YamlKeys keys{{"httpGet", "tcpSocket", "grpc", "exec", "periodSeconds", "timeoutSeconds",
                       "successThreshold"},
                      {"initialDelaySeconds", "failureThreshold", "terminationGracePeriodSeconds"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "readinessProbe", keys)) {
    if (read_question(reader, field, question)) continue;
    if (const auto number = reader.integer(field, 0, kSecondsMax)) {
      auto& target = field.key == "periodSeconds"    ? probe.period_seconds
                     : field.key == "timeoutSeconds" ? probe.timeout_seconds
                                                     : probe.success_threshold;
      target = static_cast<std::int32_t>(*number);
    }
  }
  check_one_question(reader, entry, question);
  if (!check_port(reader, entry, question, ports)) probe = {};
  probe.timeout_seconds = std::max(probe.timeout_seconds, 1);
  probe.success_threshold = std::max(probe.success_threshold, 1);
}

std::optional<HealthProbe> read_health(YamlReader& reader, const YamlEntry& entry,
                                       const std::vector<std::string>& ports) {
  HealthProbe health;
  Question question{health.question};
  const YamlKeys keys{{"httpGet", "tcpSocket", "grpc", "exec", "initialDelaySeconds",
                       "periodSeconds", "timeoutSeconds", "failureThreshold"},
                      {"terminationGracePeriodSeconds"},
                      {"successThreshold"}};
  for (const YamlEntry& field :
       reader.entries(entry.value, entry.line, "livenessProbe or startupProbe", keys)) {
    if (read_question(reader, field, question)) continue;
    if (const auto number = reader.integer(field, 0, kSecondsMax)) {
      auto& target = field.key == "initialDelaySeconds" ? health.initial_delay_seconds
                     : field.key == "periodSeconds"     ? health.question.period_seconds
                     : field.key == "timeoutSeconds"    ? health.question.timeout_seconds
                                                        : health.failure_threshold;
      target = static_cast<std::int32_t>(*number);
    }
  }
  check_one_question(reader, entry, question);
  if (question.kinds == 0 && !entry.value.IsNull()) {
    reader.fail(entry.line, fmt::format("`{}` has no check", entry.key),
                "give it httpGet, tcpSocket, grpc or exec");
  }
  const bool usable = check_port(reader, entry, question, ports);
  // 0 means the default, as Knative's own defaulting does.
  if (health.question.period_seconds == 0) health.question.period_seconds = kHealthPeriod;
  if (health.failure_threshold == 0) health.failure_threshold = kHealthFailures;
  health.question.timeout_seconds = std::max(health.question.timeout_seconds, 1);
  return usable && question.kinds == 1 ? std::optional{std::move(health)} : std::nullopt;
}

}  // namespace sluice::local
