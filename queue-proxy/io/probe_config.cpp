#include "queue-proxy/io/probe_config.h"

#include "common/http/message.h"
#include "common/json/fields.h"
#include "common/json/parse.h"
#include "common/net/address.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace sluice::queue_proxy {
namespace {

using nlohmann::json;
using reading::Fields;
using reading::Findings;

constexpr const char* kSetting = "SERVING_READINESS_PROBE";
constexpr reading::Bounds kBounds{.bytes_max = 256 * 1024};
constexpr std::size_t kProbesMax = 64;    // containers of one pod
constexpr std::size_t kHeadersMax = 128;  // of one probe
constexpr long kIntMax = std::numeric_limits<std::int32_t>::max();

Problem wrong(const std::string& what, const std::string& fix) {
  return {kSetting + (": " + what), fix};
}

// A number or a text of digits: Kubernetes has both.
std::uint16_t read_port(Fields& action) {
  const json* const value = action.find("port");
  std::uint64_t number = 0;
  if (value != nullptr && value->is_number_unsigned()) number = value->get<std::uint64_t>();
  if (value != nullptr && value->is_string()) {
    number = whole_number<std::uint16_t>(value->get_ref<const std::string&>()).value_or(0);
  }
  if (number >= 1 && number <= std::numeric_limits<std::uint16_t>::max()) {
    return static_cast<std::uint16_t>(number);
  }
  action.refuse("port",
                value == nullptr ? "is missing" : reading::shown_value(*value) + " is not a port",
                "a number from 1 to 65535");
  return 0;
}

// Controllers always give 127.0.0.1. A name would make readiness depend on a resolver.
std::string read_host(Fields& action) {
  std::string host = action.any_text("host");
  if (host.empty()) host = "127.0.0.1";
  if (host.find('\0') != std::string::npos || !net::parse_address(host + ":1")) {
    action.refuse("host", reading::shown(host) + " is not an IP address", "127.0.0.1");
  }
  return host;
}

bool is_token(std::string_view name) {
  static constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') ||
           kSigns.find(c) != std::string_view::npos;
  });
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool is_field_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(),
                      [](char c) { return is_control(c) && c != '\t'; });
}

// Fields of the connection and of the framing are the probe's own business.
bool frames_the_message(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames{
      "connection", "content-length", "expect",  "keep-alive",       "proxy-connection",
      "te",         "trailer",        "upgrade", "transfer-encoding"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view framing) {
    return http::equals_ignoring_case(name, framing);
  });
}

