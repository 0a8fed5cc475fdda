#include "common/files/file_io.h"
#include "common/json/parse.h"
#include "common/json/write.h"
#include "common/kube/access.h"
#include "common/kube/base64.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include <arpa/inet.h>
#include <array>
#include <optional>
#include <utility>

namespace sluice::kube {
namespace {

using nlohmann::json;

constexpr std::size_t kTextMax = 1U << 20U;

// Reads keys and keeps the first complaint, so that the reading reads as a table.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& directory) : directory_{directory} {}

  void refuse(std::string what, std::string fix) {
    if (!problem_) problem_ = Problem{"kubeconfig: " + std::move(what), std::move(fix)};
  }

  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

  std::string text(const YAML::Node& map, const char* key) {
    const YAML::Node value = map.IsMap() ? map[key] : YAML::Node{};
    if (!value.IsDefined() || value.IsNull()) return {};
    if (value.IsScalar()) return value.Scalar();
    refuse(std::string{key} + " is not a string", "give a string");
    return {};
  }

  bool is_true(const YAML::Node& map, const char* key) {
    const std::string value = text(map, key);
    return value == "true" || value == "True" || value == "TRUE";
  }

  // The map under `inner` of the item called `name` in the list `outer`.
  YAML::Node named(const YAML::Node& root, const char* outer, const char* inner,
                   const std::string& name) {
    const YAML::Node list = root[outer];
    if (list.IsDefined() && list.IsSequence()) {
      for (const YAML::Node& item : list) {
        if (item.IsMap() && text(item, "name") == name) {
          const YAML::Node found = item[inner];
          const bool is_map = found.IsDefined() && found.IsMap();
          return is_map ? found : YAML::Node{YAML::NodeType::Map};
        }
      }
    }
    refuse(std::string{outer} + " has no entry named '" + name + "'",
           "add it, or name another in the context");
    return YAML::Node{YAML::NodeType::Map};
  }

  [[nodiscard]] std::filesystem::path path(const std::string& text) const {
    const std::filesystem::path given{text};
    return given.is_absolute() ? given : directory_ / given;
  }

  // What stands in `key`-data, else in the file that `key` names.
  std::string content(const YAML::Node& map, const std::string& key) {
    const std::string inline_key = key + "-data";
    if (const std::string encoded = text(map, inline_key.c_str()); !encoded.empty()) {
      const auto decoded = decode_base64(encoded);
      if (!decoded) refuse(inline_key + " is not base64", "encode the PEM text with base64");
      return decoded.value_or("");
    }
    const std::string name = text(map, key.c_str());
    if (name.empty()) return {};
    const auto found = files::read_file(path(name));
    if (!found) {
      refuse(key + ": " + found.error().what, found.error().fix);
      return {};
    }
    if (!*found || (*found)->size() > kTextMax) {
      refuse(key + ": no file of at most 1 MiB at " + path(name).string(), "correct the path");
      return {};
    }
    return **found;
  }

