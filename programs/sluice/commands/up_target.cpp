#include "programs/sluice/commands/up_target.h"

#include "programs/sluice/commands/up.h"
#include "programs/sluice/engine/kept_services.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <poll.h>
#include <utility>

namespace sluice::commands {
namespace {

constexpr int kLookMilliseconds = 10;
constexpr Duration kQuietWait = std::chrono::seconds{1};
constexpr std::size_t kLabelMax = 63;

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_for_init_system() {
  const char* const socket = std::getenv("NOTIFY_SOCKET");
  return socket != nullptr && *socket != '\0';
}

// Neither an engine that starts nor one that ends is.
bool is_ready(const ApiPlace& engine) {
  const auto reply = ApiClient(engine).send({.target = "/readyz"});
  return reply && reply->status == 200;
}

// An `up` of a name alone, which has nothing to resume.
Failure never_ran(const Surroundings& with, const std::string& engine) {
  std::vector<std::string> ran;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(with.roots.state, failed)) {
    const std::string each = entry.path().filename().string();
    if (local::KeptServices::any(local::EnginePaths{with.roots, each})) ran.push_back(each);
  }
  std::sort(ran.begin(), ran.end());
  std::string text = "engine " + engine + " has nothing to resume";
  for (const std::string& each : ran)
    text += (&each == &ran.front() ? "; others have: " : ", ") + each;
  return {kExitUsage, text + "\n" + kUpHelpLines};
}

Failure still_held(const Surroundings& with, const std::string& engine, const std::string& pid) {
  const local::EnginePaths paths(with.roots, engine);
  return {
      kExitUnavailable,
      "engine " + engine + " (pid " + pid + ") starts or ends, and has not finished in " +
          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kEngineEnds).count()) +
          " s; see " + paths.engine_log().string() + ", or end it: kill -9 " + pid};
}

}  // namespace

Result<std::string, Failure> choose_engine(
    const UpOptions& options, const std::vector<std::string>& running,
    const std::function<bool(const std::string&)>& has_state) {
  const auto chosen = [](std::string name) {
    return Result<std::string, Failure>{boost::system::in_place_value, std::move(name)};
  };
  if (!options.engine.empty()) return chosen(options.engine);
  if (options.resume || running.empty() || is_among(running, options.name)) {
    return chosen(options.name);
  }
  if (options.name_given && has_state(options.name)) return chosen(options.name);
  if (running.size() == 1) return chosen(running.front());
  std::string list;
  for (const std::string& name : running) list += (list.empty() ? "" : ", ") + name;
  return Failure{kExitUsage,
                 "several engines are running: " + list +
                     "; choose one with --engine NAME, or give a new NAME to start another"};
}

Result<UpTarget, Failure> find_up_target(const Surroundings& with, const UpOptions& options) {
  const auto has_state = [&with](const std::string& name) {
    std::error_code ignored;
    return std::filesystem::exists(local::EnginePaths(with.roots, name).state_dir(), ignored);
  };
  UpOptions wanted = options;
  if (is_for_init_system() && wanted.engine.empty()) wanted.engine = wanted.name;
  const TimePoint begin = with.clock.now();
  bool announced = false;
  while (true) {
    const auto held = local::held_names(with.roots);
    const auto engine = choose_engine(wanted, held, has_state);
    if (!engine) return engine.error();
    const local::EnginePaths paths(with.roots, *engine);
    if (!is_among(held, *engine)) {
      if (options.resume && !local::KeptServices::any(paths)) return never_ran(with, *engine);
      return UpTarget{.engine = *engine};
    }
    const std::string pid = local::name_holder(paths).value_or("unknown");
    const ApiPlace place{.name = *engine,
                         .at = {.host = {}, .port = 0, .path = paths.api_socket().string()}};
    if (is_ready(place)) {
      if (!options.resume && !is_for_init_system()) return UpTarget{*engine, place};
      return Failure{kExitUnavailable, "engine " + *engine + " is already running (pid " + pid +
                                           "); stop it first: sluice down " + *engine};
    }
    const Duration waited = with.clock.now() - begin;
    if (waited >= kEngineEnds) return still_held(with, *engine, pid);
    if (waited >= kQuietWait && !std::exchange(announced, true)) {
      with.err << "waiting for engine " << *engine << " (pid " << pid << "), which starts or ends\n"
               << std::flush;
    }
    ::poll(nullptr, 0, kLookMilliseconds);
  }
}

bool wait_until_released(const Surroundings& with, const std::string& engine,
                         const std::string& holder, Duration patience) {
  const local::EnginePaths paths(with.roots, engine);
  const TimePoint deadline = with.clock.now() + patience;
  while (local::name_holder(paths) == holder) {
    if (with.clock.now() >= deadline) return false;
    ::poll(nullptr, 0, kLookMilliseconds);
  }
  return true;
}

std::string label_of(std::string_view program) {
  std::string label;
  for (const char c : program.substr(program.find_last_of('/') + 1)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const char next = upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '-';
    if (next != '-' || (!label.empty() && label.back() != '-')) label += next;
    if (label.size() == kLabelMax) break;
  }
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label.empty() ? "program" : label;
}

}  // namespace sluice::commands
