// What the parts of the engine know of each other.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/cores.h"
#include "programs/sluice/engine/engine.h"
#include <algorithm>
#include <thread>
#include <unistd.h>

namespace sluice::local {
namespace {

// Each start keeps about one processor busy, and waits for the disk a little.
StartPace pace_of_machine() {
  constexpr int kLeast = 4;
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  return StartPace{std::max(kLeast, 2 * processors)};
}

}  // namespace

ProcessMeans Engine::means() {
  return {.loop = loop_,
          .settings = setup_.settings,
          .memory = memory_,
          .requests = *this,
          .events = replica_events_,
          .log = log_,
          .make = [this](ReplicaOwner& owner,
                         ReplicaPlan plan) { return make_replica(owner, std::move(plan)); },
          .started =
              [this](const Replica& replica) {
                for (const pid_t group : {replica.app_pid(), replica.sidecar_pid()}) {
                  if (group > 0) journal_.add(replica.id(), group);
                }
              },
          .ended = [this](const Replica& replica) { journal_.remove(replica.id()); },
          .pace = pace_of_machine()};
}

autoscaler::Surroundings Engine::surroundings() {
  return {.clock = loop_,
          .stats = stats_,
          .log = decisions_log_,
          .loop = scale_loop_,
          .hub = hub_,
          .placement = placement_,
          .throttled = platform_,
          .platform = platform_,
          .events = fleet_events_,
          .random = random_,
          .activator_connected = [] { return true; },
          .news = [this] { peer_.news(); },
          .load_now = [this](const RevisionId& id,
                             const PodId& pod) { return static_cast<double>(on_pod(id, pod)); },
          .moved_now = [this](const RevisionId& id, const PodId& pod) { return moved(id, pod); },
          .on_shortage = [this] { mover_.on_shortage(); },
          .room_is_made = [this](const RevisionId& id) { return mover_.room_made_for(id); },
          .recordings = &recordings_};
}

FrontFigures::Parts Engine::figures() {
  return {.clock = clock_,
          .front = front_,
          .book = book_,
          .platform = platform_,
          .memory = memory_,
          .groups = setup_.settings.groups,
          .history = *history_,
          .events = events_,
          .version =
              [this](nlohmann::json& version) {
                version["pid"] = ::getpid();
                version["http"] = door_.text();
                version["url"] = std::string{door_tls_ ? "https://" : "http://"} + door_.text();
                version["page"] = page_url();
              },
          .url = [this](const std::string& host) { return url_of(host); },
          .requests = *this,
          .started = [this](const RevisionId& id,
                            const proto::ColdStart& took) { fleet_.note_cold_start(id, took); }};
}

Result<std::unique_ptr<Replica>, Problem> Engine::make_replica(ReplicaOwner& owner,
                                                               ReplicaPlan plan) {
  auto lease = plan.spec.fixed_port ? ports_.reserve(*plan.spec.fixed_port, plan.spec.name)
                                    : ports_.allocate(plan.spec.name);
  if (!lease) return lease.error();
  plan.port = std::move(*lease);
  plan.sidecar = sidecar_.program();
  plan.directory = paths_.replica_dir(plan.id);
  const auto session = session_environments_.find(plan.spec.name);
  plan.environment = session == session_environments_.end() ? environment_ : session->second;
  plan.open_files = files_.before;
  plan.write_timeout = setup_.settings.limits.write_timeout;
  plan.cgroups = &place_groups_.tree_of(plan.place);
  plan.place_limited = place_groups_.is_limited(plan.place);
  if (const MachineGroup* group = group_named(setup_.settings.groups, plan.place))
    plan.cpus = group->cpus;
  if (plan.place_limited && plan.has_cgroup()) memory_.grouped(plan.id, *plan.cgroups);
  if (plan.spec.needs_containers()) {
    auto runtime = find_container_runtime(setup_.settings.defaults.container_runtime);
    if (!runtime) return runtime.error();
    plan.containers = {.runtime = std::move(*runtime),
                       .engine = setup_.name,
                       .owner = paths_.runtime_dir().string()};
    note_containers(paths_.containers_note(), plan.containers);
    if (auto problem = guard_.start(paths_.containers_note(), environment_)) return *problem;
  }
  return std::unique_ptr<Replica>{
      std::make_unique<ChildReplica>(io_, loop_, reaper_, spawner_, owner, std::move(plan))};
}

void Engine::record_traffic() {
  for (const auto& [id, revision] : fleet_.revisions()) {
    const auto traffic = figures_.take_traffic(id);
    autoscaler::Recording* const recording = revision->recording();
    if (traffic && recording != nullptr) recording->note(*traffic);
  }
}

// What they cannot have is no reason not to start.
void Engine::open_groups() {
  const std::vector<MachineGroup>& groups = setup_.settings.groups;
  if (groups.empty()) return;
  memory_.measure_cpu();
  for (const Problem& problem : place_groups_.make(groups))
    publish_text("warning", problem.what, problem.fix);
  static_cast<void>(memory_.rules());  // which takes a look
  if (const auto problem = more_than_machine(groups, own_cores().size(), memory_.capacity())) {
    publish_text("warning",
                 fmt::format("{}: {}", setup_.settings.origins.at("groups"), problem->what),
                 problem->fix);
  }
}

}  // namespace sluice::local
