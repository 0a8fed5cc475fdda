// Revisions, their pods and what may wait for them: what others tell the gateway.

#include "activator/io/front_state.h"

#include <algorithm>

namespace sluice::activator {

namespace {

// Whole seconds, at least one: a fraction must not become 0.
int retry_after_s(Duration wait) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(wait).count();
  return static_cast<int>(std::clamp<std::int64_t>(whole, 1, 24 * 3600));
}

}  // namespace

FrontGateway::FrontGateway(boost::asio::io_context& io, Loop& clock, Router& router,
                           FrontOwner& owner, const FrontSpec& spec)
    : io_{io},
      clock_{clock},
      router_{router},
      owner_{owner},
      spec_{spec},
      budget_{spec.queues},
      idle_{.most = spec.idle_max},
      due_{clock, [this](std::size_t index, TimePoint now) { on_due(*revisions_[index], now); }} {
  spec_.pods.shared = &idle_;
}

FrontGateway::~FrontGateway() = default;

FrontGateway::Revision& FrontGateway::at(RevisionHandle revision) {
  const std::size_t index = index_of(revision);
  CHECK(index < revisions_.size() && revisions_[index] != nullptr);
  CHECK(revisions_[index]->handle == revision);
  return *revisions_[index];
}

const FrontGateway::Revision& FrontGateway::at(RevisionHandle revision) const {
  const std::size_t index = index_of(revision);
  CHECK(index < revisions_.size() && revisions_[index] != nullptr);
  CHECK(revisions_[index]->handle == revision);
  return *revisions_[index];
}

RevisionHandle FrontGateway::add(const FrontRevision& revision) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(revisions_.size());
    revisions_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  const RevisionHandle handle{std::uint64_t{next_generation_++} << 32U | index};
  revisions_[index] = std::make_unique<Revision>(handle, revision, reporter_.open(revision.id));
  return handle;
}

void FrontGateway::remove(RevisionHandle handle, const http::OwnResponse& waiting) {
  Revision& revision = at(handle);
  set_pods(handle, {});
  revision.removed = true;
  ++unswept_;
  // An answer lets the next request of its connection in, while the revision still has its names.
  while (revision.throttler.waiting() > 0) {
    std::vector<Dismissal> dismissed;
    revision.throttler.fail_all(dismissed);
    dismiss(dismissed, waiting);
  }
  schedule(revision);
  reporter_.close(revision.reporter);
  sweep();
}

void FrontGateway::set_pods(RevisionHandle handle, std::span<const FrontPod> pods) {
  Revision& revision = at(handle);
  std::vector<PodState> states;
  states.reserve(pods.size());
  for (auto& [id, pod] : revision.pods) pod->removed = true;
  for (const FrontPod& wanted : pods) {
    states.push_back({wanted.id, wanted.avoid, 0});
    know_pod(handle, wanted);
    revision.pods.at(wanted.id)->removed = false;
  }
  std::vector<Admission> admitted;
  revision.throttler.set_pods(states, admitted);
  dispatch(revision, admitted);
  schedule(revision);
  for (auto next = revision.pods.begin(); next != revision.pods.end();) {
    if (!next->second->removed) {
      ++next;
      continue;
    }
    retire(revision, std::move(next->second));
    next = revision.pods.erase(next);
  }
  turn_away_without_pods(revision);
}

net::UpstreamPool& FrontGateway::know_pod(RevisionHandle handle, const FrontPod& pod) {
  auto& known = at(handle).pods[pod.id];
  if (!known) {
    known = std::make_unique<Pod>(io_, pod, spec_.pods);
    known->held = held_.contains(pod.id);
  }
  return known->pool;
}

void FrontGateway::hold_pod(const PodId& id, bool held) {
  if (held) {
    held_.insert(id);
  } else {
    held_.erase(id);
  }
  for (const auto& revision : revisions_) {
    if (revision == nullptr) continue;
    const auto found = revision->pods.find(id);
    if (found != revision->pods.end()) found->second->held = held;
  }
}

