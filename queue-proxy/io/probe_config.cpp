#include "queue-proxy/io/probe_config.h"

#include "common/http/message.h"
#include "common/net/address.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace sluice::queue_proxy {
namespace {

using nlohmann::json;

constexpr std::size_t kJsonBytesMax = 256 * 1024;
constexpr std::size_t kProbesMax = 64;    // containers of one pod
constexpr std::size_t kHeadersMax = 128;  // of one probe
constexpr long kIntMax = std::numeric_limits<std::int32_t>::max();

Problem wrong(const std::string& what, const std::string& fix) {
  return {"SERVING_READINESS_PROBE: " + what, fix};
}

// A JSON null stands for an absent field, as it does for the reference.
const json* member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Reads the fields of one object and keeps the first complaint.
class Fields {
 public:
  explicit Fields(const json& object) : object_{object} {}

  std::string text(const char* key, const char* fallback) {
    const json* value = member(object_, key);
    if (value == nullptr) return fallback;
    if (value->is_string()) return value->get<std::string>();
    complain(wrong(std::string{key} + " is not a string", "put it in quotes"));
    return fallback;
  }

  long integer(const char* key, long fallback, long least, long most) {
    const json* value = member(object_, key);
    if (value == nullptr) return fallback;
    // Unsigned values beyond a long's reach turn negative and are refused with the rest.
    const long number = value->is_number_integer() ? value->get<long>() : least - 1;
    if (number >= least && number <= most) return number;
    complain(wrong(std::string{key} + " is not an integer from " + std::to_string(least) + " to " +
                       std::to_string(most),
                   "correct it"));
    return fallback;
  }

  // A number or a text of digits: Kubernetes has both.
  std::uint16_t port() {
    const json* value = member(object_, "port");
    long number = 0;
    if (value != nullptr && value->is_number_integer()) number = value->get<long>();
    if (value != nullptr && value->is_string()) {
      const auto& text = value->get_ref<const std::string&>();
      const char* end = text.data() + text.size();
      const auto [stop, ec] = std::from_chars(text.data(), end, number);
      if (ec != std::errc{} || stop != end) number = 0;
    }
    if (number >= 1 && number <= std::numeric_limits<std::uint16_t>::max()) {
      return static_cast<std::uint16_t>(number);
    }
    complain(wrong("the probe has no port from 1 to 65535", "give the port as a number"));
    return 0;
  }

  // Controllers always give 127.0.0.1. A name would make readiness depend on a resolver.
  std::string host() {
    std::string host = text("host", "");
    if (host.empty()) host = "127.0.0.1";
    if (host.find('\0') != std::string::npos || !net::parse_address(host + ":1")) {
      complain(wrong("host is not an IP address", "use 127.0.0.1"));
    }
    return host;
  }

  void complain(Problem problem) {
    if (!problem_) problem_ = std::move(problem);
  }

  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

