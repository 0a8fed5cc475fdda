#include "queue-proxy/core/probe_url.h"

#include "common/values/whole_number.h"

#include <algorithm>

namespace sluice::queue_proxy {
namespace {

constexpr std::size_t kLocationMax = 8 * 1024;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

std::uint16_t usual_port(bool secure) {
  return secure ? kHttpsPort : kHttpPort;
}

// Takes "name:" off the front when the text begins with a scheme.
std::string take_scheme(std::string_view& text) {
  const std::size_t colon = text.find_first_of(":/?");
  if (colon == std::string_view::npos || text[colon] != ':') return {};
  std::string scheme{text.substr(0, colon)};
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  text.remove_prefix(colon + 1);
  return scheme;
}

bool parse_authority(std::string_view text, ProbeUrl& url) {
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    text.remove_prefix(at + 1);
  }
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  std::string_view host = has_port ? text.substr(0, colon) : text;
  const std::string_view port = has_port ? text.substr(colon + 1) : std::string_view{};
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return false;
  url.host = host;
  url.port = usual_port(url.secure);
  if (port.empty()) return true;
  const auto number = whole_number<std::uint16_t>(port, 1);
  url.port = number.value_or(0);
  return number.has_value();
}

// RFC 3986 5.2.4: "/a/./b/../c" is "/a/c".
std::string without_dots(std::string_view path) {
  std::string clean;
  while (!path.empty()) {
    const std::size_t next = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, next);
    path.remove_prefix(next);
    if (segment == "/." || segment == "/..") {
      if (segment == "/..") clean.erase(std::min(clean.rfind('/'), clean.size()));
      if (path.empty()) clean += '/';
    } else {
      clean += segment;
    }
  }
  return clean.empty() ? "/" : clean;
}

// `reference` has neither scheme nor host.
std::string resolve_target(std::string_view base, std::string_view reference) {
  if (reference.empty()) return std::string{base};
  const std::string_view base_path = base.substr(0, base.find('?'));
  const std::size_t mark = std::min(reference.find('?'), reference.size());
  const std::string query{reference.substr(mark)};
  const std::string_view path = reference.substr(0, mark);
  if (path.empty()) return std::string{base_path} + query;
  if (path.starts_with('/')) return without_dots(path) + query;
  const std::string folder{base_path.substr(0, base_path.rfind('/') + 1)};
  return without_dots(folder + std::string{path}) + query;
}

}  // namespace

std::string ProbeUrl::authority(bool spell_port) const {
  const bool v6 = host.find(':') != std::string::npos;
  std::string name = v6 ? "[" + host + "]" : host;
  if (!spell_port && port == usual_port(secure)) return name;
  return name + ":" + std::to_string(port);
}

std::optional<Redirect> resolve_redirect(const ProbeUrl& base, std::string_view location) {
  const auto forbidden = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
  if (location.size() > kLocationMax || std::any_of(location.begin(), location.end(), forbidden)) {
    return std::nullopt;
  }
  location = location.substr(0, location.find('#'));
  Redirect redirect{base, false};
  const std::string scheme = take_scheme(location);
  if (!scheme.empty()) {
    if (scheme != "http" && scheme != "https") return std::nullopt;
    if (!location.starts_with("//")) return std::nullopt;
    redirect.url.secure = scheme == "https";
  }
  if (!location.starts_with("//")) {
    redirect.url.target = resolve_target(base.target, location);
    return redirect;
  }
  location.remove_prefix(2);
  const std::size_t end = std::min(location.find_first_of("/?"), location.size());
  if (!parse_authority(location.substr(0, end), redirect.url)) return std::nullopt;
  redirect.names_host = true;
  redirect.url.target = resolve_target("/", location.substr(end));
  return redirect;
}

}  // namespace sluice::queue_proxy
