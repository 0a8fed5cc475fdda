#include "load/io/engine_watches.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sluice::loadgen {

EngineWatches::EngineWatches(boost::asio::io_context& loop, const Clock& clock,
                             const std::vector<TargetPlan>& targets,
                             const std::vector<std::string>& addresses) {
  using Address = std::pair<std::string, std::uint16_t>;
  std::map<Address, std::size_t> known;
  std::vector<std::pair<Address, std::vector<Target>>> groups;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].target.tls) {
      places_.emplace_back();
      continue;
    }
    const Address address{addresses.at(i), targets[i].target.port};
    const auto [found, is_new] = known.emplace(address, groups.size());
    if (is_new) groups.push_back({address, {}});
    std::vector<Target>& group = groups[found->second].second;
    places_.emplace_back(Place{found->second, group.size()});
    group.push_back(targets[i].target);
  }
  for (auto& [address, group] : groups) {
    EngineApi api = engine_beside(group.front(), address.first);
    watches_.emplace_back(loop, clock, std::move(group), std::move(api));
  }
}

EngineWatches::EngineWatches(boost::asio::io_context& loop, const Clock& clock,
                             const std::vector<TargetPlan>& targets,
                             const std::optional<EngineApi>& api) {
  if (!api) {
    places_.resize(targets.size());
    return;
  }
  std::vector<Target> all;
  for (const TargetPlan& target : targets) {
    places_.emplace_back(Place{0, all.size()});
    all.push_back(target.target);
  }
  watches_.emplace_back(loop, clock, std::move(all), *api);
}

void EngineWatches::start(std::function<void()> ready) {
  waiting_ = watches_.size();
  if (waiting_ == 0) ready();
  for (EngineWatch& watch : watches_) {
    watch.start([this, ready] {
      if (--waiting_ == 0) ready();
    });
  }
}

void EngineWatches::begin(TimePoint run_began) {
  for (EngineWatch& watch : watches_) watch.begin(run_began);
}

void EngineWatches::on_change(const std::function<void()>& changed) {
  for (EngineWatch& watch : watches_) watch.on_change(changed);
}

void EngineWatches::stop(std::function<void()> closed) {
  waiting_ = watches_.size();
  if (waiting_ == 0) closed();
  for (EngineWatch& watch : watches_) {
    watch.stop([this, closed] {
      if (--waiting_ == 0) closed();
    });
  }
}

std::vector<ReplicaTrack> EngineWatches::tracks() const {
  std::vector<ReplicaTrack> out;
  for (const std::optional<Place>& place : places_) {
    out.push_back(place ? watches_[place->watch].tracks()[place->target] : ReplicaTrack{});
  }
  return out;
}

bool EngineWatches::any_joined() const {
  return std::any_of(watches_.begin(), watches_.end(), [](const EngineWatch& watch) {
    return std::any_of(watch.tracks().begin(), watch.tracks().end(),
                       [](const ReplicaTrack& track) { return track.joined(); });
  });
}

bool EngineWatches::none_ready() const {
  return std::all_of(watches_.begin(), watches_.end(), [](const EngineWatch& watch) {
    return std::all_of(watch.tracks().begin(), watch.tracks().end(),
                       [](const ReplicaTrack& track) { return track.ready_now() == 0; });
  });
}

}  // namespace sluice::loadgen
