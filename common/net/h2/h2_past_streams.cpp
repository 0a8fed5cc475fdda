#include "common/net/h2/h2_past_streams.h"

#include <algorithm>

namespace sluice::net {

void H2PastStreams::opened(std::int32_t stream) {
  if (stream <= highest_) return;
  if (stream > highest_ + 2) {
    gaps_[next_gap_] = {highest_ + 2, stream - 2};
    next_gap_ = (next_gap_ + 1) % kGapsMax;
  }
  highest_ = stream;
}

void H2PastStreams::ended(std::int32_t stream, bool by_reset) {
  highest_ = std::max(highest_, stream);  // the stream of an upgrade has no HEADERS frame
  ended_[next_ended_] = {stream, by_reset};
  next_ended_ = (next_ended_ + 1) % kEndedMax;
}

H2PastStreams::Verdict H2PastStreams::look(std::int32_t stream) const {
  if (stream > highest_) return Verdict::unknown;  // new, as nearly every one is
  const auto gap = std::find_if(gaps_.begin(), gaps_.end(), [stream](const Gap& one) {
    return stream >= one.first && stream <= one.last;
  });
  if (gap != gaps_.end()) return Verdict::never_opened;
  // The newest of several counts.
  for (std::size_t back = 1; back <= kEndedMax; ++back) {
    const Ended& one = ended_[(next_ended_ + kEndedMax - back) % kEndedMax];
    if (one.stream != stream) continue;
    return one.by_reset ? Verdict::behind_reset : Verdict::behind_end;
  }
  return Verdict::unknown;
}

}  // namespace sluice::net
