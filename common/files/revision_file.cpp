#include "common/files/revision_file.h"

#include "common/files/json_file.h"
#include "common/json/fields.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::files {
namespace {

using nlohmann::json;
using reading::Fields;
using reading::Findings;
using reading::is_printable;
using reading::shown;
using Need = Fields::Need;

constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kNamespaceMax = 63;
constexpr std::size_t kNameMax = 180;  // so that a file name fits every file system
constexpr std::size_t kDnsNameMax = 253;
constexpr std::size_t kAnnotationKeyMax = 320;
constexpr std::size_t kAnnotationValueMax = 4096;
constexpr std::size_t kSettingsMax = 1000;
constexpr std::int64_t kConcurrencyMax = 1'000'000;
constexpr double kTimeoutLeast = 0.001;
constexpr double kTimeoutMost = 7.0 * 86'400;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// Lower-case letters, digits and dashes, dots too for a subdomain; an alphanumeric at both ends.
bool is_dns_name(std::string_view text, std::size_t bytes_max, bool dots) {
  if (text.empty() || text.size() > bytes_max) return false;
  if (!is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [dots](char c) {
    return is_alphanumeric(c) || c == '-' || (dots && c == '.');
  });
}

std::string read_name(Fields& fields, const char* key, std::size_t bytes_max, bool dots) {
  std::string name = fields.text(key, Need::required, bytes_max);
  if (!is_dns_name(name, bytes_max, dots)) {
    fields.refuse(key, "'" + shown(name) + "' is not a valid name",
                  std::string{"lower-case letters, digits"} + (dots ? ", dots" : "") +
                      " and dashes, at most " + std::to_string(bytes_max));
  }
  return name;
}

// A text is a host with every path, an object may name a prefix of it.
model::HostRule read_host(const json& item, const std::string& place, Findings& findings) {
  json named;
  if (item.is_string()) named["host"] = item;
  Fields fields{item.is_string() ? named : item, place, findings};
  model::HostRule rule;
  rule.host = fields.text("host", Need::required, kDnsNameMax);
  std::transform(rule.host.begin(), rule.host.end(), rule.host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (!is_dns_name(rule.host, kDnsNameMax, true)) {
    fields.refuse("host", "'" + shown(rule.host) + "' is not a host name",
                  "a name such as app.example.com, without port");
  }
  const std::string prefix = fields.text("path_prefix", Need::optional, model::kPathPrefixBytesMax);
  auto read = model::read_path_prefix(prefix);
  if (!read) {
    fields.refuse("path_prefix", "'" + shown(prefix) + "' is not a path",
                  "a path such as /shop, without query");
  }
  rule.path_prefix = read ? std::move(*read) : std::string{};
  fields.close();
  return rule;
}

std::vector<model::HostRule> read_hosts(Fields& fields, Findings& findings) {
  std::vector<model::HostRule> hosts;
  const json* const list = fields.array("hosts", kHostsMax);
  if (list == nullptr) return hosts;
  std::set<std::pair<std::string, std::string>> known;
  std::size_t index = 0;
  for (const json& item : *list) {
    model::HostRule rule = read_host(item, "hosts[" + std::to_string(index++) + "]", findings);
    if (findings.problem) return {};
    if (known.emplace(rule.host, rule.path_prefix).second) hosts.push_back(std::move(rule));
  }
  return hosts;
}

StringMap read_annotations(Fields& fields) {
  StringMap annotations;
  const json* const object = fields.object("annotations", kAnnotationsMax);
  if (object == nullptr) return annotations;
  for (const auto& [key, value] : object->items()) {
    const bool fits = is_printable(key, kAnnotationKeyMax) && value.is_string() &&
                      value.get_ref<const std::string&>().size() <= kAnnotationValueMax;
    if (!fits) {
      fields.refuse("annotations." + shown(key), "is not accepted",
                    "a string of at most " + std::to_string(kAnnotationValueMax) +
                        " bytes; numbers in quotes too");
      return {};
    }
    annotations.emplace(key, value.get<std::string>());
  }
  return annotations;
}

// An address that can be dialled, `:port` being one of this machine.
std::optional<net::Address> dialled_address(const json& value, std::string_view place,
                                            Findings& findings) {
  const auto refuse = [&](std::string what) {
    findings.complain(
        {std::string{place} + ": " + std::move(what), "give host:port or unix:/path"});
    return std::nullopt;
  };
  if (!value.is_string()) return refuse(reading::shown_value(value) + " is not a string");
  const auto& text = value.get_ref<const std::string&>();
  auto address = net::parse_address(shown(text, 300));
  if (!address) return refuse(address.error().what);
  if (!address->is_unix() && address->port == 0) {
    return refuse("bad address '" + shown(text) + "': port 0 cannot be dialled");
  }
  if (!address->is_unix() && address->host.empty()) address->host = "127.0.0.1";
  return *address;
}

std::optional<net::Address> read_address(Fields& fields, const char* key, Findings& findings) {
  const json* const value = fields.find(key);
  if (value == nullptr || *value == "") return std::nullopt;
  return dialled_address(*value, fields.name_of(key), findings);
}

model::Pod read_pod(const json& item, const std::string& place, Findings& findings) {
  Fields fields{item, place, findings};
  model::Pod pod;
  pod.id.name = fields.text("name", Need::required, kDnsNameMax);
  if (pod.id.name.empty()) fields.refuse("name", "is empty", "the pod's name");
  pod.node = fields.text("node", Need::optional, kDnsNameMax);
  pod.address = read_address(fields, "address", findings);
  pod.stats = read_address(fields, "stats", findings);
  pod.ready = fields.boolean("ready", false);
  pod.terminating = fields.boolean("terminating", false);
  pod.failed = fields.text("failed", Need::optional, kFailedMax);
  if (pod.ready && !pod.address) {
    fields.refuse("address", "is missing although the pod is ready", "host:port or unix:/path");
  }
  if (pod.ready && !pod.failed.empty()) {
    fields.refuse("failed", "is set although the pod is ready",
                  "a string only where `ready` is false");
  }
  fields.close();
  return pod;
}

std::vector<model::Pod> read_pods(Fields& fields, Findings& findings) {
  std::vector<model::Pod> pods;
  const json* const list = fields.array("pods", kPodsMax);
  if (list == nullptr) return pods;
  pods.reserve(list->size());
  std::set<std::string_view> names;
  for (const json& item : *list) {
    const std::string place = "pods[" + std::to_string(pods.size()) + "]";
    pods.push_back(read_pod(item, place, findings));
    if (findings.problem) return {};
    if (!names.insert(pods.back().id.name).second) {
      fields.refuse("pods", "'" + shown(pods.back().id.name) + "' is listed twice",
                    "each pod a unique name");
      return {};
    }
  }
  return pods;
}

Duration read_timeout(Fields& fields, const char* key, Duration fallback, double least) {
  return from_seconds(fields.number(key, to_seconds(fallback), least, kTimeoutMost));
}

model::AppProtocol read_protocol(Fields& fields) {
  const std::string name = fields.text("protocol", Need::optional, 16);
  if (name == "h2c") return model::AppProtocol::h2c;
  if (!name.empty() && name != "http1") {
    fields.refuse("protocol", "'" + shown(name) + "' is not accepted", "http1 or h2c");
  }
  return model::AppProtocol::http1;
}

}  // namespace

std::string file_name_of(const RevisionId& id) {
  return id.space + "." + id.name + std::string{kSuffix};
}

std::optional<RevisionId> revision_of(std::string_view file_name) {
  if (!file_name.ends_with(kSuffix)) return std::nullopt;
  const std::string_view stem = file_name.substr(0, file_name.size() - kSuffix.size());
  const std::size_t dot = stem.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view space = stem.substr(0, dot);
  const std::string_view name = stem.substr(dot + 1);
  if (!is_dns_name(space, kNamespaceMax, false) || !is_dns_name(name, kNameMax, true)) {
    return std::nullopt;
  }
  return RevisionId{std::string{space}, std::string{name}};
}

Result<Parsed<model::Revision>, Problem> parse_revision_file(std::string_view text,
                                                             std::string_view file_name) {
  json document;
  if (auto problem = parse_file(text, document)) return std::move(*problem);
  Findings findings;
  Fields fields{document, "", findings};
  model::Revision file;
  file.id.space = read_name(fields, "namespace", kNamespaceMax, false);
  file.id.name = read_name(fields, "name", kNameMax, true);
  if (file_name_of(file.id) != file_name) {
    findings.complain({"namespace and name are those of " + file_name_of(file.id),
                       "name the file after them: <namespace>.<name>.json"});
  }
  file.service = fields.text("service", Need::optional, kDnsNameMax);
  if (file.service.empty()) file.service = file.id.name;
  file.hosts = read_hosts(fields, findings);
  file.protocol = read_protocol(fields);
  file.container_concurrency =
      static_cast<std::int32_t>(fields.integer("container_concurrency", 0, 0, kConcurrencyMax));
  file.timeout = read_timeout(fields, "timeout_seconds", file.timeout, kTimeoutLeast);
  file.response_start_timeout =
      read_timeout(fields, "response_start_timeout_seconds", Duration{0}, 0);
  file.idle_timeout = read_timeout(fields, "idle_timeout_seconds", Duration{0}, 0);
  file.annotations = read_annotations(fields);
  file.pods = read_pods(fields, findings);
  fields.close();
  if (findings.problem) return *findings.problem;
  return Parsed<model::Revision>{std::move(file), std::move(findings.unknown_keys)};
}

Result<std::vector<net::Address>, Problem> parse_activators(std::string_view text) {
  json document;
  if (auto problem = parse_file(text, document)) return std::move(*problem);
  if (!document.is_array() || document.size() > kActivatorsMax) {
    return Problem{"it is not a list of activators",
                   "give an array of at most 1000 addresses, such as [\"127.0.0.1:8012\"]"};
  }
  Findings findings;
  std::vector<net::Address> activators;
  for (const json& item : document) {
    const std::string place = "[" + std::to_string(activators.size()) + "]";
    auto address = dialled_address(item, place, findings);
    if (!address) return *findings.problem;
    if (std::find(activators.begin(), activators.end(), *address) != activators.end()) {
      return Problem{place + ": " + address->text() + " is listed twice",
                     "name each activator once"};
    }
    activators.push_back(std::move(*address));
  }
  return activators;
}

Result<StringMap, Problem> parse_settings(std::string_view text) {
  json document;
  if (auto problem = parse_file(text, document)) return std::move(*problem);
  if (!document.is_object() || document.size() > kSettingsMax) {
    return Problem{"it is not a map of settings",
                   "give an object of strings, such as {\"stable-window\": \"60s\"}"};
  }
  StringMap settings;
  for (const auto& [key, value] : document.items()) {
    if (!value.is_string()) {
      return Problem{shown(key) + ": " + shown(value.dump()) + " is not a string",
                     "write every value in quotes, numbers too"};
    }
    settings.emplace(key, value.get<std::string>());
  }
  return settings;
}

}  // namespace sluice::files
