#include "platform/kubernetes/io/reconciler.h"

#include "autoscaler/core/decision/serverless_service.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr Duration kStatusPace = std::chrono::seconds{1};

// What the selector left behind may be written once more by a controller that had not seen yet that
// it is gone; twice is enough, since from then on it looks away.
constexpr int kSweeps = 2;
constexpr Duration kSweepPause = std::chrono::seconds{10};

bool avoids(const ScaleOrder& order, const std::string& address) {
  return std::binary_search(order.avoid.begin(), order.avoid.end(), address);
}

bool belongs(const kube::EndpointSlice& slice, const std::string& service) {
  const auto label = slice.labels.find("kubernetes.io/service-name");
  return label != slice.labels.end() && label->second == service;
}

// Who takes traffic on that port already.
std::set<std::string> standing(const ScalerSight& sight, std::uint16_t port) {
  std::set<std::string> addresses;
  for (const auto& [name, slice] : sight.slices) {
    const bool led_there = std::any_of(slice->ports.begin(), slice->ports.end(),
                                       [port](const auto& each) { return each.port == port; });
    if (!led_there) continue;
    for (const auto& endpoint : slice->endpoints) addresses.insert(endpoint.address);
  }
  return addresses;
}

}  // namespace

// A write that is on its way, or has just been answered, is not planned twice: the scaler is looked
// at again when it lands, or when it should have shown.
bool Reconciler::write(const RevisionId& id, const std::string& object, kube::Request request,
                       std::function<void(GovernedScaler&)> done) {
  const auto governed = means_.governed.find(id);
  if (governed != means_.governed.end()) governed->second.planned.insert(object);
  const bool removal = request.verb == kube::Verb::remove;
  const bool sent =
      means_.writer.write(object, std::move(request),
                          [this, id, object, removal, done = std::move(done)](kube::Answer answer) {
                            const bool gone = removal && !answer && answer.error().status == 404;
                            if (gone) answer = std::string{};
                            landed(id, object, answer, done);
                          });
  if (!sent) means_.loop.add(id, means_.clock.now() + WriteLedger::kPatience);
  return sent;
}

void Reconciler::landed(const RevisionId& id, const std::string& object, const kube::Answer& answer,
                        const std::function<void(GovernedScaler&)>& done) {
  const auto found = means_.governed.find(id);
  if (found == means_.governed.end()) return;
  GovernedScaler& governed = found->second;
  if (answer) {
    governed.refused.erase(object);
    governed.failing.erase(object);
    if (governed.failing.empty()) means_.loop.succeeded(id);
    if (done) done(governed);
    means_.loop.add(id);
    return;
  }
  using Kind = kube::Failure::Kind;
  const kube::Failure& failure = answer.error();
  if (failure.kind == Kind::superseded) return;
  ++failures_;
  const bool first = governed.failing.insert(object).second;
  if (failure.kind == Kind::refused && failure.status == 403) {
    governed.refused.insert_or_assign(object, failure.message);
  }
  if (first) {
    means_.log.write(
        log::Severity::warning, "a write failed and is tried again",
        {{"revision", id.space + "/" + id.name}, {"object", object}, {"problem", failure.text()}});
  }
  means_.loop.failed(id);
}

// A write that is no longer wanted, of a pod that is gone or stays after all, blocks nothing.
void Reconciler::forget_unplanned(const RevisionId& id, GovernedScaler& governed) {
  std::erase_if(governed.refused,
                [&](const auto& each) { return !governed.planned.contains(each.first); });
  const auto forgotten = std::erase_if(
      governed.failing, [&](const auto& object) { return !governed.planned.contains(object); });
  if (forgotten > 0 && governed.failing.empty()) means_.loop.succeeded(id);
}

void Reconciler::event(const ScalerRef& scaler, bool warning, std::string reason,
                       std::string message) {
  ScalerEvent event;
  event.scaler = scaler.id;
  event.uid = scaler.uid;
  event.warning = warning;
  event.reason = std::move(reason);
  event.message = std::move(message);
  means_.events.add(std::move(event), means_.clock.now());
  if (const auto due = means_.events.next_due()) means_.loop.wake(*due);
}

