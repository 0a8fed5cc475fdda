#include "load/core/engine_source.h"

#include "common/base/clean_text.h"
#include "common/values/dns_label.h"

#include <utility>

namespace sluice::loadgen {

namespace {

Problem wrong(std::string_view text, const std::string& why) {
  constexpr std::size_t kShownMax = 80;
  return {"--engine '" + clean_text(text.substr(0, kShownMax)) + "' " + why,
          "give auto, off, the name of an engine, http://HOST:PORT, or "
          "NAMESPACE/NAME@http://HOST:PORT"};
}

// `NAMESPACE/NAME` before the `@`.
bool read_service(std::string_view text, EngineSource& to) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  to.space = text.substr(0, slash);
  to.service = text.substr(slash + 1);
  return is_dns_label(to.space) && is_dns_label(to.service);
}

}  // namespace

Result<EngineSource, Problem> parse_engine_source(std::string_view text) {
  EngineSource out;
  if (text == "auto") return out;
  if (text == "off") {
    out.kind = EngineSource::Kind::none;
    return out;
  }
  if (is_dns_label(text)) {
    out.kind = EngineSource::Kind::named;
    out.name = text;
    return out;
  }
  out.kind = EngineSource::Kind::address;
  std::string_view url = text;
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    url = text.substr(at + 1);
    if (!read_service(text.substr(0, at), out)) return wrong(text, "names no service before the @");
  }
  if (url.find("://") == std::string_view::npos) return wrong(text, "is none");
  auto api = parse_target(url);
  if (!api) return wrong(text, "is none: " + api.error().what);
  if (api->tls) return wrong(text, "is under TLS, which this API is not");
  std::string path = std::move(api->path);
  while (path.ends_with('/')) path.pop_back();
  const std::string_view rest = path.empty() && out.service.empty() ? kEngineApi : kBareApi;
  api->path = path.ends_with(kBareApi) ? path : path.append(rest);
  out.api = *std::move(api);
  return out;
}

}  // namespace sluice::loadgen
