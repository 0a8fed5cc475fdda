#include "memory-pressure/cri/cri_codec.h"

#include <cri/cri.pb.h>
#include <limits>
#include <utility>

namespace sluice::cri {
namespace {

namespace wire = runtime::v1;

constexpr std::string_view kStart = "/tasks/start";

template <class Message>
Result<Message> parse(std::string_view bytes) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Error::too_large;
  }
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error::bad_request;
  }
  return message;
}

template <class List>
bool too_many(const List& list) {
  return static_cast<std::size_t>(list.size()) > kEntriesMax;
}

template <class Map>
Marks marks(const Map& map) {
  return {map.begin(), map.end()};
}

State state(wire::ContainerState from) {
  switch (from) {
    case wire::CONTAINER_CREATED:
      return State::created;
    case wire::CONTAINER_RUNNING:
      return State::running;
    case wire::CONTAINER_EXITED:
      return State::exited;
    default:
      return State::unknown;  // an open enum
  }
}

Resources resources(const wire::LinuxContainerResources& from) {
  return {.cpu_period_us = from.cpu_period(),
          .cpu_quota_us = from.cpu_quota(),
          .cpu_shares = from.cpu_shares(),
          .memory_limit = from.memory_limit_in_bytes(),
          .oom_score_adj = from.oom_score_adj(),
          .cpuset = from.cpuset_cpus()};
}

}  // namespace

std::string version_request() {
  wire::VersionRequest request;
  request.set_version("v1");
  return request.SerializeAsString();
}

std::string list_sandboxes_request() {
  return wire::ListPodSandboxRequest{}.SerializeAsString();
}

std::string list_running_request() {
  wire::ListContainersRequest request;
  request.mutable_filter()->mutable_state()->set_state(wire::CONTAINER_RUNNING);
  return request.SerializeAsString();
}

std::string status_request(const std::string& id, bool verbose) {
  wire::ContainerStatusRequest request;
  request.set_container_id(id);
  request.set_verbose(verbose);
  return request.SerializeAsString();
}

std::string list_stats_request() {
  return wire::ListContainerStatsRequest{}.SerializeAsString();
}

Result<std::string> update_request(const CpuUpdate& update) {
  if (update.id.empty() || update.quota_us == 0 || update.quota_us < -1 || update.period_us <= 0) {
    return Error::bad_request;
  }
  wire::UpdateContainerResourcesRequest request;
  request.set_container_id(update.id);
  request.mutable_linux()->set_cpu_period(update.period_us);
  request.mutable_linux()->set_cpu_quota(update.quota_us);
  return request.SerializeAsString();
}

std::string task_request(const std::string& id) {
  wire::TaskRequest request;
  request.set_container_id(id);
  return request.SerializeAsString();
}

std::string subscribe_request() {
  wire::SubscribeRequest request;
  request.add_filters("namespace==\"" + std::string{kNamespace} +
                      "\",topic~=\"^/tasks/(start|exit|delete)$\"");
  return request.SerializeAsString();
}

std::string stop_request(const std::string& id, std::int64_t grace_seconds) {
  wire::StopContainerRequest request;
  request.set_container_id(id);
  request.set_timeout(grace_seconds);
  return request.SerializeAsString();
}

Result<Version> read_version(std::string_view bytes) {
  const auto message = parse<wire::VersionResponse>(bytes);
  if (!message) return message.error();
  return Version{message->runtime_name(), message->runtime_version(),
                 message->runtime_api_version()};
}

Result<std::vector<Sandbox>> read_sandboxes(std::string_view bytes) {
  const auto message = parse<wire::ListPodSandboxResponse>(bytes);
  if (!message) return message.error();
  if (too_many(message->items())) return Error::too_large;
  std::vector<Sandbox> sandboxes;
  for (const wire::PodSandbox& each : message->items()) {
    if (each.id().empty()) continue;
    sandboxes.push_back({.id = each.id(),
                         .name = each.metadata().name(),
                         .uid = each.metadata().uid(),
                         .space = each.metadata().namespace_(),
                         .ready = each.state() == wire::SANDBOX_READY,
                         .labels = marks(each.labels()),
                         .annotations = marks(each.annotations())});
  }
  return sandboxes;
}

