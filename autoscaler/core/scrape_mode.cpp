#include "autoscaler/core/scrape_mode.h"

namespace sluice::autoscaler {

ScrapeModes::ScrapeModes(MeshSetting mesh, bool passthrough_lb)
    : mesh_(mesh), passthrough_lb_(passthrough_lb) {}

ScrapeMode ScrapeModes::first() const {
  switch (mesh_) {
    case MeshSetting::enabled:
      return ScrapeMode::service;
    case MeshSetting::disabled:
      return ScrapeMode::direct;
    case MeshSetting::detect:
      return service_worked_ ? ScrapeMode::service : ScrapeMode::direct;
  }
  return ScrapeMode::direct;
}

bool ScrapeModes::falls_back(const ScrapeResult& direct) const {
  // One pod that answers, or fails in its own way, disproves the mesh: then the error stands.
  return mesh_ == MeshSetting::detect && !passthrough_lb_ && !direct &&
         direct.error() == ScrapeError::direct_not_available;
}

void ScrapeModes::service_ended(const ScrapeResult& service) {
  // A round without pods proves nothing.
  if (service && service->has_value()) service_worked_ = true;
}

}  // namespace sluice::autoscaler
