#include "autoscaler/core/decision/scrape.h"

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
      return "answer is not a stat";
    case ScrapeError::implausible:
      return "stat has impossible numbers";
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

}  // namespace sluice::autoscaler
