#include "programs/sluice/engine/service.h"

#include "common/scaling/annotations.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "platform/process/time_text.h"
#include <algorithm>
#include <cstdlib>

namespace sluice::local {
using autoscaler::Trigger;
using nlohmann::json;

namespace {

autoscaler::StringMap annotations_of(const ServiceSpec& spec) {
  return {spec.template_annotations.begin(), spec.template_annotations.end()};
}

}  // namespace

const char* name(Applied applied) {
  switch (applied) {
    case Applied::created:
      return "created";
    case Applied::configured:
      return "configured";
    case Applied::unchanged:
      return "unchanged";
  }
  return "unchanged";
}

Service::Service(Platform& platform, Changed changed, std::string url, int revisions)
    : platform_{platform},
      changed_{std::move(changed)},
      url_{std::move(url)},
      revisions_{revisions} {}

Service::~Service() {
  alive_.end();
}

Result<autoscaler::ScalingSpec, Problem> Service::check(const ServiceSpec& spec) const {
  const autoscaler::StringMap annotations = annotations_of(spec);
  const auto problems = autoscaler::check_annotations(annotations, platform_.cluster);
  if (!problems.empty()) {
    Problem problem = problems.front().problem;
    problem.what.insert(0, "service " + spec.name + ": ");
    return problem;
  }
  if (const auto program = program_of(spec); !program) return program.error();
  autoscaler::ScalingSpec scaling =
      autoscaler::resolve(platform_.cluster, annotations, spec.container_concurrency,
                          autoscaler::Reachability::reachable);
  if (spec.fixed_port) scaling.bounds.max = 1;
  return scaling;
}

Result<std::filesystem::path, Problem> Service::program_of(const ServiceSpec& spec) const {
  const char* search = std::getenv("PATH");
  return find_program(spec.command.front(), search == nullptr ? "" : search, spec.working_dir);
}

std::unique_ptr<Revision> Service::make_revision(const ServiceSpec& spec,
                                                 const autoscaler::ScalingSpec& scaling,
                                                 std::filesystem::path program,
                                                 std::optional<std::int32_t> replicas) {
  Revision::Facts facts;
  facts.name = fmt::format("{}-{:05}", spec.name, ++revisions_);
  facts.spec = spec;
  facts.scaling = scaling;
  facts.program = std::move(program);
  facts.replicas = replicas;
  return std::make_unique<Revision>(platform_, *this, *log_, std::move(facts));
}

Result<Applied, Problem> Service::apply(const ServiceSpec& spec) {
  const auto scaling = check(spec);
  if (!scaling) return scaling.error();
  const bool first = current_ == nullptr;
  const bool same_template = !first && template_hash(spec) == template_hash(spec_);
  const bool same = same_template && spec == spec_;
  spec_ = spec;
  if (same) return Applied::unchanged;
  if (same_template) {
    current_->update(spec, *scaling);
    if (next_) next_->update(spec, *scaling);
    publish("changed");
    changed_();
    return Applied::configured;
  }
  const auto program = program_of(spec);
  if (!program) return program.error();
  if (first) {
    log_ = std::make_unique<ServiceLog>(platform_.paths.logs_dir(), spec.name,
                                        [this](const std::string& text) {
                                          json event = event_json("warning", platform_.clock.now());
                                          event["service"] = spec_.name;
                                          event["message"] = text;
                                          platform_.events.publish(event);
                                        });
    current_ = make_revision(spec, *scaling, *program, std::nullopt);
    changed_();
    publish("added");
    current_->evaluate(Trigger::change);
    return Applied::created;
  }
  // As many replicas as the old one has ready, so that it can take all the traffic at once.
  const Revision::Counts now = current_->counts();
  const bool awake = now.ready + now.starting > 0;
  if (next_) {
    next_->retire();
    retiring_.push_back(std::move(next_));
  }
  next_ = make_revision(spec, *scaling, *program, awake ? std::max(1, now.ready) : 0);
  publish("changed");
  if (awake) {
    next_->scaler().wake(platform_.clock.now());
    next_->evaluate(Trigger::change);
  } else {
    take_over();
  }
  bury();
  return Applied::configured;
}

void Service::take_over() {
  current_->retire();
  retiring_.push_back(std::move(current_));
  current_ = std::move(next_);
  changed_();
  platform_.front->hand_on(retiring_.back()->handle(), current_->handle());
  bury();
}

void Service::on_revision_ready(Revision& revision) {
  if (&revision == next_.get()) take_over();
}

void Service::on_revision_failing(Revision& revision) {
  if (&revision != next_.get()) return;
  json event = event_json("error", platform_.clock.now());
  event["service"] = spec_.name;
  event["message"] =
      "revision " + revision.name() + " does not start; " + current_->name() + " keeps serving";
  event["fix"] = "see `sluice logs " + spec_.name + "`, correct the spec and apply it again";
  platform_.events.publish(event);
  next_->retire();
  retiring_.push_back(std::move(next_));
  bury();
}

void Service::on_revision_empty(Revision& revision) {
  if (revision.retired()) bury();
}

// Revisions end from within their own calls, so they are freed on the next turn of the loop.
void Service::bury() {
  if (burying_) return;
  burying_ = true;
  boost::asio::post(platform_.io, [this, alive = alive_.watch()] {
    if (alive.over()) return;
    burying_ = false;
    std::erase_if(retiring_, [](const auto& revision) { return revision->empty(); });
    if (gone_ && empty()) {
      const auto gone = std::move(gone_);
      gone();
    }
  });
}

void Service::on_revision_changed(Revision& revision) {
  if (stopping_) return;
  const auto waiting = platform_.front->waiting(revision.handle());
  const bool first_held = waiting > 0 && !held_told_ && revision.counts().ready == 0;
  held_told_ = waiting > 0;
  const std::string now = state();
  if (now == last_state_ && !first_held) return;
  last_state_ = now;
  publish(nullptr);
}

void Service::on_second() {
  if (current_) current_->on_second();
  if (next_) next_->on_second();
}

void Service::remove(std::function<void()> gone) {
  gone_ = std::move(gone);
  if (next_) {
    next_->retire();
    retiring_.push_back(std::move(next_));
  }
  current_->retire();
  bury();
}

void Service::stop_all(bool kill) {
  stopping_ = true;
  current_->stop_all(kill);
  if (next_) next_->stop_all(kill);
  for (const auto& revision : retiring_) revision->stop_all(kill);
}

bool Service::empty() const {
  return (!current_ || current_->empty()) && !next_ &&
         std::all_of(retiring_.begin(), retiring_.end(),
                     [](const auto& revision) { return revision->empty(); });
}

std::int32_t Service::replicas() const {
  std::int32_t total = 0;
  const auto add = [&total](const Revision& revision) {
    const Revision::Counts counts = revision.counts();
    total += counts.ready + counts.starting + counts.draining;
  };
  if (current_) add(*current_);
  if (next_) add(*next_);
  for (const auto& revision : retiring_) add(*revision);
  return total;
}

void Service::wake() {
  current_->scaler().wake(platform_.clock.now());
  current_->evaluate(Trigger::change);
}

void Service::sleep() {
  current_->scaler().sleep(platform_.clock.now());
  current_->evaluate(Trigger::change);
}

void Service::set_bounds(const ScaleBounds& bounds) {
  current_->scaler().set_bounds(bounds.min, bounds.max);
  current_->evaluate(Trigger::change);
}

void Service::on_served(const activator::Served& served) {
  const TimePoint now = platform_.clock.now();
  latency_.record(served.took, now);
  callers_.record(served.client, served.head.method, served.head.path(), now);
}

std::string Service::cold_start(Revision& revision, TimePoint arrived, TimePoint dispatched) {
  const auto start = revision.cold_start_for(arrived, dispatched);
  if (!start) return {};
  // Every held request gets its own header; the start itself is told once.
  if (start->born != cold_start_told_) {
    cold_start_told_ = start->born;
    last_cold_start_ = cold_start_json(*start);
    platform_.events.publish(*last_cold_start_);
    if (platform_.history != nullptr) {
      platform_.history->record_cold_start(spec_.name, start->first_byte, *last_cold_start_);
    }
  }
  return platform_.settings.cold_start_header ? cold_start_headers(*start) : std::string{};
}

const char* Service::state() const {
  if (!current_) return "asleep";
  const Revision::Counts counts = current_->counts();
  if (counts.ready > 0) return "awake";
  if (current_->failing()) return "failing";
  const bool retrying = current_->wanted() > 0;
  if (counts.starting > 0 || retrying || platform_.front->waiting(current_->handle()) > 0)
    return "starting";
  return counts.draining > 0 ? "draining" : "asleep";
}

json Service::status(bool with_replicas) const {
  const TimePoint now = platform_.clock.now();
  const autoscaler::DecisionRecord decision = current_->last_decision();
  const Revision::Counts counts = current_->counts();
  std::int32_t draining = counts.draining;
  json replicas = with_replicas ? current_->replicas_json() : json::array();
  const auto add = [&](const Revision& revision) {
    const Revision::Counts other = revision.counts();
    draining += other.draining;
    if (!with_replicas) return;
    for (auto& replica : revision.replicas_json()) replicas.push_back(std::move(replica));
  };
  if (next_) add(*next_);
  for (const auto& revision : retiring_) add(*revision);
  const std::int64_t in_flight = platform_.front->in_flight(current_->handle());
  return {{"namespace", "default"},
          {"name", spec_.name},
          {"url", url_},
          {"state", state()},
          {"revision", current_->name()},
          {"ready", counts.ready - counts.throttled},
          {"starting", counts.starting},
          {"draining", draining},
          {"desired", current_->scaler().want()},
          {"granted", decision.granted},
          {"mode", autoscaler::name(decision.mode)},
          {"mode_for_s", autoscaler::mode_for_s(decision)},
          {"route_mode", autoscaler::name(decision.route_mode)},
          {"stable", decision.stable},
          {"panic", decision.panic},
          {"target", current_->scaler().spec().decider.target_value},
          {"rps", latency_.rate(now)},
          {"queued", platform_.front->waiting(current_->handle())},
          {"in_flight", in_flight},
          {"p50_ms", latency_.quantile_ms(0.5, now)},
          {"p99_ms", latency_.quantile_ms(0.99, now)},
          {"last_cold_start_ms", last_cold_start_ ? (*last_cold_start_)["total_ms"] : json{}},
          {"failing", current_->failing()},
          {"why", current_->failing() ? current_->last_failure() : why(decision)},
          {"replicas", std::move(replicas)}};
}

json Service::explain() const {
  const autoscaler::DecisionRecord record = current_->last_decision();
  json answer = decision_json(record, spec_.name);
  answer["inputs"] = decision_inputs_json(record);
  json callers = json::array();
  for (const Callers::Entry& entry : callers_.last_minute(platform_.clock.now())) {
    callers.push_back(
        {{"client", entry.client}, {"request", entry.request}, {"count", entry.count}});
  }
  answer["keeps_awake"] = std::move(callers);
  answer["last_cold_start"] = last_cold_start_ ? *last_cold_start_ : json{};
  return answer;
}

void Service::publish(const char* what) {
  json event = status(false);
  event["type"] = "service";
  event["time"] = format_time(platform_.clock.now());
  event["service"] = spec_.name;
  if (what != nullptr) event["event"] = what;
  event.erase("replicas");
  platform_.events.publish(event);
}

}  // namespace sluice::local
