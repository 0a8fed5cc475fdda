// The API's answers about places and moves.

#include "autoscaler/io/api.h"
#include "autoscaler/io/front_facts.h"
#include "autoscaler/io/places_json.h"
#include "autoscaler/io/time_text.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace sluice::autoscaler {
namespace {

using http::ApiProblem;
using nlohmann::json;

ApiProblem one_place() {
  return {409, "one-place", "One place only", "there is one place, and nothing is moved here",
          "on one machine, write `groups` in config.yaml and start the engine again"};
}

ApiProblem not_moved(const Problem& problem) {
  return {409, "not-moved", "Not moved", problem.what, problem.fix};
}

}  // namespace

// Why it is not where it would like to be, why it lacks replicas, and when that may change.
void Api::explain_places(const Revision& revision, json& answer) const {
  if (parts_.mover == nullptr) return;
  const RevisionId& id = revision.facts().id;
  const placement::Ledger& ledger = parts_.placement.ledger();
  placement::NextLook next;
  if (!revision.places().empty()) {
    const std::string& least = revision.places().back().place;
    const auto liked = parts_.mover->why_elsewhere(id, least);
    if (liked.place) {
      answer["why_elsewhere"] = {
          {"place", least}, {"liked", ledger.place(*liked.place).name}, {"why", liked.why}};
      next = liked.next;
    }
  }
  if (const auto waits = parts_.mover->why_it_waits(id)) {
    if (!waits->why.empty()) answer["waits"] = waits->why;
    next = waits->next;
  }
  json asked = json::object();
  if (next.at) asked["at"] = format_time(*next.at);
  for (const placement::PlaceId place : next.places) {
    asked["replica_of"].push_back(ledger.place(place).name);
  }
  if (!asked.empty()) answer["asked_again"] = std::move(asked);
}

json Api::places() {
  json list = places_json(parts_.placement, parts_.fleet);
  for (json& place : list) {
    if (parts_.front != nullptr) parts_.front->complete_place(place);
  }
  if (parts_.mover == nullptr) return list;
  for (json& place : list) {
    const auto* const drain = parts_.mover->drain_of(place.at("name").get<std::string>());
    if (drain != nullptr) place["drain"] = drain_json(*drain);
  }
  return list;
}

json Api::moves() {
  json list = json::array();
  if (parts_.mover == nullptr) return list;
  for (const placement::MoveRecord& record : parts_.mover->records()) {
    list.push_back(move_json(record));
  }
  return list;
}

ApiResult<json> Api::move(const ServiceName& name, const std::string& to) {
  const auto revision = find_to_change(name);
  if (!revision) return revision.error();
  if (parts_.mover == nullptr || parts_.placement.ledger().places().size() < 2) return one_place();
  const model::Revision& facts = (*revision)->facts();
  const std::vector<RevisionId> all =
      parts_.front == nullptr ? std::vector{facts.id} : parts_.front->sharing(facts.id);
  const auto begun = parts_.mover->move(all, to);
  if (!begun) return not_moved(begun.error());
  json ids = json::array();
  for (const placement::MoveId move : begun->moves) ids.push_back(static_cast<std::uint32_t>(move));
  return json{
      {"service", facts.service}, {"to", to}, {"moves", std::move(ids)}, {"asleep", begun->asleep}};
}

ApiResult<json> Api::drain(const std::string& place, bool drain) {
  if (parts_.mover == nullptr || parts_.placement.ledger().places().size() < 2) return one_place();
  const auto problem = drain ? parts_.mover->drain(place) : parts_.mover->undrain(place);
  if (problem) {
    return ApiProblem{404, "no-such-place", "No such place", problem->what, problem->fix};
  }
  for (json& each : places()) {
    if (each.at("name") == place) return std::move(each);
  }
  return json::object();
}

}  // namespace sluice::autoscaler
