#include "autoscaler/core/scrape.h"

#include "common/base/check.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::autoscaler {

std::string_view describe(ScrapeError error) {
  switch (error) {
    case ScrapeError::unreachable:
      return "no answer";
    case ScrapeError::mesh_status:
      return "status 502 or 503";
    case ScrapeError::bad_status:
      return "status is not 2xx";
    case ScrapeError::wrong_content_type:
      return "content type is not application/protobuf";
    case ScrapeError::undecodable:
      return "answer is no stat";
    case ScrapeError::implausible:
      return "stat has impossible numbers";
    case ScrapeError::list_failed:
      return "failed to list endpoints";
    case ScrapeError::did_not_receive_stat:
      return "did not receive stat from a pod not yet scraped";
    case ScrapeError::pods_exhausted:
      return "pods exhausted";
    case ScrapeError::direct_not_available:
      return "direct not available";
  }
  return "";
}

Result<std::string_view, ScrapeError> accept_answer(const ScrapeResponse& response) {
  if (response.status == 502 || response.status == 503) return ScrapeError::mesh_status;
  if (response.status < 200 || response.status > 299) return ScrapeError::bad_status;
  if (response.content_type != kStatContentType) return ScrapeError::wrong_content_type;
  return response.body.substr(0, kAnswerBytesMax);
}

DirectScrape::DirectScrape(ScrapeCandidates candidates, std::mt19937_64& random)
    : list_(std::move(candidates.old)) {
  const std::size_t population = list_.size() + candidates.young.size();
  sample_ = static_cast<std::size_t>(sample_size(static_cast<std::int32_t>(population)));
  // With too few old pods all of them are asked, and chance decides among the young. Otherwise it
  // decides among the old, and the young are there only to replace who fails.
  auto& chosen_by_chance = list_.size() < sample_ ? candidates.young : list_;
  std::shuffle(chosen_by_chance.begin(), chosen_by_chance.end(), random);
  std::move(candidates.young.begin(), candidates.young.end(), std::back_inserter(list_));
}

bool DirectScrape::wants_more() const {
  return answers_.size() + asking_ < sample_ && asked_ < list_.size();
}

std::optional<std::string> DirectScrape::next() {
  if (!wants_more()) return std::nullopt;
  ++asking_;
  return list_[asked_++];
}

void DirectScrape::succeeded(const Stat& stat) {
  CHECK(asking_ > 0);
  --asking_;
  answers_.push_back(stat);
}

void DirectScrape::failed(ScrapeError error) {
  CHECK(asking_ > 0);
  --asking_;
  if (error != ScrapeError::mesh_status) only_mesh_ = false;
}

bool DirectScrape::finished() const {
  return asking_ == 0 && !wants_more();
}

ScrapeResult DirectScrape::result() const {
  CHECK(finished());
  if (list_.empty()) return std::optional<Stat>{};
  if (answers_.size() == sample_) {
    return std::optional{scrape_average(answers_, static_cast<std::int32_t>(list_.size()))};
  }
  const bool mesh = answers_.empty() && only_mesh_;
  return mesh ? ScrapeError::direct_not_available : ScrapeError::pods_exhausted;
}

ServiceScrape::ServiceScrape(std::int32_t ready, Duration stable_window)
    : ready_(ready),
      old_after_seconds_(to_seconds(stable_window)),
      workers_(static_cast<std::size_t>(sample_size(ready))) {}

bool ServiceScrape::next(std::size_t worker) const {
  return worker < workers_.size() && !workers_[worker].ended;
}

void ServiceScrape::succeeded(std::size_t worker, const ScrapeAnswer& answer) {
  CHECK(next(worker));
  if (answer.pod.name.size() > kPodNameBytesMax) {
    failed(worker, ScrapeError::undecodable);
    return;
  }
  if (!seen_.insert(answer.pod).second) {
    failed(worker, ScrapeError::did_not_receive_stat);
    return;
  }
  // Written so that an uptime that is no number is young: such a pod is never preferred.
  if (answer.uptime_seconds >= old_after_seconds_) {
    old_.push_back(answer.stat);
    workers_[worker].ended = true;
  } else if (young_.size() < workers_.size()) {
    young_.push_back(answer.stat);
  } else {
    workers_[worker].ended = true;
  }
}

void ServiceScrape::failed(std::size_t worker, ScrapeError error) {
  CHECK(next(worker));
  Worker& tried = workers_[worker];
  if (++tried.failed_tries < kFailedTriesMax) return;
  tried.ended = true;
  tried.gave_up = error;
}

bool ServiceScrape::finished() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.ended; });
}

ScrapeResult ServiceScrape::result() const {
  CHECK(finished());
  if (workers_.empty()) return std::optional<Stat>{};
  const bool enough = old_.size() + young_.size() >= workers_.size();
  for (const Worker& worker : workers_) {
    // Another worker may have met the pods that this one looked for in vain.
    const bool excused = worker.gave_up == ScrapeError::did_not_receive_stat && enough;
    if (worker.gave_up && !excused) return *worker.gave_up;
  }
  // Without an error each worker met an old pod or a full store of young ones.
  CHECK(enough);
  std::vector<Stat> answers = old_;
  const auto fill = static_cast<std::ptrdiff_t>(workers_.size() - old_.size());
  answers.insert(answers.end(), young_.begin(), young_.begin() + fill);
  return std::optional{scrape_average(answers, ready_)};
}

}  // namespace sluice::autoscaler
