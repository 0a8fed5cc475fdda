#include "load/core/tally.h"

#include <algorithm>

namespace sluice::loadgen {

bool is_error(const Outcome& outcome) {
  return outcome.ending != Ending::answered || outcome.status >= 500;
}

void Tally::sent(Duration planned, Duration taken) {
  if (planned < warmup_) {
    ++warmup_sent_;
    return;
  }
  ++sent_;
  lag_.record(taken - planned);
  last_planned_ = std::max(last_planned_, planned);
  last_taken_ = std::max(last_taken_, taken);
}

void Tally::finished(const Outcome& outcome) {
  last_end_ = std::max(last_end_, outcome.done);
  if (outcome.planned < warmup_) return;
  ++endings_[static_cast<std::size_t>(outcome.ending)];
  bytes_ += outcome.bytes;
  if (outcome.grpc) ++grpc_statuses_[std::min(*outcome.grpc, kGrpcStatusMax)];
  if (has_latency(outcome.ending)) {
    latency_.record(outcome.done - outcome.planned);
    service_.record(outcome.done - outcome.taken);
  }
  if (outcome.ending != Ending::answered) return;
  if (outcome.status > 0) ++statuses_[std::min(outcome.status, 999U)];
  if (outcome.refused) ++refused_;
  if (outcome.status >= 500) ++server_errors_;
}

template <class Kind>
std::uint64_t Tally::sum_of(const Kind& is_kind) const {
  std::uint64_t sum = 0;
  for (const Ending ending : kEndings) sum += is_kind(ending) ? ended(ending) : 0;
  return sum;
}

void Tally::add(const Tally& other) {
  sent_ += other.sent_;
  warmup_sent_ += other.warmup_sent_;
  unsent_ += other.unsent_;
  refused_ += other.refused_;
  server_errors_ += other.server_errors_;
  bytes_ += other.bytes_;
  for (std::size_t i = 0; i < endings_.size(); ++i) endings_[i] += other.endings_[i];
  for (const auto& [status, count] : other.statuses_) statuses_[status] += count;
  for (const auto& [status, count] : other.grpc_statuses_) grpc_statuses_[status] += count;
  latency_.add(other.latency_);
  service_.add(other.service_);
  lag_.add(other.lag_);
  connecting_.add(other.connecting_);
  last_planned_ = std::max(last_planned_, other.last_planned_);
  last_taken_ = std::max(last_taken_, other.last_taken_);
  last_end_ = std::max(last_end_, other.last_end_);
}

void Tally::connected(Duration planned, Duration taken) {
  if (planned >= warmup_) connecting_.record(taken);
}

std::uint64_t Tally::cut() const {
  return sent_ - sum_of([](Ending) { return true; });
}

std::uint64_t Tally::errors() const {
  return sum_of([](Ending ending) { return ending != Ending::answered; }) + server_errors_ +
         unsent_;
}

std::uint64_t Tally::unconnected() const {
  return sum_of(is_unconnected);
}

std::uint64_t Tally::timeouts() const {
  return sum_of(timed_out);
}

std::uint64_t Tally::lost() const {
  return sum_of(
      [](Ending ending) { return ending != Ending::answered && !is_unconnected(ending); });
}

std::uint64_t Tally::answers(unsigned status) const {
  const auto found = statuses_.find(status);
  return found == statuses_.end() ? 0 : found->second;
}

std::uint64_t Tally::non_2xx() const {
  std::uint64_t count = 0;
  for (const auto& [status, answers] : statuses_) {
    if (status < 200 || status > 299) count += answers;
  }
  return count;
}

double Tally::error_rate() const {
  const std::uint64_t due = sent_ + unsent_;
  return due == 0 ? 0 : static_cast<double>(errors()) / static_cast<double>(due);
}

}  // namespace sluice::loadgen