net::UpstreamPool* FrontGateway::pool_of(RevisionHandle handle, const PodId& id) {
  Revision& revision = at(handle);
  const auto found = revision.pods.find(id);
  return found == revision.pods.end() ? nullptr : &found->second->pool;
}

void FrontGateway::list_pod(RevisionHandle handle, const PodId& id, bool avoid,
                            std::int32_t capacity) {
  Revision& revision = at(handle);
  CHECK(revision.pods.contains(id));
  std::vector<Admission> admitted;
  revision.throttler.update_pod({id, avoid, capacity}, admitted);
  dispatch(revision, admitted);
  schedule(revision);
}

void FrontGateway::unlist_pod(RevisionHandle handle, const PodId& id) {
  Revision& revision = at(handle);
  std::vector<Admission> admitted;
  (void)revision.throttler.remove_pod(id, admitted);
  dispatch(revision, admitted);
  schedule(revision);
  turn_away_without_pods(revision);
}

// No pod is started for ignored requests: without a pod they would wait without effect.
void FrontGateway::turn_away_without_pods(Revision& revision) {
  if (revision.ignored_waiting.empty() || revision.throttler.pods() > 0) return;
  const TimePoint now = clock_.now();
  while (!revision.ignored_waiting.empty()) {
    net::Exchange& exchange = *revision.ignored_waiting.back();
    State& state = state_of(exchange);
    revision.throttler.cancel(state.ticket);
    leave_queue(exchange, state, now);
    turn_away(exchange);
  }
  schedule(revision);
}

// Also when none waits: a request that tried it may still be on its way back.
void FrontGateway::trust_pod(RevisionHandle handle, const PodId& id) {
  Revision& revision = at(handle);
  std::vector<Admission> admitted;
  (void)revision.throttler.renew_pod(id, admitted);
  dispatch(revision, admitted);
}

void FrontGateway::forget_pod(RevisionHandle handle, const PodId& id) {
  unlist_pod(handle, id);
  Revision& revision = at(handle);
  const auto found = revision.pods.find(id);
  if (found == revision.pods.end()) return;
  found->second->removed = true;
  retire(revision, std::move(found->second));
  revision.pods.erase(found);
}

void FrontGateway::retire(Revision& revision, std::unique_ptr<Pod> pod) {
  pod->pool.close();
  revision.leaving.push_back(std::move(pod));
  ++unswept_;
}

void FrontGateway::set_timeouts(RevisionHandle revision, const net::Timeouts& timeouts) {
  at(revision).timeouts = timeouts;
}

void FrontGateway::set_pod_limit(RevisionHandle revision, std::int32_t container_concurrency) {
  at(revision).throttler.set_pod_limit(container_concurrency);
}

void FrontGateway::set_ignore(RevisionHandle revision, std::shared_ptr<const ignore::Rules> rules) {
  at(revision).ignore = std::move(rules);
}

void FrontGateway::set_grant(RevisionHandle handle, const FrontGrant& grant) {
  Revision& revision = at(handle);
  if (revision.grant) {
    *revision.grant = grant;
  } else {
    revision.grant = std::make_unique<FrontGrant>(grant);
  }
  if (grant.none_wanted) reporter_.expect(revision.reporter);
  std::vector<Dismissal> dismissed;
  revision.throttler.set_grant(grant.grant, dismissed);
  if (!dismissed.empty()) {
    dismiss(dismissed, refusal_of(revision, Error::cannot_scale, grant.grant.retry_after));
  }
  schedule(revision);
}

http::OwnResponse FrontGateway::refusal_of(const Revision& revision, Error error,
                                           Duration retry_after) const {
  std::string detail;
  std::string facts;
  if (error == Error::cannot_scale && revision.grant) {
    error = revision.grant->error;
    if (!revision.grant->detail.empty()) detail = revision.grant->detail + "\n";
    if (!revision.grant->reason.empty()) facts = "reason=" + revision.grant->reason;
  }
  http::OwnResponse response = http::response_for(error, detail, facts);
  response.retry_after_s = retry_after_s(retry_after);
  return response;
}