void Reconciler::reconcile(const ScalerSight& sight, GovernedScaler& governed) {
  ConditionView view;
  view.scaler = sight.scaler;
  governed.planned = {scaler_path(sight.id) + "/status"};  // comes last, and tells of the others
  view.service = route(sight, governed);
  if (!sight.scaler->terminating) scale(sight, governed);
  forget_unplanned(sight.id, governed);
  if (sight.scaler->terminating) return;
  tell_events(sight, governed);
  view.target = sight.target_trouble;
  view.conflict = sight.conflict;
  view.sidecar = sidecar_trouble(sight);
  view.settings = settings_trouble(sight, means_.config);
  view.paused = sight.target != nullptr && sight.target->paused;
  view.pods = !sight.pods.empty();
  if (governed.order) view.report = governed.order->report;
  view.access = means_.view.trouble();
  if (!governed.refused.empty()) {
    view.access = refused_write(governed.refused.begin()->second);
  }
  write_status(sight, governed, view);
}

void Reconciler::tell_trouble(const ScalerSight& sight, GovernedScaler& governed) {
  ConditionView view;
  view.scaler = sight.scaler;
  view.access = means_.view.trouble();
  if (view.access) write_status(sight, governed, view);
}

// --- where requests go ---

Route Reconciler::route_of(const ScalerSight& sight, const GovernedScaler& governed,
                           std::uint16_t port) const {
  ServerlessView view;
  view.name = sight.id.name;
  if (governed.order) {
    view.mode = governed.order->route_mode;
    view.activators = governed.order->activators;
  }
  for (const model::Pod& pod : watched(sight).pods) {
    if (!pod.ready || pod.terminating || !pod.address) continue;
    std::string address = pod.address->text();
    if (governed.order && avoids(*governed.order, address)) continue;
    view.pods.push_back(std::move(address));
  }
  view.all_activators = means_.probes.proven(sight.id);
  ServerlessPlan plan = plan_serverless(std::move(view), means_.clock.now());
  return {.mode = plan.mode, .addresses = std::move(plan.addresses), .activator_port = port};
}

// Since when its requests go through activators, as far as that is proven: the slices exist, and an
// activator is in them.
void Reconciler::follow_proxy(GovernedScaler& governed, bool wanted, bool stands) {
  if (!wanted) {
    governed.news = governed.news || governed.proxied_since.has_value();
    governed.proxied_since.reset();
  } else if (!governed.proxied_since && stands) {
    governed.proxied_since = means_.clock.now();
    governed.news = true;
  }
}

std::optional<Trouble> Reconciler::route(const ScalerSight& sight, GovernedScaler& governed) {
  const auto port = means_.ports.port_of(sight.id);
  if (port) means_.probes.set_port(sight.id, *port, standing(sight, *port));
  const Route way = route_of(sight, governed, port.value_or(0));

  SliceView slices;
  slices.prefix = sight.front_name() + "-sluice-";
  slices.present = sight.slices;
  slices.labels = slice_labels(sight.id, sight.front_name());
  slices.groups = endpoint_groups(sight, way);
  const SlicePlan slice_plan = plan_slices(slices);

  ServiceView view;
  view.id = sight.id;
  view.scaler = sight.scaler;
  view.workload = sight.target;
  view.front = sight.front;
  view.pods = sight.pods_service;
  view.original = sight.original;
  view.rival = sight.service_rival;
  view.injected_ready = sight.injected_ready();
  view.has_slices = std::any_of(sight.slices.begin(), sight.slices.end(), [&](const auto& each) {
    return belongs(*each.second, sight.front_name());
  });
  view.slices_stand = slice_plan.settled();
  view.left_behind = !sight.left_behind.empty();
  give_back(sight);
  const ServicePlan plan = plan_service(view);
  for (const ServiceStep each : plan.steps) step(each, sight, governed);

  if (!plan.routes) remove_strays(sight);
  const bool written = plan.routes && write_slices(sight, governed, slice_plan);
  const bool proxies = way.mode == RouteMode::proxy && !way.addresses.empty();
  const bool stands = written && proxies && !plan.passed_by;
  const bool asked = !governed.order || governed.order->route_mode == RouteMode::proxy || proxies;
  follow_proxy(governed, asked && plan.routes && !plan.passed_by,
               stands && sight.front != nullptr && sight.front->selector.empty());
  governed.routed = stands ? way.addresses : std::vector<std::string>{};
  governed.passed_by = plan.passed_by;
  if (governed.news) means_.loop.add(sight.id);
  if (!port) {
    return Trouble{"NoActivatorPort",
                   "all ports from 20000 to 29999 are in use by other RequestScalers",
                   "delete RequestScalers that are no longer needed"};
  }
  return plan.trouble;
}

// Slices of a Service that spec.service.name said before; else they are written for the present
// one.
void Reconciler::remove_strays(const ScalerSight& sight) {
  for (const auto& [name, slice] : sight.slices) {
    if (belongs(*slice, sight.front_name())) continue;
    const std::string path = slice_path({sight.id.space, name});
    write(sight.id, path, remove_request(path));
  }
}

