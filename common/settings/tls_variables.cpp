#include "common/settings/tls_variables.h"

namespace sluice::settings {
namespace {

// The value of a variable that is set to something.
std::optional<std::string> value_of(Reader& reader, const std::string& name) {
  auto value = reader.find(name.c_str());
  if (value && value->empty()) value.reset();
  return value;
}

void complain(Reader& reader, const std::string& name, const Problem& problem) {
  reader.complain({name + ": " + problem.what, problem.fix});
}

net::TlsVersion version_or(Reader& reader, const std::string& name, net::TlsVersion fallback) {
  const auto value = value_of(reader, name);
  if (!value) return fallback;
  const auto version = net::parse_tls_version(*value);
  if (version) return *version;
  complain(reader, name, version.error());
  return fallback;
}

}  // namespace

net::TlsSettings read_tls_settings(Reader& reader, const std::string& prefix) {
  const std::string min_name = prefix + "MIN_VERSION";
  const std::string max_name = prefix + "MAX_VERSION";
  const std::string suites_name = prefix + "CIPHER_SUITES";
  const std::string curves_name = prefix + "CURVE_PREFERENCES";
  net::TlsSettings settings;
  settings.min = version_or(reader, min_name, settings.min);
  settings.max = version_or(reader, max_name, settings.max);
  if (settings.min > settings.max) {
    reader.complain({min_name + " is above " + max_name,
                     "lower the minimum version (default 1.3) or raise the maximum"});
  }
  if (const auto list = value_of(reader, suites_name)) {
    auto chosen = net::with_cipher_suites(settings, *list);
    if (chosen) {
      settings = *chosen;
    } else {
      complain(reader, suites_name, chosen.error());
    }
  }
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

}  // namespace sluice::settings