 private:
  const std::filesystem::path& directory_;  // the caller's, for as long as it reads
  std::optional<Problem> problem_;
};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// `https://host:port/prefix`.
void read_server(Reader& reader, std::string_view url, Access& access) {
  const auto refuse = [&](std::string_view why) {
    reader.refuse("server '" + std::string{url.substr(0, 200)} + "' " + std::string{why},
                  "give https://host:port");
  };
  std::string_view rest = url;
  access.tls = rest.starts_with("https://");
  if (!access.tls && !rest.starts_with("http://")) {
    refuse("is not an https URL");
    return;
  }
  rest.remove_prefix(access.tls ? 8 : 7);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  access.path_prefix = rest.substr(slash);
  while (access.path_prefix.ends_with('/')) access.path_prefix.pop_back();
  std::string_view host = rest.substr(0, slash);
  access.address.port = access.tls ? 443 : 80;
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && !host.ends_with(']') &&
                        (host.starts_with('[') || host.find(':') == colon);
  if (has_port) {
    const auto port = whole_number<std::uint16_t>(host.substr(colon + 1), 1);
    if (!port) {
      refuse("has no port from 1 to 65535");
      return;
    }
    access.address.port = *port;
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  constexpr std::string_view kHostChars =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:";
  if (host.empty() || host.find_first_not_of(kHostChars) != std::string_view::npos) {
    refuse("names no host");
    return;
  }
  if (access.path_prefix.find_first_of(" ?#\r\n\t") != std::string::npos) refuse("has a query");
  if (!access.tls && !is_loopback(std::string{host})) {
    refuse("would send credentials in clear text");
  }
  access.server_name = host;
  // Not left to the resolver: one answer may be ::1, where nothing listens.
  access.address.host = host == "localhost" ? "127.0.0.1" : std::string{host};
}

void read_cluster(Reader& reader, const YAML::Node& cluster, Access& access) {
  const std::string server = reader.text(cluster, "server");
  if (server.empty()) {
    reader.refuse("the cluster has no server", "give https://host:port");
    return;
  }
  read_server(reader, server, access);
  if (reader.is_true(cluster, "insecure-skip-tls-verify")) {
    reader.refuse("insecure-skip-tls-verify is not supported",
                  "give the server's certificate-authority instead");
  }
  if (!reader.text(cluster, "proxy-url").empty()) {
    reader.refuse("proxy-url is not supported", "give a server that is reached directly");
  }
  if (const std::string name = reader.text(cluster, "tls-server-name"); !name.empty()) {
    access.server_name = name;
  }
  access.ca = reader.content(cluster, "certificate-authority");
}

Interactive read_interactive(Reader& reader, const YAML::Node& exec, bool needed) {
  const std::string mode = reader.text(exec, "interactiveMode");
  if (mode == "Never") return Interactive::never;
  if (mode == "Always") return Interactive::always;
  if (mode != "IfAvailable" && (needed || !mode.empty())) {
    reader.refuse("exec: interactiveMode '" + mode.substr(0, 40) + "' is not known",
                  "give Never, IfAvailable or Always");
  }
  return Interactive::if_available;
}

// A path that has directories begins where the kubeconfig is, as one of kubectl does.
ExecPlugin read_plugin(Reader& reader, const YAML::Node& exec) {
  ExecPlugin plugin;
  std::string command = reader.text(exec, "command");
  if (command.empty()) reader.refuse("exec has no command", "name the program of the plugin");
  if (command.find('/') != std::string::npos) command = reader.path(command).string();
  plugin.command = {command};
  plugin.api_version = reader.text(exec, "apiVersion");
  const std::string group = "client.authentication.k8s.io/";
  if (plugin.api_version != group + "v1" && plugin.api_version != group + "v1beta1") {
    reader.refuse("exec: apiVersion '" + plugin.api_version.substr(0, 80) + "' is not supported",
                  "give client.authentication.k8s.io/v1, or v1beta1, as the plugin has it");
  }
  plugin.interactive = read_interactive(reader, exec, plugin.api_version == group + "v1");
  plugin.install_hint = reader.text(exec, "installHint");
  if (const YAML::Node args = exec["args"]; args.IsDefined() && args.IsSequence()) {
    for (const YAML::Node& each : args) {
      if (!each.IsScalar()) reader.refuse("exec: an argument is not a string", "give strings");
      plugin.command.push_back(each.IsScalar() ? each.Scalar() : std::string{});
    }
  }
  if (const YAML::Node all = exec["env"]; all.IsDefined() && all.IsSequence()) {
    for (const YAML::Node& each : all) {
      const std::string name = reader.text(each, "name");
      if (name.empty() || name.find('=') != std::string::npos) {
        reader.refuse("exec: env has an entry without a usable name", "give name and value");
      }
      plugin.environment.emplace_back(name, reader.text(each, "value"));
    }
  }
  // Until the cluster is written there.
  if (reader.is_true(exec, "provideClusterInfo")) plugin.cluster_info = "{}";
  return plugin;
}

void read_user(Reader& reader, const YAML::Node& user, Access& access) {
  constexpr std::array<std::array<const char*, 2>, 4> kRefused{{
      {"auth-provider", "use a token, tokenFile or client certificate"},
      {"username", "use a token, tokenFile or client certificate"},
      {"password", "use a token, tokenFile or client certificate"},
      {"as", "give the user itself instead of impersonation"},
  }};
  for (const auto& [key, fix] : kRefused) {
    const YAML::Node value = user[key];
    if (value.IsDefined() && !value.IsNull()) {
      reader.refuse(std::string{key} + " is not supported for users", fix);
    }
  }
  access.client_certificate = reader.content(user, "client-certificate");
  access.client_key = reader.content(user, "client-key");
  if (access.client_certificate.empty() != access.client_key.empty()) {
    reader.refuse("only one of client-certificate and client-key is set", "give both");
  }
  access.token = reader.text(user, "token");
  if (const std::string file = reader.text(user, "tokenFile"); !file.empty()) {
    access.token_file = reader.path(file);
  }
  if (const YAML::Node exec = user["exec"]; exec.IsDefined() && !exec.IsNull()) {
    if (!access.token.empty() || !access.token_file.empty() || !access.client_key.empty()) {
      reader.refuse("the user has exec and other credentials", "leave one of them");
    }
    access.plugin = read_plugin(reader, exec);
  }
}

// A document of YAML as JSON: of the extension that a cluster has for plugins.
json json_of(const YAML::Node& node, int depth = 0) {
  constexpr int kDepthMax = 20;
  if (depth > kDepthMax || !node.IsDefined() || node.IsNull()) return nullptr;
  json made;
  if (node.IsMap()) {
    made = json::object();
    for (const auto& member : node) {
      made[member.first.Scalar()] = json_of(member.second, depth + 1);
    }
    return made;
  }
  if (node.IsSequence()) {
    made = json::array();
    for (const YAML::Node& each : node) made.push_back(json_of(each, depth + 1));
    return made;
  }
  // Quoted text stays text; of the rest JSON has the same words for numbers and truths.
  const json plain = node.Tag() == "!" ? json{} : reading::parsed(node.Scalar());
  return plain.is_number() || plain.is_boolean() ? plain : json(node.Scalar());
}

std::string cluster_info(Reader& reader, const YAML::Node& cluster, const Access& access) {
  json info = {{"server", reader.text(cluster, "server")}};
  const std::string name = reader.text(cluster, "tls-server-name");
  if (!name.empty()) info["tls-server-name"] = name;
  if (!access.ca.empty()) info["certificate-authority-data"] = encode_base64(access.ca);
  const YAML::Node extensions = cluster["extensions"];
  if (extensions.IsDefined() && extensions.IsSequence()) {
    for (const YAML::Node& each : extensions) {
      if (reader.text(each, "name") != "client.authentication.k8s.io/exec") continue;
      info["config"] = json_of(each["extension"]);
    }
  }
  return json_line(info);
}

Result<Access, Problem> read_config(const YAML::Node& root, std::string_view wanted,
                                    const std::filesystem::path& directory) {
  Reader reader{directory};
  if (!root.IsMap())
    return Problem{"kubeconfig: it is not a YAML map", "give the path of a kubeconfig"};
  std::string name{wanted};
  if (name.empty()) name = reader.text(root, "current-context");
  if (name.empty()) {
    return Problem{"kubeconfig: it has no current-context", "set current-context"};
  }
  const YAML::Node context = reader.named(root, "contexts", "context", name);
  if (reader.problem()) return *reader.problem();
  const YAML::Node cluster =
      reader.named(root, "clusters", "cluster", reader.text(context, "cluster"));
  const YAML::Node user = reader.named(root, "users", "user", reader.text(context, "user"));
  if (reader.problem()) return *reader.problem();
  Access access;
  read_cluster(reader, cluster, access);
  read_user(reader, user, access);
  if (access.plugin && !access.plugin->cluster_info.empty()) {
    access.plugin->cluster_info = cluster_info(reader, cluster, access);
  }
  if (const std::string space = reader.text(context, "namespace"); !space.empty()) {
    access.space = space;
  }
  if (reader.problem()) return *reader.problem();
  return access;
}

}  // namespace

Result<Access, Problem> parse_kubeconfig(std::string_view text, std::string_view context,
                                         const std::filesystem::path& directory) {
  if (text.size() > kTextMax) {
    return Problem{"kubeconfig: it is larger than 1 MiB", "remove unused entries"};
  }
  try {
    return read_config(YAML::Load(std::string{text}), context, directory);
  } catch (const YAML::Exception& error) {
    return Problem{"kubeconfig: it is not YAML (line " + std::to_string(error.mark.line + 1) + ")",
                   "check it with kubectl config view"};
  }
}

}  // namespace sluice::kube
