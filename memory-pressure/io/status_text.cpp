#include "memory-pressure/io/status_text.h"

#include "common/json/write.h"
#include "common/values/rfc3339.h"

#include <nlohmann/json.hpp>

#include "memory-pressure/core/exemptions.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sluice::node_agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMebibyte = 1 << 20;
constexpr double kGibibyte = 1 << 30;

Json throttle_json(const HeldThrottle& held, TimePoint now) {
  return {{"namespace", held.container.pod_namespace},
          {"pod", held.container.pod},
          {"container", held.container.name},
          {"id", held.container.id},
          {"quota_us", held.quota.quota_us},
          {"period_us", held.quota.period_us},
          {"original_quota_us", held.original.quota_us},
          {"original_period_us", held.original.period_us},
          {"since", rfc3339(held.since, Fraction::none)},
          {"since_seconds", to_seconds(std::max(Duration::zero(), now - held.since))},
          {"ladder_step", held.ladder_step},
          {"frozen", held.frozen},
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
  memory["admit_bytes"] = nullptr;  // there is no gate
  if (decision.admit_bytes != kAdmitAnything) memory["admit_bytes"] = decision.admit_bytes;
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

std::string size_text(const Json& number) {
  if (!number.is_number()) return "unknown";
  constexpr double kRoundedAbove = 100 * kMebibyte;
  const double bytes = number.get<double>();
  const bool large = bytes >= kGibibyte;
  char text[48];
  std::snprintf(text, sizeof text, large || std::abs(bytes) < kRoundedAbove ? "%.1f %s" : "%.0f %s",
                bytes / (large ? kGibibyte : kMebibyte), large ? "GiB" : "MiB");
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

std::string count_text(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string quota_text(const Json& quota, const Json& period) {
  const auto q = quota.get<std::int64_t>();
  if (q < 0) return "no limit";
  return std::to_string(q * 1000 / std::max<std::int64_t>(1, period.get<std::int64_t>())) + "m";
}

std::string duration_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  char text[48];
  if (seconds < kMinute) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  } else if (seconds < kHour) {
    std::snprintf(text, sizeof text, "%.0f min", seconds / kMinute);
  } else {
    std::snprintf(text, sizeof text, "%.1f h", seconds / kHour);
  }
  return text;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width) + 2, ' ');
  return text;
}

void add_memory(const Json& memory, std::string& out) {
  const Json& capacity = memory.at("capacity_bytes");
  const Json& used = memory.at("used_bytes");
  out += "memory     " + size_text(used) + " of " + size_text(capacity) + " in use";
  if (used.is_number() && capacity.is_number() && capacity.get<double>() > 0) {
    out += " (" + percent(used.get<double>() / capacity.get<double>()) + ")";
  }
  out += ", growing by " + size_text(memory.at("growth_bytes_per_second")) + "/s\n";
  const auto upper = memory.at("upper").get<double>();
  const auto in_force = memory.at("upper_in_force").get<double>();
  out += "bounds     acts above " + percent(in_force);
  if (percent(in_force) != percent(upper)) out += " now (configured " + percent(upper) + ")";
  out += ", relaxed below " + percent(memory.at("lower").get<double>()) + ", keeps " +
         size_text(memory.at("reserve_bytes")) + " free\n";
  if (memory.contains("some_avg10")) {
    char text[96];
    std::snprintf(text, sizeof text, "stalls     some %.2f %%, all %.2f %% of the last 10 s\n",
                  memory.at("some_avg10").get<double>(), memory.at("full_avg10").get<double>());
    out += text;
  }
}

void add_gate(const Json& admit, std::string& out) {
  out += "gate       ";
  if (!admit.is_number()) {
    out += "none: starts are not limited";
  } else if (admit.get<std::int64_t>() > 0) {
    out += "open: " + size_text(admit) + " of new claims may start here";
  } else {
    out += "closed: nothing should start here now";
  }
  out += "\n";
}

void add_runtime(const Json& status, std::string& out) {
  const Json& runtime = status.at("runtime");
  out += "runtime    ";
  if (runtime.contains("name")) {
    out += runtime.at("name").get<std::string>() + " " + runtime.at("version").get<std::string>() +
           " on " + runtime.at("socket").get<std::string>() + "\n";
  } else {
    out += "not found yet\n";
  }
  out += "watches    " + count_text(status.at("containers").get<std::size_t>(), "container");
  std::string exempt;
  for (const auto& [why, count] : status.at("exempt").items()) {
    exempt += (exempt.empty() ? "" : ", ") + std::to_string(count.get<int>()) + " " + why;
  }
  if (!exempt.empty()) out += "; never touched: " + exempt;
  out += "\n";
}

