#include "tests/unit/autoscaler/placement/io/mover_stage.h"

#include "autoscaler/placement/core/words.h"

#include <algorithm>

namespace sluice::autoscaler {

using placement::MoveState;
using std::chrono::minutes;
using std::chrono::seconds;

void Groups::add(const std::string& name, std::int32_t preference, std::int64_t replicas) {
  const placement::PlaceId place = ledger_.add_place({.name = name, .preference = preference});
  placement::Resources capacity = placement::kAnything;
  capacity.slots = replicas;
  nodes_.push_back(ledger_.add_node({.name = name, .place = place, .capacity = capacity}));
}

std::optional<placement::NodeId> Groups::find(std::string_view node) const {
  for (const placement::NodeId each : nodes_) {
    if (ledger_.node(each).name == node) return each;
  }
  return std::nullopt;
}

std::int64_t Groups::replicas() const {
  std::int64_t all = 0;
  for (const placement::PlaceId place : ledger_.places()) {
    const placement::Totals totals = ledger_.totals(place);
    all += totals.used.slots + totals.reserved.slots;
  }
  return all;
}

placement::Site::Terms Groups::terms(const RevisionId& /*revision*/,
                                     const placement::RevisionDemand& demand, std::int64_t held) {
  const auto live = std::count_if(demand.replicas.begin(), demand.replicas.end(),
                                  [](const placement::ReplicaAt& each) { return !each.leaving; });
  const auto there = static_cast<std::int32_t>(live);
  const std::int64_t most = std::max<std::int64_t>(there, max_replicas - (replicas() - held));
  Terms terms{.most = static_cast<std::int32_t>(std::min<std::int64_t>(demand.wanted, most)),
              .there = there,
              .now = demand.wanted};
  if (terms.most < demand.wanted) {
    terms.missing = placement::Missing{.reason = placement::Reason::slots,
                                       .detail = spare_bound() + " reached"};
  }
  return terms;
}

void Groups::explain(const RevisionId& /*revision*/, const placement::RevisionDemand& demand,
                     const placement::Refusal& /*refusal*/, placement::Missing& missing) {
  const placement::PlaceOrder order{ledger_, *demand.wish};
  missing.detail =
      placement::why_no_node(ledger_, {.need = demand.each, .order = &order}, *demand.wish, {});
}

void Machine::apply(const RevisionId& revision, const ScaleOrder& order) {
  const auto found = services.find(revision);
  if (found != services.end()) found->second.order = order;
}

bool Machine::advance(Service& service, TimePoint now) const {
  std::vector<model::Pod>& pods = service.facts.pods;
  bool changed = std::erase_if(pods, [](const model::Pod& pod) { return pod.terminating; }) > 0;
  for (model::Pod& pod : pods) {
    const auto& remove = service.order.remove;
    pod.terminating = std::find(remove.begin(), remove.end(), pod.id) != remove.end();
    const bool started = now - service.made[pod.id.name] >= start && !broken.contains(pod.node);
    const bool ready = pod.ready || started;
    changed = changed || pod.terminating || ready != pod.ready;
    pod.ready = ready;
  }
  for (const placement::PlaceShare& share : service.order.places) {
    auto live = std::count_if(pods.begin(), pods.end(), [&share](const model::Pod& pod) {
      return !pod.terminating && pod.node == share.place;
    });
    for (; live < share.replicas; ++live) {
      model::Pod& pod = pods.emplace_back();
      pod.id = {service.facts.id.name + "-" + std::to_string(++service.starts)};
      pod.node = share.place;
      pod.address = {.host = {}, .port = 0, .path = "/run/" + pod.id.name};
      service.made[pod.id.name] = now;
      changed = true;
    }
  }
  return changed;
}

void Machine::advance(model::Listener& listener, TimePoint now) {
  std::vector<RevisionId> changed;
  for (auto& [id, service] : services) {
    if (advance(service, now)) changed.push_back(id);
  }
  for (const RevisionId& id : changed) listener.on_revision(services.at(id).facts);
}

void MoverTest::add(const std::string& service, const Form& form) {
  model::Revision facts;
  facts.id = id(service, form.number);
  facts.service = form.called.empty() ? service : form.called;
  facts.annotations["autoscaling.knative.dev/min-scale"] = std::to_string(form.replicas);
  facts.initial = form.replicas;
  facts.in_service = form.in_service;
  facts.placement.clusters = form.clusters;
  facts.timeout = seconds{30};
  machine_.services[facts.id].facts = facts;
  fleet_.on_revision(facts);
}

void MoverTest::run(const std::string& service, const Form& form) {
  add(service, form);
  const Machine::Service& runs = machine_.services.at(id(service, form.number));
  ASSERT_TRUE(until([&] {
    return std::count_if(runs.facts.pods.begin(), runs.facts.pods.end(),
                         [](const model::Pod& pod) { return pod.ready; }) == form.replicas;
  }));
}

void MoverTest::want(const std::string& service, std::int32_t replicas) {
  fleet_.revisions().at(id(service))->set_bounds(replicas, replicas);
}

void MoverTest::remove(const std::string& service) {
  const RevisionId gone = id(service);
  machine_.services.erase(gone);
  mover_.forget(gone);
  fleet_.on_revision_gone(gone);
}

void MoverTest::play(Duration length) {
  const TimePoint end = clock_.now() + length;
  while (clock_.now() < end) {
    machine_.advance(fleet_, clock_.now());
    time_.run_for(kStep);
    if (++steps_ % (seconds{1} / kStep) == 0) mover_.tick();
  }
}

bool MoverTest::until(const std::function<bool()>& holds) {
  const TimePoint end = clock_.now() + minutes{20};
  while (!holds() && clock_.now() < end) play(kStep);
  return holds();
}

bool MoverTest::until_state(MoveState state) {
  return until([this, state] {
    const auto records = mover_.records();
    return !records.empty() && records.front().state == state;
  });
}

bool MoverTest::until_idle() {
  return until([this] {
    const auto records = mover_.records();
    return std::all_of(records.begin(), records.end(),
                       [](const auto& each) { return each.ended.has_value(); });
  });
}

std::string MoverTest::move(const std::vector<RevisionId>& revisions, const std::string& to) {
  const auto begun = mover_.move(revisions, to);
  return begun ? std::string{} : begun.error().what;
}

std::string MoverTest::where(const std::string& service, int number) const {
  const auto found = machine_.services.find(id(service, number));
  if (found == machine_.services.end()) return "gone";
  std::map<std::string, int> replicas;
  for (const model::Pod& pod : found->second.facts.pods) ++replicas[pod.node];
  std::string text;
  for (const auto& [place, count] : replicas) {
    text += (text.empty() ? "" : ", ") + place + " " + std::to_string(count);
  }
  return text;
}

std::string MoverTest::moves() const {
  const auto records = mover_.records();
  std::string text;
  for (auto at = records.rbegin(); at != records.rend(); ++at) {
    text += (text.empty() ? "" : ", ") + at->service + " " + std::to_string(at->replicas) + " " +
            at->from + "->" + at->to + " " + std::string{placement::name(at->state)};
    if (!at->why.empty()) text += ": " + at->why;
  }
  return text;
}

std::string MoverTest::drain_of(const std::string& place) const {
  const Mover::Drain* const drain = mover_.drain_of(place);
  if (drain == nullptr) return "open";
  if (!drain->over) return "empties";
  if (drain->remaining.empty()) return "empty";
  std::string text = "stays";
  for (const std::string& each : drain->remaining) text += " " + each;
  return text;
}

}  // namespace sluice::autoscaler