 private:
  const json& object_;  // an argument of the reader's creator
  std::optional<Problem> problem_;
};

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

void read_headers(const json& list, Fields& fields, ProbeSpec& spec) {
  if (!list.is_array() || list.size() > kHeadersMax) {
    fields.complain(wrong("httpHeaders is not an array of at most " + std::to_string(kHeadersMax),
                          "give name and value of each header"));
    return;
  }
  for (const json& header : list) {
    if (!header.is_object()) {
      fields.complain(wrong("a header is not an object", "give its name and value"));
      return;
    }
    Fields parts{header};
    const std::string name = parts.text("name", "");
    const std::string value = parts.text("value", "");
    if (parts.problem()) return fields.complain(*parts.problem());
    if (!is_token(name)) {
      return fields.complain(wrong("a header's name is not an HTTP token", "correct it"));
    }
    if (!is_field_value(value)) {
      return fields.complain(
          wrong("the value of header " + name + " holds a control character", "remove it"));
    }
    if (http::equals_ignoring_case(name, "host")) {
      if (spec.host_header.empty()) spec.host_header = value;
    } else if (!frames_the_message(name)) {
      spec.headers.emplace_back(name, value);
    }
  }
}

void read_http(const json& action, Fields& fields, ProbeReading reading, ProbeSpec& spec) {
  const std::string scheme = fields.text("scheme", "");
  const bool secure = http::equals_ignoring_case(scheme, "HTTPS");
  if (!secure && !scheme.empty() && !http::equals_ignoring_case(scheme, "HTTP")) {
    fields.complain(wrong("scheme is neither HTTP nor HTTPS", "use one of them"));
  }
  spec.kind = secure ? ProbeSpec::Kind::https : ProbeSpec::Kind::http;
  spec.detect_http2 = reading.detect_http2 && !secure;
  const std::string path = fields.text("path", "");
  if (std::any_of(path.begin(), path.end(), is_control)) {
    fields.complain(wrong("the path holds a control character", "escape or remove it"));
  }
  spec.path = target_of(path);
  if (const json* headers = member(action, "httpHeaders")) read_headers(*headers, fields, spec);
}

Result<ProbeSpec, Problem> read_action(const json& action, ProbeReading reading, ProbeSpec spec) {
  if (!action.is_object()) return wrong("the probe's action is not an object", "give its port");
  Fields fields{action};
  spec.port = fields.port();
  switch (spec.kind) {
    case ProbeSpec::Kind::http:
    case ProbeSpec::Kind::https:
      spec.host = fields.host();
      read_http(action, fields, reading, spec);
      break;
    case ProbeSpec::Kind::tcp:
      spec.host = fields.host();
      break;
    case ProbeSpec::Kind::grpc:  // has no host in Kubernetes
      spec.service = fields.text("service", "");
      break;
    case ProbeSpec::Kind::none:
      break;
  }
  if (fields.problem()) return *fields.problem();
  return spec;
}

Result<ProbeSpec, Problem> read_probe(const json& probe, ProbeReading reading) {
  if (!probe.is_object()) return wrong("a probe is not a JSON object", "give a Kubernetes Probe");
  Fields fields{probe};
  ProbeSpec spec;
  spec.period = std::chrono::seconds{fields.integer("periodSeconds", 0, 0, kIntMax)};
  spec.timeout = std::chrono::seconds{fields.integer("timeoutSeconds", 0, 0, kIntMax)};
  // Less than one success is one.
  spec.success_threshold =
      static_cast<int>(std::max(1L, fields.integer("successThreshold", 1, -kIntMax, kIntMax)));
  if (fields.problem()) return *fields.problem();
  // Should several be given, the first of these counts, as in the reference.
  constexpr std::array<std::pair<const char*, ProbeSpec::Kind>, 3> kActions{
      {{"httpGet", ProbeSpec::Kind::http},
       {"tcpSocket", ProbeSpec::Kind::tcp},
       {"grpc", ProbeSpec::Kind::grpc}}};
  for (const auto& [key, kind] : kActions) {
    if (const json* action = member(probe, key)) {
      spec.kind = kind;
      return read_action(*action, reading, std::move(spec));
    }
  }
  const bool exec = member(probe, "exec") != nullptr;
  spec.refusal = exec ? "exec probe not supported" : "no probe found";
  return spec;
}

}  // namespace

Result<std::vector<ProbeSpec>, Problem> read_probes(const std::string& text, ProbeReading reading) {
  if (text.size() > kJsonBytesMax) {
    return wrong("it is longer than " + std::to_string(kJsonBytesMax) + " bytes", "shorten it");
  }
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return wrong("it is not valid JSON", "give a Kubernetes Probe");
  if (reading.several != document.is_array()) {
    return reading.several
               ? wrong("it is not an array although ENABLE_MULTI_CONTAINER_PROBES is true",
                       "give an array of Kubernetes Probes")
               : wrong("it is not an object",
                       "give one Kubernetes Probe, or an array of them with "
                       "ENABLE_MULTI_CONTAINER_PROBES=true");
  }
  if (document.is_array() && document.size() > kProbesMax) {
    return wrong("it has more than " + std::to_string(kProbesMax) + " probes", "remove some");
  }
  std::vector<ProbeSpec> probes;
  if (!document.is_array()) {
    auto probe = read_probe(document, reading);
    if (!probe) return probe.error();
    probes.push_back(std::move(*probe));
    return probes;
  }
  for (const json& entry : document) {
    auto probe = read_probe(entry, reading);
    if (!probe) return probe.error();
    probes.push_back(std::move(*probe));
  }
  return probes;
}

}  // namespace sluice::queue_proxy
