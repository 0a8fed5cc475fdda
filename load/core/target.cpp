#include "load/core/target.h"

#include "common/base/clean_text.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::uint16_t kPort = 80;
constexpr std::uint16_t kTlsPort = 443;
constexpr std::size_t kUrlBytesMax = 8192;
constexpr std::string_view kExample = "write it like http://app.localhost:8080/path";

Problem bad_url(std::string_view why, std::string_view url) {
  return Problem{std::string{why} + ": '" + std::string{url.substr(0, 80)} + "'",
                 std::string{kExample}};
}

struct Scheme {
  std::string_view begin;
  Protocol protocol;
  bool tls;
};

constexpr std::array<Scheme, 8> kSchemes{{{"http://", Protocol::http1, false},
                                          {"https://", Protocol::by_alpn, true},
                                          {"h2c://", Protocol::h2, false},
                                          {"grpc://", Protocol::grpc, false},
                                          {"grpcs://", Protocol::grpc, true},
                                          {"ws://", Protocol::ws, false},
                                          {"wss://", Protocol::ws, true},
                                          {"", Protocol::http1, false}}};

// Null for one that is not known. Without any it is the last of them.
const Scheme* scheme_of(std::string_view url) {
  const bool has_one = url.substr(0, url.find_first_of("/?#")).ends_with(':');
  for (const Scheme& scheme : kSchemes) {
    if (scheme.begin.empty() != has_one && url.starts_with(scheme.begin)) return &scheme;
  }
  return nullptr;
}

bool is_visible(char c) {
  return c > ' ' && c < 0x7f;
}

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Splits `[::1]:80`, `host:80` or `host`; the port keeps its colon.
std::pair<std::string_view, std::string_view> split_authority(std::string_view authority) {
  std::size_t end = authority.find(':');
  if (authority.starts_with('[')) {
    end = authority.find(']');
    end = end == std::string_view::npos ? end : end + 1;
  }
  if (end == std::string_view::npos) return {authority, {}};
  return {authority.substr(0, end), authority.substr(end)};
}

}  // namespace

bool Target::is_localhost() const {
  return host == "localhost" || host.ends_with(".localhost");
}

Result<Target, Problem> parse_target(std::string_view url) {
  if (url.size() > kUrlBytesMax) return bad_url("the URL is longer than 8 KiB", url);
  if (!std::all_of(url.begin(), url.end(), is_visible)) {
    return bad_url("the URL holds blanks or bytes that must be percent-encoded", url);
  }
  const Scheme* const scheme = scheme_of(url);
  if (scheme == nullptr) {
    return bad_url("the URL does not begin with http://, https://, h2c://, grpc:// or grpcs://",
                   url);
  }
  const std::string_view rest = url.substr(scheme->begin.size());
  const std::size_t path_at = rest.find_first_of("/?#");
  const std::string_view authority = rest.substr(0, path_at);
  if (authority.find('@') != std::string_view::npos) {
    return Problem{"the URL holds a user name", "send it as a header: -H 'Authorization: …'"};
  }
  const auto [host, port] = split_authority(authority);
  Target target;
  target.tls = scheme->tls;
  target.protocol = scheme->protocol;
  target.port = scheme->tls ? kTlsPort : kPort;
  target.authority = authority;
  target.host = host.starts_with('[') && host.ends_with(']') && host.size() > 2
                    ? host.substr(1, host.size() - 2)
                    : host;
  std::transform(target.host.begin(), target.host.end(), target.host.begin(), lower);
  if (target.host.empty() || target.host.find('[') != std::string::npos) {
    return bad_url("the URL names no host", url);
  }
  if (!port.empty()) {
    const std::optional<std::uint16_t> number = whole_number<std::uint16_t>(port.substr(1), 1);
    if (!number || port.front() != ':') return bad_url("the URL's port is not 1 to 65535", url);
    target.port = *number;
  }
  if (path_at != std::string_view::npos) {
    const std::string_view path = rest.substr(path_at, rest.find('#') - path_at);
    target.path = path.starts_with('/') ? std::string{path} : "/" + std::string{path};
  }
  return target;
}

std::optional<Problem> set_protocol(Target& target, std::string_view word,
                                    const std::string& name) {
  struct Named {
    std::string_view word;
    Protocol protocol;
  };

  constexpr std::array<Named, 4> kNamed{{{"http1", Protocol::http1},
                                         {"h2", Protocol::h2},
                                         {"grpc", Protocol::grpc},
                                         {"ws", Protocol::ws}}};
  for (const Named& named : kNamed) {
    if (named.word != word) continue;
    target.protocol = named.protocol;
    return std::nullopt;
  }
  return Problem{name + " is unknown: '" + clean_text(word.substr(0, 40)) + "'",
                 "use http1, h2, grpc or ws"};
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [kMarks](char c) {
    const bool alphanumeric = std::isalnum(static_cast<unsigned char>(c)) != 0 && c > 0;
    return alphanumeric || kMarks.find(c) != std::string_view::npos;
  });
}

bool is_header(std::string_view name, std::string_view value) {
  return is_token(name) && std::none_of(value.begin(), value.end(), [](char c) {
           return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f;
         });
}

}  // namespace sluice::loadgen