// Whether they stand as they should. What is too much goes once everything else is there, and not
// any more once it is wanted again.
bool Reconciler::write_slices(const ScalerSight& sight, GovernedScaler& governed,
                              const SlicePlan& plan) {
  for (const auto& [name, slice] : sight.slices) {
    if (!plan.changes(name)) means_.writer.withdraw(slice_path({sight.id.space, name}));
  }
  for (const RoutedSlice& slice : plan.write) {
    write(sight.id, slice_path({sight.id.space, slice.name}),
          apply_slice_request(sight.ref(), sight.front_name(), slice));
  }
  for (const std::string& name : plan.remove) {
    const std::string path = slice_path({sight.id.space, name});
    governed.planned.insert(path);
    if (plan.write.empty()) write(sight.id, path, remove_request(path));
  }
  return plan.settled();
}

// Services that spec.service.name said before.
void Reconciler::give_back(const ScalerSight& sight) {
  for (const auto& [name, service] : sight.left_behind) {
    const auto original = read_original(*service);
    if (!original) continue;
    write(sight.id, service_path(name), restore_front_request(name, *service, *original));
  }
}

void Reconciler::step(ServiceStep step, const ScalerSight& sight, GovernedScaler& governed) {
  const kube::ObjectName front{sight.id.space, sight.front_name()};
  const std::string front_path = service_path(front);
  switch (step) {
    case ServiceStep::apply_pods: {
      const std::string name = pods_name(sight.id);
      write(sight.id, service_path({sight.id.space, name}),
            apply_pods_request(sight.ref(), name, pods_selector(*sight.target),
                               pods_port(*sight.scaler)));
      return;
    }
    case ServiceStep::create_front:
      write(
          sight.id, front_path,
          create_front_request(sight.ref(), front.name, front_ports(*sight.scaler, *sight.target)));
      return;
    case ServiceStep::correct_front:
      write(sight.id, front_path,
            correct_front_request(front, front_ports(*sight.scaler, *sight.target)));
      return;
    case ServiceStep::add_finalizer:
      write(sight.id, scaler_path(sight.id), finalizer_request(sight.ref(), true));
      return;
    case ServiceStep::adopt_front:
      governed.sweeps = 0;
      governed.swept.clear();
      governed.adopting = front_path;
      write(sight.id, front_path, adopt_front_request(sight.id, front.name, *sight.front));
      return;
    case ServiceStep::sweep_leftovers:
      sweep(sight, governed);
      return;
    case ServiceStep::restore_front:
      write(sight.id, front_path, restore_front_request(front, *sight.front, *sight.original));
      return;
    case ServiceStep::remove_finalizer:
      remove_finalizer(sight, governed);
      return;
  }
}

// Not while a Service may still prove to be adopted: it would not be restored.
void Reconciler::remove_finalizer(const ScalerSight& sight, const GovernedScaler& governed) {
  means_.writer.withdraw(governed.adopting);
  if (means_.writer.unseen(governed.adopting)) {
    means_.loop.add(sight.id, means_.clock.now() + WriteLedger::kPatience);
    return;
  }
  write(sight.id, scaler_path(sight.id), finalizer_request(sight.ref(), false));
}

// A write that fails, or for which there is no room, is made again with the next look.
void Reconciler::sweep(const ScalerSight& sight, GovernedScaler& governed) {
  const TimePoint now = means_.clock.now();
  if (governed.sweeps >= kSweeps) return;
  if (now < governed.sweep_due) {
    means_.loop.add(sight.id, governed.sweep_due);
    return;
  }
  const kube::ObjectName front{sight.id.space, sight.front_name()};
  bool ended = true;
  for (kube::Request& request :
       std::vector<kube::Request>{sweep_slices_request(front), sweep_endpoints_request(front)}) {
    const std::string object = request.path;
    if (governed.swept.contains(object)) continue;
    ended = false;
    write(sight.id, object, std::move(request),
          [object](GovernedScaler& of) { of.swept.insert(object); });
  }
  if (!ended) return;
  governed.swept.clear();
  ++governed.sweeps;
  governed.sweep_due = now + kSweepPause;
  means_.loop.add(sight.id, governed.sweep_due);
}

// --- how many there are ---

void Reconciler::notice_hand_edit(const ScalerSight& sight, GovernedScaler& governed) {
  const std::int32_t now = sight.target->replicas;
  const auto before = std::exchange(governed.replicas_seen, now);
  if (!before || now == *before || governed.replicas_written == now) return;
  if (now == governed.order->replicas) return;
  event(sight.ref(), true, "ReplicasPutBack",
        "another client set " + std::to_string(now) + " replicas of " + sight.scaler->target.name +
            "; " + std::to_string(governed.order->replicas) +
            " are wanted: change the RequestScaler instead");
}

