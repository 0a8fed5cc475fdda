// Reads Knative Services for one machine. The rule throughout: what would change how the app
// behaves and cannot be honoured is an error; what merely has no meaning here is a warning; what a
// cluster writes into its own objects passes in silence, so that `kubectl get -o yaml` output can
// be used.

#include "activator/core/balancer.h"
#include "common/scaling/setting_names.h"
#include "common/values/dns_label.h"
#include "common/yaml/yaml_reader.h"

#include <fmt/format.h>

#include "platform/process/annotation_parser.h"
#include "platform/process/container_parser.h"
#include "platform/process/engine_host.h"
#include "platform/process/quantity.h"
#include "platform/process/service_spec.h"
#include <algorithm>
#include <cctype>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kServicesMax = 1000;
constexpr std::size_t kListMax = 10'000;
constexpr std::int64_t kTimeoutSecondsMax = 7 * 24 * 3600;
constexpr std::int64_t kContainerConcurrencyMax = 1000;  // Knative's own bound

struct Parsing {
  YamlReader& reader;
  const std::filesystem::path& base_dir;
  const SpecDefaults& defaults;
  ConfigFile& config;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

std::optional<HostRule> parse_host(std::string_view text) {
  HostRule rule;
  const auto slash = text.find('/');
  const std::string_view host = text.substr(0, slash);
  if (host.empty() || host.size() > 253) return std::nullopt;
  for (const char c : host) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool allowed = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
                         c == '-' || c == '_';
    if (!allowed) return std::nullopt;
    rule.host += lower;
  }
  if (slash == std::string_view::npos) return rule;
  auto prefix = model::read_path_prefix(text.substr(slash));
  if (!prefix) return std::nullopt;
  rule.path_prefix = std::move(*prefix);
  return rule;
}

// Routing takes a host with a final dot for the same one.
bool names_engine_host(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return host == kEngineHost;
}

void read_hosts(YamlReader& reader, const YamlEntry& entry, const std::string& list,
                ServiceSpec& spec) {
  std::string_view rest = list;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = trimmed(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (item.empty()) continue;
    auto rule = parse_host(item);
    if (!rule) {
      reader.fail(entry.line, fmt::format("`{}` is not a host", item),
                  "write host or host/path, without a port, separated by commas");
    } else if (names_engine_host(rule->host)) {
      reader.fail(entry.line, fmt::format("`{}` is the engine's own host", kEngineHost),
                  "give the service another host");
    } else if (std::find(spec.hosts.begin(), spec.hosts.end(), *rule) == spec.hosts.end()) {
      spec.hosts.push_back(std::move(*rule));
    }
  }
}

void read_metadata(YamlReader& reader, const YamlEntry& entry, ServiceSpec& spec) {
  const YamlKeys keys{{"name", "annotations"},
                      {"namespace", "finalizers", "ownerReferences"},
                      {"labels", "creationTimestamp", "generation", "resourceVersion", "uid",
                       "selfLink", "managedFields"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "metadata", keys)) {
    if (field.key == "name") {
      const auto name = reader.text(field);
      if (!name) continue;
      spec.name = *name;
      if (!is_dns_label(*name)) {
        reader.fail(field.line, fmt::format("`{}` is not a DNS label", name->substr(0, 80)),
                    "use 1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit");
      } else if (*name == kReservedService) {
        reader.fail(field.line,
                    fmt::format("`{}` cannot be the name of a service: {} is the engine's own host",
                                *name, kEngineHost),
                    "give the service another name");
      }
      continue;
    }
    spec.annotations = read_annotations(reader, field);
    check_service_annotations(reader, field, spec.annotations);
    if (const auto hosts = spec.annotations.find("sluice.dev/hosts");
        hosts != spec.annotations.end())
      read_hosts(reader, annotation_entry(field, hosts->first), hosts->second, spec);
  }
}

