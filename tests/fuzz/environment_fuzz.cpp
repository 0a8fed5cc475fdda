#include "common/base/check.h"
#include "common/http/message.h"
#include "queue-proxy/core/probe_url.h"
#include "queue-proxy/io/config.h"
#include "queue-proxy/io/probe_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

// Goal: no environment and no probe JSON crashes the start; what is accepted keeps every promise of
// Config and ProbeSpec, and each refusal is one printable line. Method: an input whose first line
// is `env` is a list of NAME=value lines over a complete environment; any other is read as probe
// JSON, as one probe and as several, and as a redirect.
namespace {

using sluice::Problem;
using sluice::queue_proxy::ProbeSpec;
using sluice::queue_proxy::ProbeUrl;
using sluice::queue_proxy::read_config;
using sluice::queue_proxy::read_probes;
using sluice::queue_proxy::resolve_redirect;

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

void check_problem(const Problem& problem) {
  CHECK(!problem.what.empty());
  CHECK(!has_control(problem.text()));
}

void check_target(std::string_view target) {
  CHECK(target.starts_with('/'));
  CHECK(!has_control(target));
  CHECK(target.find(' ') == std::string_view::npos);
}

void check_probe(const ProbeSpec& probe) {
  CHECK(probe.success_threshold >= 1);
  CHECK(probe.period.count() >= 0 && probe.timeout.count() >= 0);
  CHECK((probe.kind == ProbeSpec::Kind::none) == !probe.refusal.empty());
  if (probe.kind == ProbeSpec::Kind::none) return;
  CHECK(probe.port != 0);
  const bool v6 = probe.host.find(':') != std::string::npos;
  CHECK(sluice::net::parse_address((v6 ? "[" + probe.host + "]" : probe.host) + ":1"));
  check_target(probe.path);
  CHECK(probe.host_header.find_first_of("\r\n") == std::string::npos);
  for (const auto& [name, value] : probe.headers) {
    CHECK(!name.empty());
    CHECK(name.find_first_of("\r\n: ") == std::string::npos);
    CHECK(value.find_first_of("\r\n") == std::string::npos);
  }
}

void read_as_probes(const std::string& text) {
  for (const bool several : {false, true}) {
    const auto probes = read_probes(text, {.several = several, .detect_http2 = several});
    if (!probes) {
      check_problem(probes.error());
      continue;
    }
    for (const ProbeSpec& probe : *probes) check_probe(probe);
  }
}

void read_as_redirect(std::string_view text) {
  const ProbeUrl base{false, "127.0.0.1", 8080, "/a/b?q"};
  const auto redirect = resolve_redirect(base, text);
  if (!redirect) return;
  check_target(redirect->url.target);
  CHECK(!redirect->url.host.empty() && redirect->url.port != 0);
  CHECK(redirect->names_host || redirect->url.host == base.host);
}

std::map<std::string, std::string, std::less<>> usual() {
  return {{"CONTAINER_CONCURRENCY", "10"},
          {"QUEUE_SERVING_PORT", "8012"},
          {"QUEUE_SERVING_TLS_PORT", ""},
          {"USER_PORT", "8080"},
          {"REVISION_TIMEOUT_SECONDS", "300"},
          {"SERVING_LOGGING_CONFIG", ""},
          {"SERVING_LOGGING_LEVEL", ""},
          {"SERVING_NAMESPACE", "n"},
          {"SERVING_CONFIGURATION", "c"},
          {"SERVING_REVISION", "r"},
          {"SERVING_POD", "p"},
          {"SERVING_POD_IP", "10.0.0.1"}};
}

void read_as_environment(std::string_view lines) {
  auto variables = usual();
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    // A process cannot be given a variable that holds a NUL.
    const std::string_view cut = line.substr(0, line.find('\0'));
    const std::size_t equals = cut.find('=');
    if (equals == std::string_view::npos) {
      variables.erase(std::string{cut});
    } else {
      variables[std::string{cut.substr(0, equals)}] = cut.substr(equals + 1);
    }
  }
  const auto config = read_config([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(std::string_view{name});
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
  if (!config) {
    check_problem(config.error());
    return;
  }
  CHECK(config->queue_depth >= 1);
  CHECK(config->user.is_unix() || config->user.port != 0);
  CHECK(config->timeout.count() >= 0 && config->queue_wait.count() >= 0);
  CHECK(!config->response_start || config->response_start->count() > 0);
  CHECK(!config->idle || config->idle->count() > 0);
  CHECK(config->always_ready == config->probes.empty());
  CHECK(config->limits.fields_max > 0 && config->limits.streams_max > 0);
  CHECK(config->limits.header_timeout.count() > 0);
  for (const ProbeSpec& probe : config->probes) check_probe(probe);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are text here
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kEnvironment = "env\n";
  if (bytes.starts_with(kEnvironment)) {
    read_as_environment(bytes.substr(kEnvironment.size()));
  } else {
    read_as_probes(std::string{bytes});
    read_as_redirect(bytes);
  }
  return 0;
}
