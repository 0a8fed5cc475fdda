#include "autoscaler/io/service_status.h"

#include "autoscaler/io/status_json.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

void complete_replicas(const Revision& revision, const FrontFacts& front, json& replicas) {
  for (json& replica : replicas) {
    front.complete_replica(revision, {replica.value("id", std::string{})}, replica);
  }
}

}  // namespace

json service_status(const Revision& revision, const Fleet& fleet, const FrontFacts* front,
                    const json& last_cold_start) {
  json status = status_json(revision, last_cold_start);
  if (front == nullptr) return status;
  front->complete(revision, status);
  complete_replicas(revision, *front, status["replicas"]);
  const model::Revision& facts = revision.facts();
  for (const Revision* const other : fleet.of_service(facts.id.space, facts.service)) {
    if (other == &revision) continue;
    // The one that is replaced is in service too until its platform has reported it.
    if (other->facts().in_service && !facts.in_service) continue;
    json drained = status_json(*other, {});
    complete_replicas(*other, *front, drained["replicas"]);
    for (json& replica : drained["replicas"]) status["replicas"].push_back(std::move(replica));
    status["draining"] = status["draining"].get<std::int32_t>() + other->counts().leaving;
  }
  return status;
}

}  // namespace sluice::autoscaler