void add_safety(const Json& status, std::string& out) {
  out += "safety     ";
  if (status.at("guarded").get<bool>()) {
    out += "a guardian releases all containers " +
           duration_text(status.at("lease_seconds").get<double>()) +
           " after the agent stops answering\n";
  } else if (status.at("lease_seconds").get<double>() == 0) {
    out += "these settings throttle no container\n";
  } else {
    out += "no guardian runs: throttles would stay after a crash until the next start\n";
  }
  const Json& autoscalers = status.at("autoscalers");
  out += "reports    ";
  if (autoscalers.empty()) {
    out += "off: SLUICE_AUTOSCALER_ADDRESS is not set\n";
    return;
  }
  out += status.at("reporting").get<bool>() ? "to the autoscaler, at " : "not connected to ";
  for (std::size_t i = 0; i < autoscalers.size(); ++i) {
    out += (i == 0 ? "" : ", ") + autoscalers[i].get<std::string>();
  }
  out += "\n";
}

void add_throttled(const Json& throttled, std::string& out) {
  if (throttled.empty()) {
    out += "throttled  none\n";
    return;
  }
  out += "throttled  " + count_text(throttled.size(), "container") + "\n\n";
  std::size_t width = 9;
  const auto shown = [](const Json& each) {
    return each.at("namespace").get<std::string>() + "/" + each.at("pod").get<std::string>() + "/" +
           each.at("container").get<std::string>();
  };
  for (const Json& each : throttled) width = std::max(width, shown(each).size());
  out += padded("CONTAINER", width) + padded("CPU", 8) + padded("WAS", 8) + padded("FOR", 8) +
         padded("STEP", 4) + "WHY\n";
  for (const Json& each : throttled) {
    const std::string state = each.at("releasing").get<bool>()   ? " (being released)"
                              : !each.at("in_force").get<bool>() ? " (not in force yet)"
                                                                 : "";
    out +=
        padded(shown(each), width) +
        padded(each.value("frozen", false) ? "frozen"
                                           : quota_text(each.at("quota_us"), each.at("period_us")),
               8) +
        padded(quota_text(each.at("original_quota_us"), each.at("original_period_us")), 8) +
        padded(duration_text(each.at("since_seconds").get<double>()), 8) +
        padded(std::to_string(each.at("ladder_step").get<int>()), 4) +
        each.at("why").get<std::string>() + state + "\n";
  }
}

}  // namespace

std::string status_json(const StatusFacts& facts) {
  const ControlLoop& loop = facts.loop;
  const Decision& decision = loop.controller().decision();
  Json runtime{{"socket", facts.socket}};
  if (loop.runtime()) {
    runtime["name"] = loop.runtime()->runtime;
    runtime["version"] = loop.runtime()->version;
  }
  Json throttled = Json::array();
  for (const HeldThrottle& each : loop.controller().held())
    throttled.push_back(throttle_json(each, facts.now));
  const Json status{{"time", rfc3339(facts.now, Fraction::none)},
                    {"version", facts.version},
                    {"node", facts.node},
                    {"policy", name(facts.policy.policy)},
                    {"on", loop.controller().is_on()},
                    {"dry_run", facts.dry_run},
                    {"degraded", loop.is_degraded()},
                    {"trouble", loop.trouble()},
                    {"pressure", name_of(decision.pressure)},
                    {"why", decision.why},
                    {"up_seconds", to_seconds(facts.now - facts.started)},
                    {"guarded", facts.guarded},
                    {"lease_seconds", to_seconds(facts.lease)},
                    {"autoscalers", facts.autoscalers},
                    {"reporting", facts.reporting},
                    {"memory_source", facts.memory_source},
                    {"memory", memory_json(loop.controller().seen(), decision, facts.policy)},
                    {"runtime", runtime},
                    {"containers", loop.controller().seen().containers.size()},
                    {"exempt", exempt_json(loop.controller().seen().containers)},
                    {"throttled", throttled}};
  return json_line(status) + "\n";
}

std::string status_table(std::string_view json) {
  const Json status = Json::parse(json, nullptr, false);
  if (!status.is_object()) return {};
  try {
    std::string out = "pressure   " + status.at("pressure").get<std::string>();
    if (const auto why = status.at("why").get<std::string>(); !why.empty()) out += ": " + why;
    out += "\n";
    if (status.at("degraded").get<bool>()) {
      out += "degraded   " + status.at("trouble").get<std::string>() + "\n";
    }
    out += "agent      " + status.at("version").get<std::string>() + " on " +
           status.at("node").get<std::string>() + ", policy " +
           status.at("policy").get<std::string>() + ", up " +
           duration_text(status.at("up_seconds").get<double>());
    if (!status.at("on").get<bool>()) out += ", SWITCHED OFF (node-agent on)";
    if (status.at("dry_run").get<bool>()) out += ", dry run: nothing is changed";
    out += "\nsource     " + status.at("memory_source").get<std::string>() + "\n";
    add_memory(status.at("memory"), out);
    add_gate(status.at("memory").at("admit_bytes"), out);
    add_runtime(status, out);
    add_safety(status, out);
    add_throttled(status.at("throttled"), out);
    return out;
  } catch (const Json::exception&) {
    return {};
  }
}

}  // namespace sluice::node_agent
