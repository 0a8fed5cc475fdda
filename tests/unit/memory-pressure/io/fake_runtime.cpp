#include "tests/unit/memory-pressure/io/fake_runtime.h"

#include <cri/cri.pb.h>
#include <utility>

namespace sluice::node_agent::testing {
namespace {

namespace wire = runtime::v1;
using sluice::testing::UnaryAnswer;

constexpr int kNotFound = 5;
constexpr int kUnimplemented = 12;

UnaryAnswer refusal(int code) {
  return {.code = code, .text = "so it shall be", .bytes = {}};
}

UnaryAnswer good(std::string bytes = {}) {
  return {.code = 0, .text = {}, .bytes = std::move(bytes)};
}

}  // namespace

FakeRuntime::FakeRuntime(const FixtureTree& tree) : tree_{tree} {
  start();
}

void FakeRuntime::start() {
  server_ = std::make_unique<sluice::testing::UnaryServer>(
      "unix:" + socket(), [this](const std::string& method, const std::string& request) {
        return answer(method, request);
      });
}

void FakeRuntime::run(const std::string& id, FakeContainer container,
                      const FixtureTree::Memory& memory) {
  const std::lock_guard lock{mutex_};
  tree_.set_memory(group(id), memory);
  tree_.set_quota(group(id), container.quota > 0 ? container.quota : -1,
                  container.period > 0 ? container.period : 100'000);
  tree_.set_quota("/pods", -1, 100'000);
  if (container.pid > 0) tree_.set_process(container.pid, group(id));
  containers_[id] = std::move(container);
}

void FakeRuntime::end(const std::string& id, int exit_code, const std::string& reason) {
  const std::lock_guard lock{mutex_};
  FakeContainer& container = containers_.at(id);
  container.running = false;
  container.exit_code = exit_code;
  container.reason = reason;
}

void FakeRuntime::end_sandbox(const std::string& id) {
  const std::lock_guard lock{mutex_};
  containers_.at(id).ready = false;
}

void FakeRuntime::started(const std::string& id) {
  const std::lock_guard lock{mutex_};
  containers_.at(id).created = false;
}

void FakeRuntime::forget_sandbox(const std::string& id) {
  const std::lock_guard lock{mutex_};
  containers_.at(id).has_sandbox = false;
}

void FakeRuntime::remove(const std::string& id) {
  const std::lock_guard lock{mutex_};
  containers_.erase(id);
}

void FakeRuntime::annotate(const std::string& id, const std::string& key,
                           const std::string& value) {
  const std::lock_guard lock{mutex_};
  containers_.at(id).annotations[key] = value;
}

void FakeRuntime::refuse(const std::string& method, int code) {
  const std::lock_guard lock{mutex_};
  refusals_[method] = code;
}

void FakeRuntime::hang(const std::string& method, bool hangs) {
  const std::lock_guard lock{mutex_};
  hanging_[method] = hangs;
}

int FakeRuntime::calls(const std::string& method) const {
  const std::lock_guard lock{mutex_};
  const auto at = calls_.find(method);
  return at == calls_.end() ? 0 : at->second;
}

UnaryAnswer FakeRuntime::answer(const std::string& method, const std::string& request) {
  const std::lock_guard lock{mutex_};
  const std::string name = method.substr(method.rfind('/') + 1);
  ++calls_[name];
  if (hanging_[name]) return {.code = 0, .text = {}, .bytes = {}, .never = true};
  if (const int code = refusals_[name]; code != 0) return refusal(code);
  if (name == "Version") {
    wire::VersionResponse version;
    version.set_runtime_name("fake");
    version.set_runtime_version("1");
    version.set_runtime_api_version("v1");
    return good(version.SerializeAsString());
  }
  if (name == "ListPodSandbox") return good(list_sandboxes());
  if (name == "ListContainers") return good(list_containers());
  if (name == "ListContainerStats") return good(list_stats());
  if (name == "ContainerStatus") return status(request);
  if (name == "UpdateContainerResources") return update(request);
  if (name == "StopContainer") return stop_container(request);
  if (name == "Get") return task(request);
  return refusal(kUnimplemented);
}

std::string FakeRuntime::list_sandboxes() const {
  wire::ListPodSandboxResponse list;
  for (const auto& [id, container] : containers_) {
    if (!container.has_sandbox) continue;
    wire::PodSandbox& pod = *list.add_items();
    pod.set_id(container.pod);
    pod.set_state(container.ready ? wire::SANDBOX_READY : wire::SANDBOX_NOTREADY);
    pod.mutable_metadata()->set_name(container.pod);
    pod.mutable_metadata()->set_uid(container.pod);
    pod.mutable_metadata()->set_namespace_(container.space);
    pod.mutable_annotations()->insert(container.annotations.begin(), container.annotations.end());
    pod.mutable_labels()->insert(container.labels.begin(), container.labels.end());
  }
  return list.SerializeAsString();
}

std::string FakeRuntime::list_containers() const {
  wire::ListContainersResponse list;
  for (const auto& [id, container] : containers_) {
    if (!container.running || container.created) continue;
    wire::Container& each = *list.add_containers();
    each.set_id(id);
    each.set_pod_sandbox_id(container.pod);
    each.mutable_metadata()->set_name(container.name);
    each.set_state(wire::CONTAINER_RUNNING);
    each.set_image_ref("sha256:" + container.name);
  }
  return list.SerializeAsString();
}

std::string FakeRuntime::list_stats() const {
  wire::ListContainerStatsResponse list;
  for (const auto& [id, container] : containers_) {
    wire::ContainerStats& each = *list.add_stats();
    each.mutable_attributes()->set_id(id);
    if (container.working_set < 0) continue;
    each.mutable_memory()->set_timestamp(1);
    each.mutable_memory()->mutable_working_set_bytes()->set_value(
        static_cast<std::uint64_t>(container.working_set));
  }
  return list.SerializeAsString();
}

UnaryAnswer FakeRuntime::status(const std::string& request) const {
  wire::ContainerStatusRequest asked;
  asked.ParseFromString(request);
  const auto at = containers_.find(asked.container_id());
  if (at == containers_.end()) return refusal(kNotFound);
  const FakeContainer& container = at->second;
  wire::ContainerStatusResponse reply;
  wire::ContainerStatus& status = *reply.mutable_status();
  status.set_id(at->first);
  status.set_state(container.running ? wire::CONTAINER_RUNNING : wire::CONTAINER_EXITED);
  if (container.created) status.set_state(wire::CONTAINER_CREATED);
  status.set_started_at(container.created ? 0 : 1);
  status.mutable_metadata()->set_name(container.name);
  status.set_image_ref("sha256:" + container.name);
  status.set_exit_code(container.exit_code);
  status.set_reason(container.reason);
  wire::LinuxContainerResources& given = *status.mutable_resources()->mutable_linux();
  given.set_cpu_quota(container.quota);
  given.set_cpu_period(container.period);
  given.set_memory_limit_in_bytes(container.memory_limit);
  if (asked.verbose() && container.pid > 0) {
    (*reply.mutable_info())["info"] = R"({"sandboxID":")" + container.pod + R"(","pid":)" +
                                      std::to_string(container.pid) + R"(,"runtimeSpec":{}})";
  }
  return good(reply.SerializeAsString());
}

UnaryAnswer FakeRuntime::task(const std::string& request) const {
  constexpr int kRunning = 2;
  constexpr int kPaused = 4;
  wire::TaskRequest asked;
  asked.ParseFromString(request);
  const auto at = containers_.find(asked.container_id());
  if (at == containers_.end()) return refusal(kNotFound);
  wire::TaskResponse reply;
  reply.mutable_process()->set_status(at->second.paused ? kPaused : kRunning);
  return good(reply.SerializeAsString());
}

UnaryAnswer FakeRuntime::update(const std::string& request) {
  wire::UpdateContainerResourcesRequest asked;
  asked.ParseFromString(request);
  const auto at = containers_.find(asked.container_id());
  if (at == containers_.end()) return refusal(kNotFound);
  FakeContainer& container = at->second;
  // As the real one: 0 leaves alone.
  if (asked.linux().cpu_quota() != 0) container.quota = asked.linux().cpu_quota();
  if (asked.linux().cpu_period() != 0) container.period = asked.linux().cpu_period();
  tree_.set_quota(group(at->first), container.quota, container.period);
  return good();
}

UnaryAnswer FakeRuntime::stop_container(const std::string& request) {
  wire::StopContainerRequest asked;
  asked.ParseFromString(request);
  const auto at = containers_.find(asked.container_id());
  if (at == containers_.end()) return refusal(kNotFound);
  at->second.running = false;
  at->second.exit_code = 137;
  at->second.reason = "Error";
  return good();
}

}  // namespace sluice::node_agent::testing
