#include "common/kube/json_read.h"
#include "common/kube/objects.h"

#include <utility>

namespace sluice::kube {
namespace {

using nlohmann::json;

std::string number_or_name(const json& object, const char* key) {
  const std::uint16_t number = reading::port(object, key);
  return number == 0 ? reading::text(object, key) : std::to_string(number);
}

EndpointSlice::Endpoint endpoint_of(const json& item) {
  const json& conditions = reading::member(item, "conditions");
  const json& target = reading::member(item, "targetRef");
  EndpointSlice::Endpoint endpoint;
  for (const std::string& address : reading::strings(item, "addresses")) {
    endpoint.address = address;  // the API allows several and takes them for the same place
    break;
  }
  // By the API's definition an endpoint without the condition counts as ready, and a ready one as
  // serving.
  endpoint.ready = reading::flag(conditions, "ready", true);
  endpoint.serving = reading::flag(conditions, "serving", endpoint.ready);
  endpoint.terminating = reading::flag(conditions, "terminating");
  if (reading::text(target, "kind") == "Pod") endpoint.target = reading::text(target, "name");
  endpoint.node = reading::text(item, "nodeName");
  return endpoint;
}

}  // namespace

std::optional<Service> decode_service(std::string_view text) {
  json document;
  if (!kube::parse_object(text, document)) return std::nullopt;
  const json& metadata = reading::member(document, "metadata");
  const json& spec = reading::member(document, "spec");
  Service service;
  service.uid = reading::text(metadata, "uid");
  service.labels = reading::string_map(metadata, "labels");
  service.annotations = reading::string_map(metadata, "annotations");
  service.selector = reading::string_map(spec, "selector");
  for (const json& item : reading::array(spec, "ports")) {
    Service::Port port;
    port.name = reading::text(item, "name");
    port.port = reading::port(item, "port");
    port.target_port = number_or_name(item, "targetPort");
    port.app_protocol = reading::text(item, "appProtocol");
    port.protocol = kube::protocol(item);
    if (port.port != 0) service.ports.push_back(std::move(port));
  }
  service.cluster_ip = reading::text(spec, "clusterIP");
  service.type = reading::text(spec, "type");
  service.owner = kube::controller_of(metadata);
  service.resource_version = reading::text(metadata, "resourceVersion");
  return service;
}

std::optional<EndpointSlice> decode_endpoint_slice(std::string_view text) {
  json document;
  if (!kube::parse_object(text, document)) return std::nullopt;
  const json& metadata = reading::member(document, "metadata");
  EndpointSlice slice;
  slice.labels = reading::string_map(metadata, "labels");
  slice.owner = kube::controller_of(metadata);
  slice.address_type = reading::text(document, "addressType");
  for (const json& item : reading::array(document, "endpoints")) {
    EndpointSlice::Endpoint endpoint = endpoint_of(item);
    if (!endpoint.address.empty()) slice.endpoints.push_back(std::move(endpoint));
  }
  for (const json& item : reading::array(document, "ports")) {
    slice.ports.push_back({reading::text(item, "name"), reading::port(item, "port"),
                           reading::text(item, "appProtocol"), kube::protocol(item)});
  }
  return slice;
}

std::optional<StringMap> decode_config_map(std::string_view text) {
  json document;
  if (!kube::parse_object(text, document)) return std::nullopt;
  return reading::string_map(document, "data");
}

}  // namespace sluice::kube
