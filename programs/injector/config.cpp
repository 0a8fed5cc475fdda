#include "programs/injector/config.h"

#include "common/base/version.h"
#include "common/settings/program_variables.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::injector {
namespace {

using settings::Reader;
using Need = Reader::Need;

// A quantity of Kubernetes, or nothing. The API server reads it for good; what it would refuse in
// every pod is refused here.
void read_quantity(Reader& reader, const char* name, std::string& quantity) {
  const auto value = reader.find(name);
  if (!value) return;
  const bool good = value->size() <= 32 && std::all_of(value->begin(), value->end(), [](char c) {
                      return (c >= '0' && c <= '9') || c == '.' ||
                             std::string_view{"mkMGTPEi"}.find(c) != std::string_view::npos;
                    });
  if (!good) reader.refuse(name, *value, "a quantity such as 25m or 16Mi, or empty");
  quantity = *value;
}

std::optional<Native> native_named(std::string_view word) {
  if (word == "auto") return Native::by_version;
  if (word == "true") return Native::always;
  if (word == "false") return Native::never;
  return std::nullopt;
}

void read_sidecar(Reader& reader, Config& config) {
  InjectionSettings& sidecar = config.injection;
  sidecar.version = std::string{kVersion};
  sidecar.image = reader.needed("SLUICE_SIDECAR_IMAGE", "the image of queue-proxy");
  const char* const policy = "SLUICE_SIDECAR_PULL_POLICY";
  sidecar.pull_policy = reader.find(policy).value_or(sidecar.pull_policy);
  constexpr std::array<std::string_view, 4> kPolicies{"", "Always", "IfNotPresent", "Never"};
  if (std::find(kPolicies.begin(), kPolicies.end(), sidecar.pull_policy) == kPolicies.end()) {
    reader.refuse(policy, sidecar.pull_policy, "Always, IfNotPresent or Never");
  }
  read_quantity(reader, "SLUICE_SIDECAR_CPU_REQUEST", sidecar.resources.cpu_request);
  read_quantity(reader, "SLUICE_SIDECAR_MEMORY_REQUEST", sidecar.resources.memory_request);
  read_quantity(reader, "SLUICE_SIDECAR_CPU_LIMIT", sidecar.resources.cpu_limit);
  read_quantity(reader, "SLUICE_SIDECAR_MEMORY_LIMIT", sidecar.resources.memory_limit);
  config.native = reader.word_or("SLUICE_SIDECAR_NATIVE", Native::by_version, native_named,
                                 "auto, true or false");
}

void read_place(Reader& reader, Config& config) {
  config.webhook = reader.address_or("SLUICE_WEBHOOK_ADDRESS", ":8443");
  config.system_space = reader.needed("SYSTEM_NAMESPACE", "the namespace of the injector");
  const std::string domain = reader.find("CLUSTER_DOMAIN").value_or("cluster.local");
  const std::string service = "injector." + config.system_space + ".svc";
  config.names = {service, service + "." + (domain.empty() ? "cluster.local" : domain)};
  config.certs_dir = reader.text("SLUICE_CERTS_DIR", Need::optional);
}

}  // namespace

Result<Config, Problem> read_config(const settings::Environment& environment) {
  Reader reader{environment};
  Config config;
  read_place(reader, config);
  read_sidecar(reader, config);
  config.log_least = settings::read_log_level(reader);
  config.drain_quiet = reader.wait_or("SLUICE_DRAIN_QUIET", config.drain_quiet,
                                      {Duration{0}, std::chrono::minutes{10}});
  config.observability = settings::read_observability(reader, ":9090");
  config.ready_fd = settings::read_ready_fd(reader);
  if (reader.problem()) return *reader.problem();
  return config;
}

}  // namespace sluice::injector
