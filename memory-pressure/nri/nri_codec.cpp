#include "memory-pressure/nri/nri_codec.h"

#include "common/rpc/ending.h"

#include "memory-pressure/nri/trunk.h"
#include <nri/nri.pb.h>
#include <utility>

namespace sluice::nri {
namespace {

namespace wire = ::nri::pkg::api::v1alpha1;

constexpr const char* kRuntime = "nri.pkg.api.v1alpha1.Runtime";
constexpr const char* kName = "sluice-node-agent";
// Plugins are called in this order: time that others take is time to ask about the container.
constexpr const char* kIndex = "00";
constexpr std::int64_t kRegistrationNs = 5'000'000'000;
// No kernel numbers a process higher.
constexpr std::uint32_t kPidMax = std::uint32_t{1} << 30U;

template <class Message>
std::optional<Message> parsed(std::string_view bytes) {
  Message message;
  if (bytes.size() > kMessageBytesMax ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return std::nullopt;
  }
  return message;
}

std::string answer(const std::string& payload) {
  wire::Response response;
  response.set_payload(payload);
  return response.SerializeAsString();
}

constexpr std::int32_t bit(wire::Event event) {
  return std::int32_t{1} << (event - 1);
}

std::optional<Start> start(const wire::PodSandbox& pod, const wire::Container& container,
                           bool begun) {
  if (container.id().empty()) return std::nullopt;
  return Start{.id = container.id(),
               .pid = container.pid() <= kPidMax ? static_cast<std::int32_t>(container.pid()) : 0,
               .begun = begun,
               .pod = {.id = pod.id(),
                       .name = pod.name(),
                       .uid = pod.uid(),
                       .space = pod.namespace_(),
                       .ready = true,
                       .labels = {pod.labels().begin(), pod.labels().end()},
                       .annotations = {pod.annotations().begin(), pod.annotations().end()}}};
}

std::optional<Start> changed(std::string_view payload) {
  const auto event = parsed<wire::StateChangeEvent>(payload);
  const bool begins = event && event->event() == wire::START_CONTAINER;
  const bool begun = event && event->event() == wire::POST_START_CONTAINER;
  if (!begins && !begun) return std::nullopt;
  return start(event->pod(), event->container(), begun);
}

}  // namespace

std::string register_call() {
  wire::RegisterPluginRequest plugin;
  plugin.set_plugin_name(kName);
  plugin.set_plugin_idx(kIndex);
  wire::Request request;
  request.set_service(kRuntime);
  request.set_method("RegisterPlugin");
  request.set_payload(plugin.SerializeAsString());
  request.set_timeout_nano(kRegistrationNs);
  return request.SerializeAsString();
}

std::string configure_answer() {
  wire::ConfigureResponse response;
  response.set_events(bit(wire::START_CONTAINER) | bit(wire::POST_START_CONTAINER));
  return answer(response.SerializeAsString());
}

std::string synchronize_answer(std::string_view payload) {
  wire::SynchronizeResponse response;
  response.set_more(has_more(payload));
  return answer(response.SerializeAsString());
}

std::string empty_answer() {
  return answer({});
}

std::string unimplemented_answer(const std::string& service) {
  constexpr std::size_t kShownMax = 200;
  wire::Response response;
  response.mutable_status()->set_code(static_cast<std::int32_t>(rpc::Code::unimplemented));
  response.mutable_status()->set_message("service " + service.substr(0, kShownMax));
  return response.SerializeAsString();
}

Result<Call> read_call(std::string_view bytes) {
  auto request = parsed<wire::Request>(bytes);
  if (!request) return Error::bad_request;
  return Call{.service = request->service(),
              .method = request->method(),
              .payload = std::move(*request->mutable_payload())};
}

Result<Answer> read_answer(std::string_view bytes) {
  const auto response = parsed<wire::Response>(bytes);
  if (!response) return Error::bad_request;
  return Answer{.code = response->status().code(), .text = response->status().message()};
}

Host read_configure(std::string_view payload) {
  const auto request = parsed<wire::ConfigureRequest>(payload);
  if (!request) return {};
  return {.name = request->runtime_name(), .version = request->runtime_version()};
}

bool has_more(std::string_view payload) {
  const auto request = parsed<wire::SynchronizeRequest>(payload);
  return request && request->more();
}

std::optional<Start> read_start(const Call& call) {
  if (call.method == "StateChange") return changed(call.payload);
  const bool begun = call.method == "PostStartContainer";
  if (!begun && call.method != "StartContainer") return std::nullopt;
  const auto request = parsed<wire::StartContainerRequest>(call.payload);
  return request ? start(request->pod(), request->container(), begun) : std::nullopt;
}

}  // namespace sluice::nri
