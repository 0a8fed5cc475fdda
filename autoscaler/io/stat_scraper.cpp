#include "autoscaler/io/stat_scraper.h"

#include <utility>

namespace sluice::autoscaler {

StatScraper::StatScraper(StatSource& source, std::mt19937_64& random, Events events)
    : source_{source}, random_{random}, events_{std::move(events)} {}

void StatScraper::start(std::span<const Pod> pods, Duration stable_window, TimePoint now) {
  give_up();
  scrape_.emplace(scrape_candidates(pods, stable_window, now), random_);
  ask();
}

void StatScraper::give_up() {
  ++round_;
  questions_.clear();
  scrape_.reset();
}

void StatScraper::ask() {
  while (const auto address = scrape_->next()) {
    auto question = source_.ask(
        *address, [this, round = round_, address = *address](
                      const Result<Stat, ScrapeError>& stat) { take(round, address, stat); });
    if (question) {
      questions_.push_back(std::move(question));
    } else {
      scrape_->failed(ScrapeError::unreachable);
    }
  }
  if (questions_.empty()) scrape_.reset();  // no pod to ask: nothing is recorded, and no error
}

void StatScraper::take(std::uint64_t round, const std::string& address,
                       const Result<Stat, ScrapeError>& stat) {
  if (round != round_ || !scrape_) return;
  if (stat) {
    scrape_->succeeded(*stat);
    events_.answered(address, *stat);
  } else {
    if (stat.error() == ScrapeError::implausible) events_.flawed();
    scrape_->failed(stat.error());
  }
  ask();
  end_if_finished();
}

void StatScraper::end_if_finished() {
  if (!scrape_ || !scrape_->finished()) return;
  const ScrapeResult result = scrape_->result();
  scrape_.reset();
  const auto done = std::move(questions_);  // this answer's own among them: gone when we return
  events_.ended(result);
}

}  // namespace sluice::autoscaler
