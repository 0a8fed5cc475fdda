#include "common/net/tls/tls_settings.h"

#include <algorithm>
#include <array>

namespace sluice::net {
namespace {

struct Suite {
  std::string_view iana;
  std::string_view openssl;
  TlsVersion version;
};

// What Go 1.25 counts as secure, and so what Knative accepts.
constexpr std::array kSuites{
    Suite{"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", TlsVersion::v1_3},
    Suite{"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", TlsVersion::v1_3},
    Suite{"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", TlsVersion::v1_3},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA", TlsVersion::v1_2},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA", TlsVersion::v1_2},
    Suite{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA", TlsVersion::v1_2},
    Suite{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA", TlsVersion::v1_2},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256",
          TlsVersion::v1_2},
    Suite{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384",
          TlsVersion::v1_2},
    Suite{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", TlsVersion::v1_2},
    Suite{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", TlsVersion::v1_2},
    Suite{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305",
          TlsVersion::v1_2},
    Suite{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305", TlsVersion::v1_2},
    Suite{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305",
          TlsVersion::v1_2},
    Suite{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305",
          TlsVersion::v1_2},
};

struct Group {
  std::string_view name;
  std::string_view openssl;  // empty: this build's OpenSSL 3.0 does not have it
};

constexpr std::array kGroups{
    Group{"X25519", "X25519"},   Group{"X25519MLKEM768", ""}, Group{"CurveP256", "P-256"},
    Group{"P-256", "P-256"},     Group{"CurveP384", "P-384"}, Group{"P-384", "P-384"},
    Group{"CurveP521", "P-521"}, Group{"P-521", "P-521"},
};

std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t first = item.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    item = item.substr(first, item.find_last_not_of(" \t") - first + 1);
    items.push_back(item);
  }
  return items;
}

void append_once(std::vector<std::string>& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

Problem unknown(const char* what, std::string_view name, const std::string& known) {
  return {"unknown " + std::string{what} + " '" + std::string{name} + "'", "use one of " + known};
}

template <class Table, class Name>
std::string all_names(const Table& table, Name name) {
  std::vector<std::string> names;
  names.reserve(std::size(table));
  for (const auto& entry : table) names.emplace_back(name(entry));
  return joined(names, ',');
}

}  // namespace

Result<TlsVersion, Problem> parse_tls_version(std::string_view text) {
  if (text == "1.2") return TlsVersion::v1_2;
  if (text == "1.3") return TlsVersion::v1_3;
  return Problem{"unsupported TLS version '" + std::string{text} + "'", "give 1.2 or 1.3"};
}

Result<TlsSettings, Problem> with_cipher_suites(TlsSettings settings, std::string_view list) {
  settings.suites_1_2.clear();
  settings.suites_1_3.clear();
  for (const std::string_view item : items_of(list)) {
    const auto* const suite = std::find_if(
        kSuites.begin(), kSuites.end(), [item](const Suite& known) { return known.iana == item; });
    if (suite == kSuites.end()) {
      return unknown("cipher suite", item,
                     all_names(kSuites, [](const Suite& known) { return known.iana; }));
    }
    append_once(suite->version == TlsVersion::v1_2 ? settings.suites_1_2 : settings.suites_1_3,
                suite->openssl);
  }
  return settings;
}

Result<TlsSettings, Problem> with_curves(TlsSettings settings, std::string_view list) {
  settings.groups.clear();
  const auto items = items_of(list);
  for (const std::string_view item : items) {
    const auto* const group = std::find_if(
        kGroups.begin(), kGroups.end(), [item](const Group& known) { return known.name == item; });
    if (group == kGroups.end()) {
      return unknown("curve", item,
                     all_names(kGroups, [](const Group& known) { return known.name; }));
    }
    if (group->openssl.empty()) {
      append_once(settings.missing, item);
    } else {
      append_once(settings.groups, group->openssl);
    }
  }
  if (!items.empty() && settings.groups.empty()) {
    return Problem{"none of the curves '" + std::string{list} + "' is supported by this build",
                   "add X25519 or P-256"};
  }
  return settings;
}

std::string joined(const std::vector<std::string>& names, char separator) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += separator;
    text += name;
  }
  return text;
}

}  // namespace sluice::net
