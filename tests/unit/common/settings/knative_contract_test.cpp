#include "common/settings/knative_contract.h"

#include "common/settings/observability.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::settings {
namespace {

using Variables = std::map<std::string, std::string>;

struct Reading {
  ObservabilityConfig config;
  std::string problem;
};

Reading read(const Variables& variables) {
  const Environment environment = [&variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  Reader reader{environment};
  Reading reading{read_observability(reader, ":9091"), ""};
  if (reader.problem()) reading.problem = reader.problem()->text();
  return reading;
}

KnativeContract contract(const Variables& variables) {
  return read(variables).config.contract;
}

// What Knative 1.15 gives a sidecar, as far as it is read here.
Variables older() {
  return {{"SERVING_REQUEST_METRICS_BACKEND", "prometheus"},
          {"SERVING_REQUEST_METRICS_REPORTING_PERIOD_SECONDS", "0"},
          {"SERVING_ENABLE_REQUEST_LOG", "false"},
          {"SERVING_REQUEST_LOG_TEMPLATE", "{{.Response.Code}}"},
          {"SERVING_ENABLE_PROBE_REQUEST_LOG", "false"},
          {"TRACING_CONFIG_BACKEND", "none"}};
}

Variables older(const std::string& name, const std::string& value) {
  Variables variables = older();
  variables[name] = value;
  return variables;
}

TEST(KnativeContract, IsThatOfTheRelease) {
  for (const char* version : {"1.0", "1.15", "v1.15.2", "1.18", "1.18.9-rc1", "1.9+build"}) {
    EXPECT_EQ(contract_of(version), KnativeContract::older) << version;
  }
  for (const char* version : {"1.19", "v1.19.0", "1.25.3", "1.100"}) {
    EXPECT_EQ(contract_of(version), KnativeContract::current) << version;
  }
  for (const char* version : {"", "devel", "v20240501-abc", "2.0", "1.", "1.x", "1.-3", "1.15x"}) {
    EXPECT_FALSE(contract_of(version)) << version;
  }
}

TEST(KnativeContract, IsRecognisedByAnyOfThreeVariables) {
  for (const char* name : {"SERVING_REQUEST_METRICS_BACKEND", "TRACING_CONFIG_BACKEND"}) {
    EXPECT_EQ(contract({{name, ""}}), KnativeContract::older) << name;
  }
  EXPECT_EQ(contract({{"SERVING_ENABLE_REQUEST_LOG", "false"}}), KnativeContract::older);
  EXPECT_EQ(contract(older()), KnativeContract::older);
}

TEST(KnativeContract, IsTheCurrentOneWithObservabilityConfigOrWithoutAnything) {
  EXPECT_EQ(contract({}), KnativeContract::current);
  EXPECT_EQ(contract(older("OBSERVABILITY_CONFIG", "{}")), KnativeContract::current);
  EXPECT_EQ(contract(older("OBSERVABILITY_CONFIG", "")), KnativeContract::current);
  EXPECT_EQ(contract({{"SERVING_REQUEST_LOG_TEMPLATE", "x"}}), KnativeContract::current);
  // Variables of the other contract are not even looked at.
  Variables both = older("SERVING_ENABLE_REQUEST_LOG", "true");
  both["OBSERVABILITY_CONFIG"] = "{}";
  EXPECT_EQ(read(both).config.request_log, "");
}

TEST(OlderObservability, LogsByItsThreeVariables) {
  EXPECT_EQ(read(older()).config.request_log, "");

  const Reading on = read(older("SERVING_ENABLE_REQUEST_LOG", "true"));
  EXPECT_EQ(on.config.request_log, "{{.Response.Code}}");
  EXPECT_FALSE(on.config.probes_logged);
  EXPECT_TRUE(on.config.warnings.empty());
  EXPECT_TRUE(read(older("SERVING_ENABLE_PROBE_REQUEST_LOG", "1")).config.probes_logged);
}

TEST(OlderObservability, ReportsThatThereIsNoLogWithoutATemplate) {
  Variables variables = older("SERVING_ENABLE_REQUEST_LOG", "true");
  variables["SERVING_REQUEST_LOG_TEMPLATE"] = "";

  const Reading reading = read(variables);

  EXPECT_EQ(reading.config.request_log, "");
  ASSERT_EQ(reading.config.warnings.size(), 1U);
  EXPECT_NE(reading.config.warnings[0].find("SERVING_REQUEST_LOG_TEMPLATE"), std::string::npos);
}

TEST(OlderObservability, OpensMetricsForPrometheusOnly) {
  const Reading open = read(older());
  ASSERT_TRUE(open.config.metrics);
  EXPECT_EQ(open.config.metrics->text(), ":9091");
  EXPECT_FALSE(read(older("SERVING_REQUEST_METRICS_BACKEND", "")).config.metrics);
  EXPECT_FALSE(read(older("SERVING_REQUEST_METRICS_BACKEND", "none")).config.metrics);

  const Reading pushed = read(older("SERVING_REQUEST_METRICS_BACKEND", "opencensus"));
  EXPECT_EQ(pushed.problem, "");
  EXPECT_FALSE(pushed.config.metrics);
  EXPECT_EQ(pushed.config.warnings.size(), 1U);
}

TEST(OlderObservability, WarnsOfTracesThatAreNotExported) {
  EXPECT_EQ(read(older("TRACING_CONFIG_BACKEND", "zipkin")).config.warnings.size(), 1U);
}

TEST(OlderObservability, RefusesWrongValuesByName) {
  for (const auto& [name, value] :
       Variables{{"SERVING_ENABLE_REQUEST_LOG", "yes"},
                 {"SERVING_ENABLE_PROBE_REQUEST_LOG", "on"},
                 {"SERVING_REQUEST_METRICS_REPORTING_PERIOD_SECONDS", "soon"},
                 {"SERVING_REQUEST_LOG_TEMPLATE", std::string(17 * 1024, 'x')}}) {
    EXPECT_NE(read(older(name, value)).problem.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace sluice::settings