void read_template_metadata(YamlReader& reader, const YamlEntry& entry, ServiceSpec& spec) {
  const YamlKeys keys{{"annotations"}, {"name", "namespace"}, {"labels", "creationTimestamp"}};
  for (const YamlEntry& field :
       reader.entries(entry.value, entry.line, "spec.template.metadata", keys)) {
    spec.template_annotations = read_annotations(reader, field);
    check_template_annotations(reader, field, spec.template_annotations);
    spec.placement = read_placement_wish(reader, field, spec.template_annotations);
    const auto quantity = [&](const char* key, Duration& target) {
      const auto found = spec.template_annotations.find(key);
      if (found == spec.template_annotations.end()) return;
      const YamlEntry at = annotation_entry(field, key);
      if (const auto value = reader.checked(at, parse_duration(found->second))) target = *value;
    };
    quantity("sluice.dev/stop-grace", spec.stop_grace);
    quantity("sluice.dev/start-timeout", spec.start_timeout);
    if (spec.start_timeout < std::chrono::milliseconds{1}) {
      reader.fail(annotation_entry(field, "sluice.dev/start-timeout").line,
                  "`sluice.dev/start-timeout` must be longer than 0", "write it like 60s");
    }
    if (const auto policy = spec.template_annotations.find(std::string{kLoadBalancingKey});
        policy != spec.template_annotations.end() && !activator::parse_policy(policy->second)) {
      reader.fail(annotation_entry(field, policy->first).line,
                  fmt::format("unknown load-balancing policy `{}`", policy->second.substr(0, 80)),
                  "write first-available, round-robin, random-choice-2 or least-in-flight");
    }
    if (const auto throttle = spec.template_annotations.find("sluice.dev/throttle");
        throttle != spec.template_annotations.end()) {
      spec.never_throttled = throttle->second == "never";
      if (!spec.never_throttled) {
        reader.fail(annotation_entry(field, throttle->first).line,
                    fmt::format("`sluice.dev/throttle` is `{}`", throttle->second.substr(0, 80)),
                    "write never, or leave it out");
      }
    }
    if (spec.template_annotations.count("sluice.dev/port") != 0) {
      const YamlEntry at = annotation_entry(field, "sluice.dev/port");
      if (const auto port = reader.integer(at, 1, 65535))
        spec.fixed_port = static_cast<std::uint16_t>(*port);
    }
  }
}

void read_template_spec(const Parsing& parsing, const YamlEntry& entry, ServiceSpec& spec) {
  YamlReader& reader = parsing.reader;
  bool seen = false;
  const YamlKeys keys{
      {"containers", "containerConcurrency", "timeoutSeconds", "responseStartTimeoutSeconds",
       "idleTimeoutSeconds", "volumes", "initContainers"},
      {"serviceAccountName", "imagePullSecrets", "securityContext", "nodeSelector", "affinity",
       "tolerations", "topologySpreadConstraints", "runtimeClassName", "schedulerName",
       "priorityClassName", "automountServiceAccountToken", "dnsPolicy", "dnsConfig", "hostAliases",
       "shareProcessNamespace", "hostIPC", "hostPID", "hostNetwork"},
      {"enableServiceLinks"}};
  const auto fields = reader.entries(entry.value, entry.line, "spec.template.spec", keys);
  // Containers refer to volumes, wherever those stand.
  PassedVolumes passed;
  for (const YamlEntry& field : fields) {
    if (field.key == "volumes") passed = read_volumes(reader, parsing.config, field, spec);
  }
  const ContainerContext context{reader, parsing.base_dir, parsing.config, passed,
                                 parsing.defaults.container_runtime};
  for (const YamlEntry& field : fields) {
    if (field.key == "volumes") continue;
    if (field.key == "initContainers") {
      read_init_containers(context, field, spec);
    } else if (field.key == "containers") {
      const auto containers = reader.items(field, kListMax);
      if (containers.size() != 1) {
        reader.fail(field.line, fmt::format("`containers` has {} items", containers.size()),
                    "write exactly one container per service");
      }
      seen = true;
      if (!containers.empty()) read_container(context, containers.front(), spec);
    } else if (field.key == "containerConcurrency") {
      if (const auto number = reader.integer(field, 0, kContainerConcurrencyMax))
        spec.container_concurrency = static_cast<std::int32_t>(*number);
    } else if (const auto seconds = reader.integer(field, 0, kTimeoutSecondsMax)) {
      if (field.key == "timeoutSeconds") {
        // 0 means the default, as Knative's own defaulting does.
        if (*seconds > 0) spec.timeout = std::chrono::seconds{*seconds};
      } else {
        (field.key == "idleTimeoutSeconds" ? spec.idle_timeout : spec.response_start_timeout) =
            std::chrono::seconds{*seconds};
      }
    }
  }
  if (!seen)
    reader.fail_missing(entry.line, "containers", "`spec.template.spec.containers` is missing",
                        "add one container");
}