// What a URL may not hold as it is is escaped, as kubelet does; a fragment is never sent.
std::string target_of(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string target = path.starts_with('/') ? "" : "/";
  for (const char c : path.substr(0, path.find('#'))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f) {
      target += c;
    } else {
      target += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return target;
}

void read_headers(Fields& action, Findings& findings, ProbeSpec& spec) {
  const json* const list = action.array("httpHeaders", kHeadersMax);
  if (list == nullptr) return;
  std::size_t index = 0;
  for (const json& header : *list) {
    Fields parts{header, action.name_of("httpHeaders") + "[" + std::to_string(index++) + "]",
                 findings, Fields::Null::absent};
    const std::string name = parts.any_text("name");
    const std::string value = parts.any_text("value");
    if (findings.problem) return;
    if (!is_token(name)) return parts.refuse("name", "it is not an HTTP token", "a header's name");
    if (!is_field_value(value)) {
      return parts.refuse("value", "it holds a control character", "a value without one");
    }
    if (http::equals_ignoring_case(name, "host")) {
      if (spec.host_header.empty()) spec.host_header = value;
    } else if (!frames_the_message(name)) {
      spec.headers.emplace_back(name, value);
    }
  }
}

void read_http(Fields& action, Findings& findings, ProbeReading how, ProbeSpec& spec) {
  const std::string scheme = action.any_text("scheme");
  const bool secure = http::equals_ignoring_case(scheme, "HTTPS");
  if (!secure && !scheme.empty() && !http::equals_ignoring_case(scheme, "HTTP")) {
    action.refuse("scheme", "it is neither HTTP nor HTTPS", "one of them");
  }
  spec.kind = secure ? ProbeSpec::Kind::https : ProbeSpec::Kind::http;
  spec.detect_http2 = how.detect_http2 && !secure;
  const std::string path = action.any_text("path");
  if (std::any_of(path.begin(), path.end(), is_control)) {
    action.refuse("path", "it holds a control character", "an escaped path");
  }
  spec.path = target_of(path);
  read_headers(action, findings, spec);
}

void read_action(Fields& action, Findings& findings, ProbeReading how, ProbeSpec& spec) {
  spec.port = read_port(action);
  switch (spec.kind) {
    case ProbeSpec::Kind::http:
    case ProbeSpec::Kind::https:
      spec.host = read_host(action);
      read_http(action, findings, how, spec);
      break;
    case ProbeSpec::Kind::tcp:
      spec.host = read_host(action);
      break;
    case ProbeSpec::Kind::grpc:  // has no host in Kubernetes
      spec.service = action.any_text("service");
      break;
    case ProbeSpec::Kind::none:
      break;
  }
}

// A JSON null stands for an absent field, as it does for the reference.
ProbeSpec read_probe(const json& probe, const std::string& place, ProbeReading how,
                     Findings& findings) {
  Fields fields{probe, place, findings, Fields::Null::absent};
  ProbeSpec spec;
  spec.period = std::chrono::seconds{fields.integer("periodSeconds", 0, 0, kIntMax)};
  spec.timeout = std::chrono::seconds{fields.integer("timeoutSeconds", 0, 0, kIntMax)};
  // Less than one success is one.
  spec.success_threshold =
      static_cast<int>(std::max(1L, fields.integer("successThreshold", 1, -kIntMax, kIntMax)));
  // Should several be given, the first of these counts, as in the reference.
  constexpr std::array<std::pair<const char*, ProbeSpec::Kind>, 3> kActions{
      {{"httpGet", ProbeSpec::Kind::http},
       {"tcpSocket", ProbeSpec::Kind::tcp},
       {"grpc", ProbeSpec::Kind::grpc}}};
  for (const auto& [key, kind] : kActions) {
    if (const json* action = fields.find(key)) {
      spec.kind = kind;
      Fields parts{*action, fields.name_of(key), findings, Fields::Null::absent};
      read_action(parts, findings, how, spec);
      return spec;
    }
  }
  const bool exec = fields.find("exec") != nullptr;
  spec.refusal = exec ? "exec probe not supported" : "no probe found";
  return spec;
}

}  // namespace

Result<std::vector<ProbeSpec>, Problem> read_probes(const std::string& text, ProbeReading how) {
  json document;
  if (const auto flaw = reading::parse(text, kBounds, document)) {
    return flaw->kind == reading::Flaw::Kind::too_large
               ? wrong("it is longer than " + std::to_string(kBounds.bytes_max) + " bytes",
                       "shorten it")
               : wrong("it is not valid JSON", "give a Kubernetes Probe");
  }
  if (how.several != document.is_array()) {
    return how.several ? wrong("it is not an array although ENABLE_MULTI_CONTAINER_PROBES is true",
                               "give an array of Kubernetes Probes")
                       : wrong("it is not an object",
                               "give one Kubernetes Probe, or an array of them with "
                               "ENABLE_MULTI_CONTAINER_PROBES=true");
  }
  if (document.is_array() && document.size() > kProbesMax) {
    return wrong("it has more than " + std::to_string(kProbesMax) + " probes", "remove some");
  }
  Findings findings;
  std::vector<ProbeSpec> probes;
  if (!document.is_array()) {
    probes.push_back(read_probe(document, kSetting, how, findings));
  } else {
    for (const json& entry : document) {
      const std::string place = kSetting + ("[" + std::to_string(probes.size()) + "]");
      probes.push_back(read_probe(entry, place, how, findings));
    }
  }
  if (findings.problem) return *findings.problem;
  return probes;
}

}  // namespace sluice::queue_proxy
