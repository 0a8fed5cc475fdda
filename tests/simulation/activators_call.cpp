#include "tests/simulation/activators_call.h"

#include "activator/core/throttler.h"

#include <utility>

namespace sluice::simulation {

namespace {

// How long a client that leaves has waited.
constexpr Between kPatience{Duration{0}, std::chrono::seconds{4}};

}  // namespace

template <class Action>
void SimulatedCall::on_this_attempt(Duration wait, Action action) {
  place_.scene.timeline.after(wait, [this, alive = alive_.watch(), attempt = attempt_, action] {
    if (!alive.over() && !over_ && attempt == attempt_) action();
  });
}

SimulatedCall::SimulatedCall(const Place& place, Ledger::Door door, const std::string& host)
    : place_(place), door_(door), request_(place.scene.ledger.arrived(door)) {
  state_ = place.front.make_state();
  arrived_ = place.owner.now();
  head_.method = "GET";
  head_.target = "/";
  head_.fields.add("host", host);
  body_ = place.scene.timeline.happens(place.scene.world.share_with_body);
}

void SimulatedCall::begin() {
  Scene& scene = place_.scene;
  const auto later = [&](Duration wait, Ending ending, Reason reason, net::Outcome::End end) {
    scene.timeline.after(wait, [this, alive = alive_.watch(), ending, reason, end] {
      if (!alive.over() && !over_) give_up(ending, reason, end);
    });
  };
  later(scene.world.timeout, Ending::refused, Reason::timeout, net::Outcome::End::timed_out);
  if (scene.strikes(scene.world.faults.share_leaving_clients)) {
    later(scene.timeline.draw(kPatience), Ending::left, Reason::none,
          net::Outcome::End::client_gone);
  }
  place_.front.begin(*this);
}

// --- what the gateway decides ---

// The gateway has found another pod for a request that a pod refused.
void SimulatedCall::book_retry() {
  if (!std::exchange(refused_, false)) return;
  place_.scene.ledger.retried(request_, std::exchange(only_full_, false));
  dest_.clear();
}

void SimulatedCall::hold() {
  book_retry();
  place_.scene.ledger.waits(request_);
}

void SimulatedCall::forward(net::UpstreamPool& pool, const http::RequestRewrite& /*rewrite*/) {
  book_retry();
  dest_ = pool.target().text();
  ++attempt_;
  place_.scene.ledger.admitted(request_, dest_);
  on_this_attempt(place_.scene.timeline.draw(place_.scene.world.travel), [this] { reach_pod(); });
}

void SimulatedCall::respond(const http::OwnResponse& response) {
  book_retry();
  over_ = true;
  place_.scene.ledger.ended(request_, Ending::refused, reason_of(response));
  const net::Outcome outcome{
      .end = net::Outcome::End::own, .status = response.status, .error = response.error};
  // The gateway is in the middle of something.
  place_.scene.timeline.after(Duration{0}, [this, alive = alive_.watch(), outcome] {
    if (alive.over()) return;
    place_.front.end(*this, outcome);
    place_.owner.gone(request_);
  });
}

Reason SimulatedCall::reason_of(const http::OwnResponse& response) const {
  if (!response.error) return Reason::none;
  switch (*response.error) {
    case Error::queue_full:
      return !place_.scene.ledger.at_depth(door_) && place_.owner.queues_full()
                 ? Reason::queues_full
                 : Reason::queue_full;
    case Error::queue_wait:
      return Reason::queue_wait;
    case Error::cannot_scale:
      return Reason::cannot_scale;
    default:
      return Reason::none;
  }
}

// --- what pods do ---

void SimulatedCall::give_back() {
  refused_ = true;
  place_.scene.ledger.returned(request_);
}

void SimulatedCall::reach_pod() {
  Scene& scene = place_.scene;
  SimulatedPod* const pod = place_.platform.at(dest_);
  const Duration back = scene.timeline.draw(scene.world.travel);
  const bool refused = pod == nullptr || pod->gone() || pod->health() == PodHealth::starting ||
                       scene.strikes(scene.world.faults.share_refused_connects);
  if (refused) return on_this_attempt(back, [this] { unreachable(); });
  if (body_) {
    scene.ledger.body_sent(request_);
    body_sent_ = true;
  }
  pod->take(request_, [this, alive = alive_.watch(), &scene, request = request_,
                       attempt = attempt_](PodAnswer answer) {
    const Duration travel = scene.timeline.draw(scene.world.travel);
    scene.timeline.after(travel, [this, alive, &scene, request, attempt, answer] {
      if (!alive.over() && !over_ && attempt == attempt_) return answered(answer);
      // A real one is not listened to any more; the mutant has told its client again.
      if (scene.world.mutant == Mutant::answers_twice) {
        scene.ledger.ended(request, Ending::answered);
      }
    });
  });
}

void SimulatedCall::unreachable() {
  give_back();
  if (place_.front.upstream_failed(*this, {.error = Error::upstream_connect, .text = {}})) return;
  refused_ = false;
  end(Ending::refused, Reason::unreachable,
      {.end = net::Outcome::End::own, .status = 502, .error = Error::upstream_connect});
}

void SimulatedCall::answered(PodAnswer answer) {
  switch (answer) {
    case PodAnswer::answered: {
      http::ResponseHead head;
      head.status = 200;
      std::string extra;
      (void)place_.front.response(*this, head, extra);
      return end(Ending::answered, Reason::none,
                 {.end = net::Outcome::End::answered, .status = 200, .error = {}});
    }
    case PodAnswer::full:
      place_.scene.ledger.full(request_, place_.owner.now() + activator::Throttler::kFullPause);
      only_full_ = true;
      return turned_away(Reason::pod_full, "queue-full");
    case PodAnswer::draining:
      return turned_away(Reason::pod_draining, "draining");
    case PodAnswer::broken:
      return broken();
  }
}

void SimulatedCall::turned_away(Reason reason, const char* cause) {
  http::ResponseHead head;
  head.status = 503;
  head.fields.add("Sluice-Error", cause);
  std::string extra;
  give_back();
  if (place_.front.response(*this, head, extra) == net::ResponseVerdict::retried) return;
  refused_ = only_full_ = false;
  end(Ending::refused, reason, {.end = net::Outcome::End::answered, .status = 503, .error = {}});
}

// The mutant reports that the application has not begun.
void SimulatedCall::broken() {
  const bool lies = place_.scene.world.mutant == Mutant::retries_begun;
  if (lies) give_back();
  const net::ConnectFailure failure{
      .error = Error::upstream_reset, .text = {}, .unbegun = lies, .timed_out = false};
  if (place_.front.upstream_failed(*this, failure)) return;
  refused_ = false;
  end(Ending::cut, Reason::none,
      {.end = net::Outcome::End::own, .status = 502, .error = Error::upstream_reset});
}

// --- its end ---

void SimulatedCall::give_up(Ending ending, Reason reason, net::Outcome::End how) {
  if (!dest_.empty()) {
    const Duration travel = place_.scene.timeline.draw(place_.scene.world.travel);
    place_.scene.timeline.after(travel,
                                [&platform = place_.platform, dest = dest_, request = request_] {
                                  if (SimulatedPod* const pod = platform.at(dest); pod != nullptr)
                                    pod->abort(request);
                                });
  }
  end(ending, reason, {.end = how, .status = 0, .error = {}});
}

void SimulatedCall::end(Ending ending, Reason reason, const net::Outcome& outcome) {
  over_ = true;
  place_.scene.ledger.ended(request_, ending, reason);
  place_.front.end(*this, outcome);
  place_.owner.gone(request_);
}

}  // namespace sluice::simulation
