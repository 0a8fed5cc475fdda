#include "autoscaler/node-agent/io/status_text.h"

#include "autoscaler/node-agent/core/exemptions.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace sluice::node_agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMebibyte = 1 << 20;

std::string time_text(TimePoint time) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

Json throttle_json(const HeldThrottle& held, TimePoint now) {
  return {{"namespace", held.container.pod_namespace},
          {"pod", held.container.pod},
          {"container", held.container.name},
          {"id", held.container.id},
          {"quota_us", held.quota.quota_us},
          {"period_us", held.quota.period_us},
          {"original_quota_us", held.original.quota_us},
          {"original_period_us", held.original.period_us},
          {"since", time_text(held.since)},
          {"since_seconds", to_seconds(std::max(Duration::zero(), now - held.since))},
          {"ladder_step", held.ladder_step},
          {"in_force", held.in_force},
          {"releasing", held.releasing},
          {"why", held.why}};
}

Json memory_json(const Observation& seen, const Decision& decision, const PolicySettings& policy) {
  Json memory{{"capacity_bytes", nullptr}, {"used_bytes", nullptr}};
  if (seen.memory) {
    memory["capacity_bytes"] = seen.memory->capacity;
    memory["used_bytes"] = seen.memory->used;
  }
  memory["upper"] = policy.upper;
  memory["upper_in_force"] = decision.upper;
  memory["lower"] = policy.lower;
  memory["reserve_bytes"] = policy.reserve;
  memory["growth_bytes_per_second"] = decision.growth_per_second;
  memory["admit_bytes"] = decision.admit_bytes;
  if (seen.memory && seen.memory->stall) {
    memory["some_avg10"] = seen.memory->stall->some_avg10;
    memory["full_avg10"] = seen.memory->stall->full_avg10;
  }
  return memory;
}

Json exempt_json(const std::vector<Container>& containers) {
  Json exempt = Json::object();
  for (const Container& each : containers) {
    const auto why = exemption(each, containers);
    if (!why) continue;
    const std::string key{name(*why)};
    exempt[key] = exempt.value(key, 0) + 1;
  }
  return exempt;
}

std::string mebibytes(const Json& number) {
  if (!number.is_number()) return "unknown";
  char text[48];
  std::snprintf(text, sizeof text, "%.0f MiB", number.get<double>() / kMebibyte);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

std::string quota_text(const Json& quota, const Json& period) {
  const auto q = quota.get<std::int64_t>();
  if (q < 0) return "no limit";
  return std::to_string(q * 1000 / std::max<std::int64_t>(1, period.get<std::int64_t>())) + "m";
}

std::string duration_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

void add_memory(const Json& memory, std::string& out) {
  const Json& capacity = memory.at("capacity_bytes");
  const Json& used = memory.at("used_bytes");
  out += "memory    " + mebibytes(used) + " of " + mebibytes(capacity);
  if (used.is_number() && capacity.is_number() && capacity.get<double>() > 0) {
    out += " (" + percent(used.get<double>() / capacity.get<double>()) + ")";
  }
  out += ", grows " + mebibytes(memory.at("growth_bytes_per_second")) + "/s\n";
  out += "bounds    acts above " + percent(memory.at("upper_in_force").get<double>()) +
         " (configured " + percent(memory.at("upper").get<double>()) + "), over below " +
         percent(memory.at("lower").get<double>()) + ", reserve " +
         mebibytes(memory.at("reserve_bytes")) + "\n";
  if (memory.contains("some_avg10")) {
    char text[80];
    std::snprintf(text, sizeof text, "stalls    some %.2f %%, full %.2f %% of the last 10 s\n",
                  memory.at("some_avg10").get<double>(), memory.at("full_avg10").get<double>());
    out += text;
  }
  const auto admit = memory.at("admit_bytes").get<std::int64_t>();
  out += "gate      " +
         (admit > 0 ? "open for claims up to " + mebibytes(memory.at("admit_bytes"))
                    : std::string{"shut: nothing should start here now"}) +
         "\n";
}

void add_throttled(const Json& throttled, std::string& out) {
  if (throttled.empty()) {
    out += "throttled nobody\n";
    return;
  }
  out += "throttled " + std::to_string(throttled.size()) + "\n\n";
  std::size_t width = 9;
  const auto shown = [](const Json& each) {
    return each.at("namespace").get<std::string>() + "/" + each.at("pod").get<std::string>() + "/" +
           each.at("container").get<std::string>();
  };
  for (const Json& each : throttled) width = std::max(width, shown(each).size());
  const auto padded = [](std::string text, std::size_t to) {
    text.resize(std::max(text.size() + 2, to + 2), ' ');
    return text;
  };
  out += padded("CONTAINER", width) + padded("CPU", 8) + padded("WAS", 8) + padded("FOR", 8) +
         padded("STEP", 4) + "WHY\n";
  for (const Json& each : throttled) {
    const std::string state = each.at("releasing").get<bool>()   ? " (being released)"
                              : !each.at("in_force").get<bool>() ? " (not in force yet)"
                                                                 : "";
    out += padded(shown(each), width) +
           padded(quota_text(each.at("quota_us"), each.at("period_us")), 8) +
           padded(quota_text(each.at("original_quota_us"), each.at("original_period_us")), 8) +
           padded(duration_text(each.at("since_seconds").get<double>()), 8) +
           padded(std::to_string(each.at("ladder_step").get<int>()), 4) +
           each.at("why").get<std::string>() + state + "\n";
  }
}

}  // namespace