/// Nothing when it is wrong.
std::optional<TrafficTarget> read_traffic_target(YamlReader& reader, const YamlEntry& item) {
  TrafficTarget target{.place = reader.place(item.line)};
  bool wrong = false;
  std::optional<bool> latest;
  const YamlKeys keys{
      {"latestRevision", "percent", "revisionName", "tag", "configurationName"}, {}, {"url"}};
  for (const YamlEntry& field : reader.entries(item.value, item.line, "spec.traffic", keys)) {
    if (field.key == "latestRevision") {
      latest = reader.boolean(field);
    } else if (field.key == "percent") {
      const auto percent = reader.integer(field, 0, 100);
      wrong = wrong || !percent;
      target.percent = static_cast<std::int32_t>(percent.value_or(0));
    } else if (field.key == "configurationName") {
      reader.fail(field.line, "`configurationName` is for Routes of Knative",
                  "name a revision, or the latest one with latestRevision: true");
    } else if (auto text = reader.text(field)) {
      (field.key == "tag" ? target.tag : target.revision) = std::move(*text);
    }
  }
  const bool named = !target.revision.empty();
  if (latest.value_or(!named) == named) {
    wrong = true;
    reader.fail(item.line,
                named ? "an entry of `spec.traffic` has `revisionName` and `latestRevision: true`"
                      : "an entry of `spec.traffic` names no revision",
                "write either revisionName: NAME or latestRevision: true");
  }
  return wrong ? std::nullopt : std::optional{std::move(target)};
}

void read_traffic(YamlReader& reader, const YamlEntry& entry, ServiceSpec& spec) {
  bool wrong = false;
  for (const YamlEntry& item : reader.items(entry, kTrafficTargetsMax)) {
    auto target = read_traffic_target(reader, item);
    wrong = wrong || !target;
    if (target) spec.traffic.push_back(std::move(*target));
  }
  if (wrong) spec.traffic.clear();  // the sum of the rest would mislead
}

void read_spec(const Parsing& parsing, const YamlEntry& entry, ServiceSpec& spec) {
  YamlReader& reader = parsing.reader;
  bool seen = false;
  for (const YamlEntry& field :
       reader.entries(entry.value, entry.line, "spec", {{"template", "traffic"}})) {
    if (field.key == "traffic") {
      read_traffic(reader, field, spec);
      continue;
    }
    for (const YamlEntry& part :
         reader.entries(field.value, field.line, "spec.template", {{"metadata", "spec"}})) {
      if (part.key == "metadata") {
        read_template_metadata(reader, part, spec);
      } else {
        seen = true;
        read_template_spec(parsing, part, spec);
      }
    }
  }
  if (!seen) reader.fail_missing(entry.line, "spec", "`spec.template.spec` is missing", "add it");
}

/// Whether the document is a Service of Knative's; a problem names what it is instead.
bool is_service(YamlReader& reader, const std::vector<YamlEntry>& top, int line) {
  std::string version;
  std::string kind;
  for (const YamlEntry& field : top) {
    if (field.key != "apiVersion" && field.key != "kind") continue;
    line = field.line;
    if (auto text = reader.text(field)) (field.key == "kind" ? kind : version) = std::move(*text);
  }
  if (kind == "Service" && version == "serving.knative.dev/v1") return true;
  const std::string fix =
      "a file may hold only `kind: Service` of `apiVersion: serving.knative.dev/v1`, and ConfigMap "
      "and Secret of `v1`";
  if (kind.empty() || version.empty())
    reader.fail(line, "`apiVersion` or `kind` is missing", fix);
  else
    reader.fail(
        line, fmt::format("{} of {} cannot be run here", kind.substr(0, 80), version.substr(0, 80)),
        fix);
  return false;
}

