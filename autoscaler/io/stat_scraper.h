#pragma once

#include "autoscaler/core/decision/scrape.h"
#include "autoscaler/io/stat_source.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Asks the sidecars of one revision for their stats, round after round, each pod by its own
/// address (autoscaler.md 1.4, direct mode). Belongs to one thread.
class StatScraper {
 public:
  struct Events {
    /// The round is over; the scraper may be destroyed in it.
    std::function<void(const ScrapeResult&)> ended;
    /// One pod answered.
    std::function<void(const std::string& address, const Stat&)> answered;
    /// One pod's figures cannot be; the answer is dropped.
    std::function<void()> flawed;
  };

  /// `source` and `random` outlive this and may be shared.
  StatScraper(StatSource& source, std::mt19937_64& random, Events events);

  /// Begins a round; an unfinished one is dropped without a report. Addresses of `pods` are
  /// `host:port` or `unix:/path`. No result is reported before this returns.
  void start(std::span<const Pod> pods, Duration stable_window, TimePoint now);

  /// Ends a running round, if any, without a report. Not to be called from an event.
  void give_up();

  /// Whether a round is running.
  [[nodiscard]] bool busy() const { return scrape_.has_value(); }

 private:
  void ask();
  void take(std::uint64_t round, const std::string& address, const Result<Stat, ScrapeError>& stat);
  void end_if_finished();

  StatSource& source_;
  std::mt19937_64& random_;
  Events events_;
  std::uint64_t round_ = 0;
  std::optional<DirectScrape> scrape_;
  std::vector<std::unique_ptr<StatSource::Question>> questions_;
};

}  // namespace sluice::autoscaler