std::string_view name_of(Pressure pressure) {
  switch (pressure) {
    case Pressure::ok:
      return "ok";
    case Pressure::high:
      return "high";
    case Pressure::critical:
      return "critical";
  }
  return "ok";
}

std::string status_json(const StatusFacts& facts) {
  const ControlLoop& loop = facts.loop;
  const Decision& decision = loop.decision();
  Json runtime{{"socket", facts.socket}};
  if (loop.runtime()) {
    runtime["name"] = loop.runtime()->runtime;
    runtime["version"] = loop.runtime()->version;
  }
  Json throttled = Json::array();
  for (const HeldThrottle& each : loop.held()) throttled.push_back(throttle_json(each, facts.now));
  const Json status{{"time", time_text(facts.now)},
                    {"version", facts.version},
                    {"node", facts.node},
                    {"policy", name(facts.policy.policy)},
                    {"on", loop.is_on()},
                    {"dry_run", facts.dry_run},
                    {"degraded", loop.is_degraded()},
                    {"trouble", loop.trouble()},
                    {"pressure", name_of(decision.pressure)},
                    {"why", decision.why},
                    {"memory_source", facts.memory_source},
                    {"memory", memory_json(loop.seen(), decision, facts.policy)},
                    {"runtime", runtime},
                    {"containers", loop.seen().containers.size()},
                    {"exempt", exempt_json(loop.seen().containers)},
                    {"throttled", throttled}};
  return status.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string status_table(std::string_view json) {
  const Json status = Json::parse(json, nullptr, false);
  if (!status.is_object()) return {};
  try {
    std::string out = "pressure  " + status.at("pressure").get<std::string>();
    if (const auto why = status.at("why").get<std::string>(); !why.empty()) out += ": " + why;
    out += "\npolicy    " + status.at("policy").get<std::string>();
    if (!status.at("on").get<bool>()) out += ", switched off";
    if (status.at("dry_run").get<bool>()) out += ", dry run: nothing is touched";
    out += "\n";
    if (status.at("degraded").get<bool>()) {
      out += "degraded  " + status.at("trouble").get<std::string>() + "\n";
    }
    out += "source    " + status.at("memory_source").get<std::string>() + "\n";
    add_memory(status.at("memory"), out);
    const Json& runtime = status.at("runtime");
    out += "runtime   " + runtime.value("name", std::string{"not found"}) + " " +
           runtime.value("version", std::string{}) + ", " +
           std::to_string(status.at("containers").get<int>()) + " containers\n";
    for (const auto& [why, count] : status.at("exempt").items()) {
      out += "exempt    " + std::to_string(count.get<int>()) + ": " + why + "\n";
    }
    add_throttled(status.at("throttled"), out);
    return out;
  } catch (const Json::exception&) {
    return {};
  }
}

}  // namespace sluice::node_agent