void read_document(const Parsing& parsing, const YAML::Node& document, ParsedFile& parsed) {
  YamlReader& reader = parsing.reader;
  const int line = document.Mark().is_null() ? 1 : document.Mark().line + 1;
  if (document.IsMap() && !is_service(reader, reader.any_entries(document, line, "document"), line))
    return;
  ServiceSpec spec;
  spec.working_dir = directory_of(parsing.base_dir);
  spec.timeout = parsing.defaults.timeout;
  spec.container_concurrency = parsing.defaults.container_concurrency;
  int name_line = line;
  bool seen = false;
  const YamlKeys keys{{"apiVersion", "kind", "metadata", "spec"}, {}, {"status"}};
  for (const YamlEntry& field : reader.entries(document, line, "document", keys)) {
    if (field.key == "metadata") {
      name_line = field.line;
      read_metadata(reader, field, spec);
    } else if (field.key == "spec") {
      seen = true;
      read_spec(parsing, field, spec);
    }
  }
  if (!document.IsMap()) return;
  if (spec.name.empty())
    reader.fail(name_line, "`metadata.name` is missing", "give the service a name");
  if (auto problem = check_traffic(spec.traffic, spec.name))
    reader.fail(name_line, std::move(*problem));
  if (!seen)
    reader.fail_missing(line, "spec", "`spec` is missing", "add `spec.template.spec.containers`");
  const bool twice = std::any_of(parsed.services.begin(), parsed.services.end(),
                                 [&](const ServiceSpec& other) { return other.name == spec.name; });
  if (twice && !spec.name.empty())
    reader.fail(name_line, fmt::format("two services are named `{}`", spec.name), "rename one");
  // Any number of containers can have the same port, each its own.
  if (!spec.image.empty() && spec.fixed_port) {
    spec.container_port = std::exchange(spec.fixed_port, std::nullopt);
  }
  parsed.services.push_back(std::move(spec));
}

}  // namespace

Result<ParsedFile, RefusedFile> parse_services(std::string_view yaml, const std::string& file_name,
                                               const std::filesystem::path& base_dir,
                                               const SpecDefaults& defaults) {
  YamlReader reader(file_name);
  std::error_code failed;
  const auto base = std::filesystem::absolute(base_dir.empty() ? "." : base_dir, failed);
  ConfigFile config;
  const Parsing parsing{reader, base, defaults, config};
  ParsedFile parsed;
  try {
    std::vector<YAML::Node> documents;
    for (const YAML::Node& document : reader.documents(yaml, kSpecFileBytesMax)) {
      const auto items = items_of(document);
      documents.insert(documents.end(), items.begin(), items.end());
    }
    if (documents.size() > kServicesMax)
      reader.fail(1, "more than 1000 documents", "split the file");
    std::vector<YAML::Node> others;
    for (const YAML::Node& document : documents) {
      if (!document.IsNull() && !config.take(reader, document)) others.push_back(document);
    }
    for (const YAML::Node& document : others) {
      if (reader.failed() && parsed.services.size() >= kServicesMax) break;
      read_document(parsing, document, parsed);
    }
    if (!reader.failed() && parsed.services.empty())
      reader.fail(1, "no service in it",
                  config.empty() ? "write a serving.knative.dev/v1 Service"
                                 : "write the Service that uses its documents into the same file");
    if (!parsed.services.empty()) config.warn_of_unused(reader);
  } catch (const YAML::Exception& problem) {
    reader.fail(problem.mark.line + 1, problem.msg, "correct the YAML there");
  }
  if (reader.failed()) return RefusedFile{reader.take_problems(), reader.take_warnings()};
  parsed.warnings = reader.take_warnings();
  return parsed;
}

std::string RefusedFile::text() const {
  std::string text;
  for (const Problem& problem : problems) text += (text.empty() ? "" : "\n") + problem.text();
  for (const std::string& warning : warnings)
    text += (text.empty() ? "warning: " : "\nwarning: ") + warning;
  return text;
}

void RefusedFile::add(RefusedFile other) {
  std::move(other.problems.begin(), other.problems.end(), std::back_inserter(problems));
  std::move(other.warnings.begin(), other.warnings.end(), std::back_inserter(warnings));
}

}  // namespace sluice::local