Result<std::vector<Container>> read_containers(std::string_view bytes) {
  const auto message = parse<wire::ListContainersResponse>(bytes);
  if (!message) return message.error();
  if (too_many(message->containers())) return Error::too_large;
  std::vector<Container> containers;
  for (const wire::Container& each : message->containers()) {
    if (each.id().empty()) continue;
    containers.push_back({.id = each.id(),
                          .sandbox = each.pod_sandbox_id(),
                          .name = each.metadata().name(),
                          .attempt = each.metadata().attempt(),
                          .image = each.image_ref(),
                          .state = state(each.state()),
                          .created_ns = each.created_at(),
                          .labels = marks(each.labels()),
                          .annotations = marks(each.annotations())});
  }
  return containers;
}

Result<ContainerStatus> read_status(std::string_view bytes) {
  const auto message = parse<wire::ContainerStatusResponse>(bytes);
  if (!message) return message.error();
  const wire::ContainerStatus& from = message->status();
  ContainerStatus status{.id = from.id(),
                         .name = from.metadata().name(),
                         .attempt = from.metadata().attempt(),
                         .image = from.image_ref(),
                         .state = state(from.state()),
                         .started_ns = from.started_at(),
                         .exit_code = from.exit_code(),
                         .reason = from.reason(),
                         .resources = std::nullopt,
                         .labels = marks(from.labels()),
                         .annotations = marks(from.annotations()),
                         .info = {}};
  if (from.resources().has_linux()) status.resources = resources(from.resources().linux());
  const auto info = message->info().find("info");
  if (info != message->info().end() && info->second.size() <= kInfoBytesMax) {
    status.info = info->second;
  }
  return status;
}

Result<bool> read_is_paused(std::string_view bytes) {
  constexpr std::int32_t kPaused = 4;
  constexpr std::int32_t kPausing = 5;
  const auto message = parse<wire::TaskResponse>(bytes);
  if (!message) return message.error();
  const std::int32_t status = message->process().status();
  return status == kPaused || status == kPausing;
}

std::optional<TaskEvent> read_task_event(std::string_view bytes) {
  const auto envelope = parse<wire::Envelope>(bytes);
  if (!envelope || envelope->namespace_() != kNamespace) return std::nullopt;
  if (envelope->topic() == kStart) {
    const auto start = parse<wire::TaskStart>(envelope->event().value());
    if (!start || start->container_id().empty()) return std::nullopt;
    return TaskEvent{.id = start->container_id(),
                     .started = static_cast<std::int32_t>(start->pid())};
  }
  // A command is a task with an id of its own; a removal has none.
  const auto end = parse<wire::TaskExit>(envelope->event().value());
  if (!end || end->container_id().empty()) return std::nullopt;
  if (!end->id().empty() && end->id() != end->container_id()) return std::nullopt;
  return TaskEvent{.id = end->container_id()};
}

Result<std::vector<ContainerStats>> read_stats(std::string_view bytes) {
  const auto message = parse<wire::ListContainerStatsResponse>(bytes);
  if (!message) return message.error();
  if (too_many(message->stats())) return Error::too_large;
  std::vector<ContainerStats> all;
  for (const wire::ContainerStats& each : message->stats()) {
    if (each.attributes().id().empty()) continue;
    ContainerStats& stats = all.emplace_back();
    stats.id = each.attributes().id();
    stats.sampled_ns = each.memory().timestamp();
    if (each.has_memory() && each.memory().has_working_set_bytes()) {
      stats.working_set = static_cast<std::int64_t>(each.memory().working_set_bytes().value());
    }
  }
  return all;
}

}  // namespace sluice::cri
