#include "queue-proxy/tls_config.h"

namespace sluice::queue_proxy {
namespace {

// The value of a variable that is set to something.
std::optional<std::string> value_of(EnvReader& reader, const char* name) {
  auto value = reader.find(name);
  if (value && value->empty()) value.reset();
  return value;
}

void complain(EnvReader& reader, const char* name, const Problem& problem) {
  reader.complain({std::string{name} + ": " + problem.what, problem.fix});
}

net::TlsVersion version_or(EnvReader& reader, const char* name, net::TlsVersion fallback) {
  const auto value = value_of(reader, name);
  if (!value) return fallback;
  const auto version = net::parse_tls_version(*value);
  if (version) return *version;
  complain(reader, name, version.error());
  return fallback;
}

}  // namespace

net::TlsSettings read_tls_settings(EnvReader& reader) {
  net::TlsSettings settings;
  settings.min = version_or(reader, "QUEUE_PROXY_TLS_MIN_VERSION", settings.min);
  settings.max = version_or(reader, "QUEUE_PROXY_TLS_MAX_VERSION", settings.max);
  if (settings.min > settings.max) {
    reader.complain({"QUEUE_PROXY_TLS_MIN_VERSION is above QUEUE_PROXY_TLS_MAX_VERSION",
                     "set the least version, 1.3 by default, to 1.2 or raise the highest"});
  }
  const char* const suites_name = "QUEUE_PROXY_TLS_CIPHER_SUITES";
  if (const auto list = value_of(reader, suites_name)) {
    auto chosen = net::with_cipher_suites(settings, *list);
    if (chosen) {
      settings = *chosen;
    } else {
      complain(reader, suites_name, chosen.error());
    }
  }
  const char* const curves_name = "QUEUE_PROXY_TLS_CURVE_PREFERENCES";
  if (const auto list = value_of(reader, curves_name)) {
    auto chosen = net::with_curves(settings, *list);
    if (chosen) {
      settings = *chosen;
    } else {
      complain(reader, curves_name, chosen.error());
    }
  }
  return settings;
}

}  // namespace sluice::queue_proxy