void Reconciler::scale(const ScalerSight& sight, GovernedScaler& governed) {
  if (sight.target == nullptr || sight.target->terminating || sight.conflict || !governed.order) {
    means_.writer.withdraw(governed.scale_object);
    return;
  }
  // Its load is not known, so the present number is right, whichever program wrote it.
  if (governed.passed_by && !governed.order->report.paused &&
      governed.order->replicas < sight.target->replicas) {
    governed.replicas_seen = sight.target->replicas;
    means_.writer.withdraw(governed.scale_object);
    return;
  }
  notice_hand_edit(sight, governed);
  const ScalePlan plan = plan_replicas(*sight.target, scale_pods(sight), *governed.order);
  for (const ScalePlan::Cost& each : plan.costs) {
    const kube::ObjectName pod{sight.id.space, each.pod};
    write(sight.id, pod_path(pod), cost_request(pod, each.cost));
  }
  if (!plan.replicas) {
    means_.writer.withdraw(governed.scale_object);
    return;
  }
  const std::int32_t from = sight.target->replicas;
  const std::int32_t to = *plan.replicas;
  const std::string kind =
      sight.scaler->target.kind.empty() ? "Deployment" : sight.scaler->target.kind;
  const std::string path = workload_path(kind, {sight.id.space, sight.scaler->target.name});
  governed.replicas_written = to;
  const std::string why = governed.order->report.why;
  // A pending write for another target is no longer wanted.
  if (governed.scale_object != path + "/scale") means_.writer.withdraw(governed.scale_object);
  governed.scale_object = path + "/scale";
  write(sight.id, governed.scale_object, scale_request(path, sight.target->uid, from, to),
        [this, scaler = sight.ref(), from, to, why](GovernedScaler&) {
          if (to < from && to != 0) return;
          event(scaler, false, to == 0 ? "ScaledToZero" : "ScaledUp",
                "from " + std::to_string(from) + " to " + std::to_string(to) + " replicas: " + why);
        });
}

// --- what people read ---

void Reconciler::tell_events(const ScalerSight& sight, GovernedScaler& governed) {
  const std::string conflict = sight.conflict ? sight.conflict->message() : std::string{};
  if (conflict != std::exchange(governed.conflict, conflict) && !conflict.empty()) {
    event(sight.ref(), true, sight.conflict->reason, conflict);
  }
  if (!governed.order) return;
  const ScaleReport& report = governed.order->report;
  const bool overloaded = !report.cannot_scale.empty() || report.bound_by == Bound::max_scale;
  if (overloaded && !std::exchange(governed.overloaded, overloaded)) {
    event(sight.ref(), true, "Overload",
          report.cannot_scale.empty() ? "the load needs more than the maximum: " + report.why
                                      : "the nodes have no room: " + report.cannot_scale);
  }
  governed.overloaded = overloaded;
  if (!report.start_failed.empty() && report.start_failed != governed.start_failed) {
    governed.start_failed = report.start_failed;
    event(sight.ref(), true, "StartFailed", "its pods fail to start: " + report.start_failed);
  } else if (report.ready > 0) {
    governed.start_failed.clear();
  }
}

void Reconciler::write_status(const ScalerSight& sight, GovernedScaler& governed,
                              const ConditionView& view) {
  const TimePoint now = means_.clock.now();
  ScalerStatus status;
  status.values = sight.scaler->status;
  status.values.observed_generation = sight.scaler->generation;
  status.values.conditions = conditions_of(view, now);
  if (means_.view.synced()) {
    status.values.activator_port = means_.ports.port_of(sight.id).value_or(0);
  }
  if (governed.order) {
    status.values.desired = governed.order->report.desired;
    status.values.granted = governed.order->report.granted;
    status.values.ready = governed.order->report.ready;
  }
  if (sight.target != nullptr) status.selector = model::selector_text(sight.target->selector);
  if (!differs(status.values, sight.scaler->status)) {
    governed.planned.erase(scaler_path(sight.id) + "/status");
    return forget_unplanned(sight.id, governed);
  }
  const bool flips = status_of(status.values.conditions, "Ready") !=
                     status_of(sight.scaler->status.conditions, "Ready");
  if (!flips && now - governed.status_written < kStatusPace) {
    means_.loop.add(sight.id, governed.status_written + kStatusPace);
    return;
  }
  if (write(sight.id, scaler_path(sight.id) + "/status", status_request(sight.ref(), status))) {
    governed.status_written = now;
  }
}

}  // namespace sluice::autoscaler
