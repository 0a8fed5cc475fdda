#include "common/kube/client_inner.h"
#include "common/kube/request_text.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

// One request on one connection, and what its answer means.
namespace sluice::kube {
namespace {

constexpr Duration kRetryAfter = std::chrono::seconds{1};

bool is_success(int status) {
  return status >= 200 && status < 300;
}

Failure garbled(std::string message) {
  return {.kind = Failure::Kind::garbled, .message = std::move(message)};
}

}  // namespace

void Client::Inner::dispatch(const StatePtr& state, TimePoint now) {
  auto text = request_text(access, bearer.token(now), state->request);
  if (!text) {
    const std::string why = "not sent: invalid path";
    if (!state->is_stream) {
      end(state, garbled(why));
      return;
    }
    end_stream_later(state, why);
    return;
  }
  ++counts.requests;
  if (state->request.verb != Verb::get) {
    ++(state->request.lane == Lane::free ? counts.renewals : counts.writes);
  }
  if (state->is_stream) {
    ++counts.connections;
    state->wire = std::make_shared<net::H1Client>(io, tls, net::look_up);
    net::H1Client::ask(
        state->wire, access.address, std::move(*text),
        {.head = [this, state](http::ResponseHead& head) { stream_head(state, head); },
         .body =
             [this, state](std::string_view piece) {
               set_deadline(*state, clock.now() + state->silence);
               const StreamEvents& events = state->stream;
               if (events.body) events.body(piece);
             },
         .ended = [this, state](
                      const net::H1Client::Ending& ending) { stream_ended(state, ending.why); }});
    return;
  }
  if (!state->sent && state->request.lane != Lane::free) {
    set_deadline(*state, now + state->request.timeout);
  }
  state->sent = true;
  ++busy;
  state->wire = take_wire();
  state->on_used_wire = state->wire->used();
  net::H1Client::ask(
      state->wire, access.address, std::move(*text),
      {.head =
           [state](http::ResponseHead& head) {
             state->status = head.status;
             state->retry_after = head.fields.get(http::Known::retry_after);
           },
       .body =
           [this, state](std::string_view piece) {
             state->body.append(piece);
             if (state->body.size() <= options.body_max) return;
             end(state, garbled("its answer is larger than " + std::to_string(options.body_max) +
                                " bytes"));
             pump();
           },
       .ended = [this,
                 state](const net::H1Client::Ending& ending) { exchange_ended(state, ending); }});
}

std::shared_ptr<net::H1Client> Client::Inner::take_wire() {
  if (!idle.empty()) {
    std::shared_ptr<net::H1Client> wire = std::move(idle.back());
    idle.pop_back();
    return wire;
  }
  ++counts.connections;
  return std::make_shared<net::H1Client>(io, tls, net::look_up);
}

void Client::Inner::keep_wire(std::shared_ptr<net::H1Client> wire) {
  if (!wire->reusable() || idle.size() >= options.connections_max) {
    wire->close();
    return;
  }
  // Known by its place in memory: the list holds it for as long as it rests.
  net::H1Client* const mine = wire.get();
  idle.push_back(wire);
  net::H1Client::rest(wire, [this, mine] {
    const auto found = std::find_if(idle.begin(), idle.end(),
                                    [mine](const auto& each) { return each.get() == mine; });
    if (found == idle.end()) return;
    const std::shared_ptr<net::H1Client> lost = *found;
    idle.erase(found);
    lost->close();
  });
}

void Client::Inner::exchange_ended(const StatePtr& state, const net::H1Client::Ending& ending) {
  using Kind = net::H1Client::Ending::Kind;
  --busy;
  std::shared_ptr<net::H1Client> wire = std::exchange(state->wire, nullptr);
  if (ending.kind == Kind::whole) {
    keep_wire(std::move(wire));
    answered(state);
  } else if (ending.kind == Kind::silent && state->on_used_wire && !state->repeated &&
             (ending.untouched || is_repeatable(state->request.verb))) {
    // The server closed a connection that rested, just as we used it; others may be as stale.
    for (const auto& each : idle) each->close();
    idle.clear();
    state->repeated = true;
    requeue(state);
  } else {
    const bool is_garbled = ending.kind == Kind::garbled;
    end(state, Failure{.kind = is_garbled ? Failure::Kind::garbled : Failure::Kind::unreachable,
                       .message = ending.why});
  }
  pump();
}

void Client::Inner::answered(const StatePtr& state) {
  if (is_success(state->status)) {
    if (begins_as_json(state->body)) {
      end(state, std::move(state->body));
    } else {
      end(state, garbled("its answer is not a JSON object"));
    }
    return;
  }
  Failure failure = refusal(state->status, state->retry_after, state->body);
  if (state->status == 401 && !state->reauthorized && bearer.refused()) {
    state->reauthorized = true;
    requeue(state);
  } else if (state->status == 429) {
    ++counts.throttled;
    Waiting& lane = lane_of(*state);
    const Duration wait = failure.retry_after.value_or(kRetryAfter);
    lane.paused_until = std::max(lane.paused_until, clock.now() + wait);
    state->told_to_wait = "it answered 429 until the deadline: " + failure.message;
    requeue(state);
  } else {
    end(state, std::move(failure));
  }
}

void Client::Inner::stream_head(const StatePtr& state, const http::ResponseHead& head) {
  state->status = head.status;
  if (head.status == 401) bearer.refused();
  if (head.status == 429) ++counts.throttled;
  set_deadline(*state, clock.now() + state->silence);
  arm(clock.now());
  if (state->stream.head) {
    state->stream.head(head.status, head.fields.get(http::Known::retry_after));
  }
}

// From where a frame further up the stack must not find itself without a client.
void Client::Inner::end_stream_later(const StatePtr& state, std::string why) {
  if (state->wire) state->wire->close();
  if (state->alarm != alarms.end()) alarms.erase(state->alarm);
  state->alarm = alarms.end();
  boost::asio::post(io, [this, alive = alive.watch(), state, why = std::move(why)] {
    if (!alive.over() && state->inner != nullptr) stream_ended(state, why);
  });
}

void Client::Inner::stream_ended(const StatePtr& state, const std::string& why) {
  const StreamEvents events = std::exchange(state->stream, {});
  state->pending = false;
  if (!why.empty()) ++counts.failures;
  drop(state);
  arm(clock.now());
  if (events.ended) events.ended(why);
}

}  // namespace sluice::kube
