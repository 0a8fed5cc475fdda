#pragma once

#include "autoscaler/core/decision/collector.h"
#include "autoscaler/core/decision/pods.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// One round of asking the pods of a revision for their stats (autoscaler.md 1.4). The I/O around it
// scrapes the address of next() and reports the result; which pods are scraped, how often, and what
// the answers amount to is decided here.
namespace sluice::autoscaler {

/// Why one try, or a whole round, gave no stat.
enum class ScrapeError {
  // Of a try.
  unreachable,         ///< no connection, no answer in time, or it broke off
  mesh_status,         ///< 502 or 503, as a service mesh answers for a pod it does not let us reach
  bad_status,          ///< any other status that is not 2xx
  wrong_content_type,  ///< not kStatContentType
  undecodable,         ///< the bytes are no stat
  implausible,         ///< a stat with implausible numbers; the caller's check, not ours
  // Of a round.
  pods_exhausted,        ///< fewer pods answered than the sample needs
  direct_not_available,  ///< every pod's address answered as a mesh does
};

/// A short description of `error`, for logs and conditions.
[[nodiscard]] std::string_view describe(ScrapeError error);

/// What a round amounts to: the stat of the whole revision, to be recorded even when it is all
/// zeros; nothing when there was no pod to scrape; or why there is none.
using ScrapeResult = Result<std::optional<Stat>, ScrapeError>;

inline constexpr std::string_view kStatContentType = "application/protobuf";

/// Most bytes read of an answer: six numbers, a pod name of 256 bytes, and their tags.
inline constexpr std::size_t kAnswerBytesMax = 6 * 10 + 256 + 20;

/// An HTTP answer to a scrape, borrowed for one call.
struct ScrapeResponse {
  int status = 0;
  std::string_view content_type;  ///< as sent, parameters and all; only the exact type will do
  std::string_view body;
};

/// The bytes to decode, cut at kAnswerBytesMax so that what is longer fails to decode.
[[nodiscard]] Result<std::string_view, ScrapeError> accept_answer(const ScrapeResponse& response);

/// A round of scrapes of pods at their own addresses.
///
/// At most a sample of them is scraped at a time. A pod that fails is replaced by the next in the
/// list, old ones before young ones, until the sample is full or the list is at its end.
class DirectScrape {
 public:
  /// Shuffles, with `random`, the part of the list that is not scraped as a whole.
  DirectScrape(ScrapeCandidates candidates, std::mt19937_64& random);

  /// The address to scrape now; absent while enough are being scraped and when none is left.
  [[nodiscard]] std::optional<std::string> next();

  /// The result of one scrape. The caller has made sure that the numbers of `stat` are sane.
  void succeeded(const Stat& stat);
  void failed(ScrapeError error);

  [[nodiscard]] bool finished() const;

  /// Once finished.
  [[nodiscard]] ScrapeResult result() const;

 private:
  [[nodiscard]] bool wants_more() const;

  std::vector<std::string> list_;
  std::size_t sample_ = 0;
  std::size_t asked_ = 0;   // the counter all workers share: how far in the list they are
  std::size_t asking_ = 0;  // sent and not yet answered
  std::vector<Stat> answers_;
  bool only_mesh_ = true;  // no failure but those of a mesh
};

}  // namespace sluice::autoscaler
