#include "autoscaler/io/places_json.h"

#include "autoscaler/io/time_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

json bounded(std::int64_t amount) {
  return amount >= placement::kUnbounded ? json{} : json(amount);
}

json amounts_json(const placement::Resources& amounts) {
  return {{"replicas", bounded(amounts.slots)},
          {"cpu_millicores", bounded(amounts.cpu)},
          {"memory_bytes", bounded(amounts.memory)}};
}

std::string_view name(placement::PlaceState state) {
  switch (state) {
    case placement::PlaceState::ready:
      return "ready";
    case placement::PlaceState::stale:
      return "stale";
    case placement::PlaceState::draining:
      return "draining";
  }
  return "";
}

json place_json(const placement::PlaceFigures& view, const Fleet& fleet) {
  json services = json::array();
  for (const placement::PlaceFigures::Tenant& tenant : view.tenants) {
    const auto revision = fleet.revisions().find(tenant.revision);
    services.push_back(
        {{"namespace", tenant.revision.space},
         {"name", revision == fleet.revisions().end() ? tenant.revision.name
                                                      : revision->second->facts().service},
         {"revision", tenant.revision.name},
         {"replicas", tenant.replicas}});
  }
  return {{"name", view.place->name},
          {"preference", view.place->preference},
          {"state", name(view.place->state)},
          {"labels", view.place->labels},
          {"used", amounts_json(view.totals.used + view.totals.reserved)},
          {"capacity", amounts_json(view.totals.capacity)},
          {"largest_hole", amounts_json(view.hole)},
          {"services", std::move(services)}};
}

}  // namespace

json places_json(const placement::Placement& placement, const Fleet& fleet) {
  json list = json::array();
  for (const placement::PlaceFigures& view : placement.view()) {
    list.push_back(place_json(view, fleet));
  }
  return list;
}

json shares_json(std::span<const placement::PlaceShare> shares) {
  json list = json::array();
  for (const placement::PlaceShare& share : shares) {
    list.push_back({{"name", share.place}, {"replicas", share.replicas}});
  }
  return list;
}

json shares_json(const Revision& revision) {
  json list = shares_json(revision.places());
  for (json& share : list) {
    const auto ready = std::count_if(
        revision.pods().begin(), revision.pods().end(), [&](const Revision::PodFacts& pod) {
          return pod.watched.ready && !revision.leaving(pod) &&
                 pod.watched.node == share.at("name").get_ref<const std::string&>();
        });
    share["ready"] = ready;
  }
  return list;
}

json moving_json(const Revision::MoveOrder& move) {
  return {{"from", move.from}, {"to", move.to}, {"state", placement::name(move.state)}};
}

json move_json(const placement::MoveRecord& record) {
  json move = {{"id", static_cast<std::uint32_t>(record.id)},
               {"service", record.service},
               {"from", record.from},
               {"to", record.to},
               {"cause", placement::name(record.cause)},
               {"state", placement::name(record.state)},
               {"over", record.ended.has_value()},
               {"done", record.end == placement::MoveEnd::done},
               {"replicas", record.replicas},
               {"started", record.started},
               {"listed", record.listed},
               {"drained", record.drained},
               {"cut", record.cut},
               {"began", format_time(record.began)},
               {"why", record.why},
               {"line", record.cause == placement::MoveCause::drain ? placement::drain_line(record)
                                                                    : placement::line(record)}};
  if (record.ended) move["ended"] = format_time(*record.ended);
  if (record.start_took) move["start_s"] = to_seconds(*record.start_took);
  if (record.drain_took) move["drain_s"] = to_seconds(*record.drain_took);
  return move;
}

json drain_json(const Mover::Drain& drain) {
  return {{"over", drain.over},
          {"services", drain.services},
          {"replicas", drain.replicas},
          {"cut", drain.cut},
          {"remaining", drain.remaining}};
}

}  // namespace sluice::autoscaler
