#pragma once

#include "autoscaler/core/scrape.h"

namespace sluice::autoscaler {

/// Whether a service mesh stands between us and the pods' own addresses.
enum class MeshSetting {
  detect,  ///< "auto": find out
  enabled,
  disabled,
};

/// By the pods' own addresses, or through the private service.
enum class ScrapeMode { direct, service };

/// How one revision is scraped (autoscaler.md 1.4, "Mesh setting"). A round begins in first(); when
/// that was direct and falls_back() says so, a service round follows within the same round. Made
/// anew whenever the metric is reconciled, which also forgets that direct mode did not work.
class ScrapeModes {
 public:
  /// With `passthrough_lb` the load balancer brings us to a named pod even through a mesh, so the
  /// detection never resorts to the service.
  ScrapeModes(MeshSetting mesh, bool passthrough_lb);

  [[nodiscard]] ScrapeMode first() const;

  /// Whether the service is tried after a direct round that ended in `direct`.
  [[nodiscard]] bool falls_back(const ScrapeResult& direct) const;

  /// What the service round gave: one that brought a stat is remembered, and the pods' own
  /// addresses are not tried again.
  void service_ended(const ScrapeResult& service);

 private:
  MeshSetting mesh_;
  bool passthrough_lb_;
  bool service_worked_ = false;
};

}  // namespace sluice::autoscaler