void FrontGateway::refuse_waiting() {
  for (const auto& revision : revisions_) {
    if (revision == nullptr || revision->throttler.waiting() == 0) continue;
    std::vector<Dismissal> dismissed;
    revision->throttler.fail_all(dismissed);
    dismiss(dismissed, http::response_for(Error::draining));
    schedule(*revision);
  }
}

std::optional<FrontGateway::Busy> FrontGateway::busy_of(const Revision* revision) const {
  if (revision == nullptr || revision->requests == 0 || revision->removed) return std::nullopt;
  return Busy{.revision = revision->handle,
              .id = revision->id,
              .waiting = waiting(revision->handle),
              .running = revision->throttler.in_flight(),
              .oldest = revision->throttler.oldest_waiting()};
}

const RevisionId& FrontGateway::id_of(RevisionHandle revision) const {
  return at(revision).id;
}

std::int32_t FrontGateway::waiting(RevisionHandle revision) const {
  const Revision& own = at(revision);
  return own.throttler.waiting() - static_cast<std::int32_t>(own.ignored_waiting.size());
}

std::optional<TimePoint> FrontGateway::oldest_waiting(RevisionHandle revision) const {
  return at(revision).throttler.oldest_waiting();
}

std::int64_t FrontGateway::in_flight(RevisionHandle revision) const {
  return at(revision).throttler.in_flight();
}

std::size_t FrontGateway::pods(RevisionHandle revision) const {
  return at(revision).throttler.pods();
}

std::uint64_t FrontGateway::sent(RevisionHandle handle, const PodId& id) const {
  const Revision& revision = at(handle);
  const auto found = revision.pods.find(id);
  return found == revision.pods.end() ? 0 : found->second->sent;
}

std::uint32_t FrontGateway::in_flight(RevisionHandle handle, const PodId& id) const {
  const Revision& revision = at(handle);
  if (const auto found = revision.pods.find(id); found != revision.pods.end()) {
    return found->second->in_flight;
  }
  for (const auto& pod : revision.leaving) {
    if (pod->id == id && pod->in_flight > 0) return pod->in_flight;
  }
  return 0;
}

std::uint64_t FrontGateway::moved(RevisionHandle handle, const PodId& id) const {
  std::uint64_t bytes = 0;
  const auto add = [&bytes](const Pod& pod) {
    for (net::Exchange* each = pod.first; each != nullptr; each = state_of(*each).after) {
      bytes += each->moved();
    }
  };
  const Revision& revision = at(handle);
  if (const auto found = revision.pods.find(id); found != revision.pods.end()) add(*found->second);
  for (const auto& pod : revision.leaving) {
    if (pod->id == id) add(*pod);
  }
  return bytes;
}

void FrontGateway::sweep() {
  if (unswept_ == 0) return;
  for (std::size_t index = 0; index < revisions_.size(); ++index) {
    if (revisions_[index] == nullptr) continue;
    Revision& revision = *revisions_[index];
    unswept_ -= std::erase_if(revision.leaving, [&revision](const std::unique_ptr<Pod>& pod) {
      if (pod->in_flight > 0 || !pod->pool.at_rest()) return false;
      for (auto& [ref, cached] : revision.by_slot) {
        if (cached == pod.get()) cached = nullptr;
      }
      return true;
    });
    if (!revision.removed || revision.requests > 0 || !revision.leaving.empty()) continue;
    due_.set(index, std::nullopt);
    revisions_[index].reset();
    free_.push_back(static_cast<std::uint32_t>(index));
    --unswept_;
  }
}

// The throttler's two timers in one: code that changes a revision says so here.
void FrontGateway::schedule(Revision& revision) {
  std::optional<TimePoint> due = revision.throttler.next_expiry();
  if (const auto resume = revision.throttler.next_resume(); resume && (!due || *resume < *due)) {
    due = resume;
  }
  due_.set(index_of(revision.handle), due);
}

void FrontGateway::on_due(Revision& revision, TimePoint now) {
  while (const auto expired = revision.throttler.expire(now)) {
    dismiss({*expired}, http::response_for(Error::queue_wait));
  }
  std::vector<Admission> admitted;
  revision.throttler.resume(now, admitted);
  dispatch(revision, admitted);
  schedule(revision);
}

}  // namespace sluice::activator
