#include "load/core/tally.h"

#include <algorithm>
#include <numeric>

namespace sluice::loadgen {

void Tally::sent(Duration planned, Duration taken) {
  if (planned < warmup_) {
    ++warmup_sent_;
    return;
  }
  ++sent_;
  lag_.record(taken - planned);
  last_planned_ = std::max(last_planned_, planned);
  last_taken_ = std::max(last_taken_, taken);
  if (Second* second = second_of(planned)) ++second->sent;
}

void Tally::finished(const Outcome& outcome) {
  last_end_ = std::max(last_end_, outcome.done);
  if (outcome.planned < warmup_) return;
  ++endings_[static_cast<std::size_t>(outcome.ending)];
  bytes_ += outcome.bytes;
  const Duration latency = outcome.done - outcome.planned;
  Second* second = second_of(outcome.planned);
  if (outcome.ending == Ending::answered || outcome.ending == Ending::timeout) {
    latency_.record(latency);
    service_.record(outcome.done - outcome.taken);
    if (second != nullptr) second->max = std::max(second->max, latency);
  }
  bool error = outcome.ending != Ending::answered;
  if (outcome.ending == Ending::answered) {
    ++statuses_[std::min(outcome.status, 999U)];
    if (second != nullptr) ++second->answered;
    if (outcome.refused) ++refused_;
    if (outcome.status >= 500) {
      ++server_errors_;
      error = true;
    }
  }
  if (error && second != nullptr) ++second->errors;
}

std::uint64_t Tally::cut() const {
  return sent_ - std::accumulate(endings_.begin(), endings_.end(), std::uint64_t{0});
}

std::uint64_t Tally::errors() const {
  const std::uint64_t ended_all =
      std::accumulate(endings_.begin(), endings_.end(), std::uint64_t{0});
  return ended_all - ended(Ending::answered) + server_errors_ + unsent_;
}

std::uint64_t Tally::lost() const {
  return ended(Ending::reset) + ended(Ending::timeout) + ended(Ending::invalid);
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

Second* Tally::second_of(Duration planned) {
  if (seconds_kept_ == Seconds::left_out) return nullptr;
  const auto index = static_cast<std::size_t>(to_seconds(planned - warmup_));
  if (index >= kSecondsMax) return nullptr;
  if (index >= seconds_.size()) seconds_.resize(index + 1);
  return &seconds_[index];
}

}  // namespace sluice::loadgen
