#include "bench/replays/placement/rearrangement.h"

#include "bench/replays/placement/fleet.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

namespace sluice::replay {
namespace {

using placement::Resources;

constexpr std::int64_t kStepsMax = 20'000;

// A depth-first search for a place for every service.
class Packing {
 public:
  Packing(std::vector<ServiceDraw> services, const Resources& worker)
      : services_(std::move(services)), worker_(worker) {
    free_.fill(worker);
    // The largest and the least free to choose first.
    std::sort(services_.begin(), services_.end(),
              [&](const auto& left, const auto& right) { return key(left) < key(right); });
  }

  // What no search can solve: services that may use only some clusters need more than these have.
  [[nodiscard]] bool hopeless() const {
    for (Letters clusters = 1; clusters <= kAllLetters; ++clusters) {
      Resources need;
      for (const ServiceDraw& each : services_) {
        if ((each.letters & ~clusters & kAllLetters) == 0) need += each.need;
      }
      if (!fits(need, worker_ * std::popcount(clusters))) return true;
    }
    return false;
  }

  [[nodiscard]] bool solve() { return place_from(0); }

  [[nodiscard]] bool cut_off() const { return steps_ >= kStepsMax; }

 private:
  [[nodiscard]] std::tuple<int, std::int64_t, std::int64_t> key(const ServiceDraw& each) const {
    return {std::popcount(each.letters) == 1 ? 0 : 1, -dominant_share(each.need, worker_),
            std::popcount(each.letters)};
  }

  [[nodiscard]] bool place_from(std::size_t at) {
    if (at == services_.size()) return true;
    const ServiceDraw& service = services_[at];
    for (std::size_t cluster = 0; cluster < Fleet::kClusters; ++cluster) {
      if ((service.letters >> cluster & 1U) == 0 || !fits(service.need, free_[cluster])) continue;
      if (++steps_ >= kStepsMax) return false;
      free_[cluster] -= service.need;
      if (place_from(at + 1)) return true;
      free_[cluster] += service.need;
    }
    return false;
  }

  std::vector<ServiceDraw> services_;
  Resources worker_;
  std::array<Resources, Fleet::kClusters> free_{};
  std::int64_t steps_ = 0;
};

}  // namespace

bool Rearrangement::admit(const Application& application) {
  std::vector<ServiceDraw> all = running_;
  all.insert(all.end(), application.begin(), application.end());
  Packing packing{all, worker_of(cpu_)};
  if (packing.hopeless()) return false;
  if (packing.solve()) {
    running_ = std::move(all);
    return true;
  }
  cut_off_ += packing.cut_off() ? 1 : 0;
  return false;
}

}  // namespace sluice::replay
