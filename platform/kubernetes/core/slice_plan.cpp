#include "platform/kubernetes/core/slice_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace sluice::autoscaler {
namespace {

using Ports = std::vector<kube::EndpointSlice::Port>;
using Addresses = std::map<std::string, RoutedEndpoint>;

// Endpoints of one address type that share their ports.
struct Kin {
  std::string type;
  Ports ports;
  Addresses left;  // not in a slice yet
};

std::optional<std::string> type_of(const std::string& address) {
  if (address.empty()) return std::nullopt;
  return address.find(':') == std::string::npos ? "IPv4" : "IPv6";
}

std::vector<Kin> kin_of(const std::vector<EndpointGroup>& groups) {
  std::vector<Kin> all;
  const auto place = [&all](const std::string& type, const Ports& ports) -> Kin& {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Kin& each) {
      return each.type == type && each.ports == ports;
    });
    if (found != all.end()) return *found;
    return all.emplace_back(Kin{type, ports, {}});
  };
  for (const EndpointGroup& group : groups) {
    for (const RoutedEndpoint& endpoint : group.endpoints) {
      const auto type = type_of(endpoint.address);
      if (type) place(*type, group.ports).left.emplace(endpoint.address, endpoint);
    }
  }
  return all;
}

bool same_place(const RoutedEndpoint& wanted, const kube::EndpointSlice::Endpoint& there) {
  return wanted.address == there.address && there.ready && there.serving && !there.terminating &&
         wanted.pod == there.target && wanted.node == there.node;
}

bool stands(const RoutedSlice& wanted, const kube::EndpointSlice& there,
            const kube::StringMap& labels) {
  const bool labelled = std::all_of(labels.begin(), labels.end(), [&there](const auto& label) {
    const auto found = there.labels.find(label.first);
    return found != there.labels.end() && found->second == label.second;
  });
  if (!labelled || wanted.address_type != there.address_type || wanted.ports != there.ports ||
      wanted.endpoints.size() != there.endpoints.size()) {
    return false;
  }
  std::map<std::string, const kube::EndpointSlice::Endpoint*> by_address;
  for (const auto& endpoint : there.endpoints) by_address.emplace(endpoint.address, &endpoint);
  return std::all_of(wanted.endpoints.begin(), wanted.endpoints.end(),
                     [&by_address](const RoutedEndpoint& endpoint) {
                       const auto found = by_address.find(endpoint.address);
                       return found != by_address.end() && same_place(endpoint, *found->second);
                     });
}

// What stays where it is.
std::vector<RoutedEndpoint> keep(Kin& kin, const kube::EndpointSlice& there) {
  std::vector<RoutedEndpoint> kept;
  for (const auto& endpoint : there.endpoints) {
    const auto found = kin.left.find(endpoint.address);
    if (found == kin.left.end() || kept.size() == kSliceEndpointsMax) continue;
    kept.push_back(found->second);
    kin.left.erase(found);
  }
  return kept;
}

void fill(RoutedSlice& slice, Kin& kin) {
  while (!kin.left.empty() && slice.endpoints.size() < kSliceEndpointsMax) {
    slice.endpoints.push_back(std::move(kin.left.begin()->second));
    kin.left.erase(kin.left.begin());
  }
}

// Slices that change anyway come first, then the fullest.
void fill_room(std::vector<RoutedSlice>& slices, Kin& kin, const SliceView& view) {
  const auto changes = [&view](const RoutedSlice& slice) {
    const auto there =
        std::find_if(view.present.begin(), view.present.end(),
                     [&slice](const auto& each) { return each.first == slice.name; });
    return there == view.present.end() || !stands(slice, *there->second, view.labels);
  };
  std::vector<std::pair<bool, RoutedSlice*>> order;
  for (RoutedSlice& slice : slices) {
    if (slice.address_type == kin.type && slice.ports == kin.ports) {
      order.emplace_back(!changes(slice), &slice);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return a.second->endpoints.size() > b.second->endpoints.size();
  });
  for (const auto& [unchanged, slice] : order) fill(*slice, kin);
}

std::string free_name(const std::string& prefix, std::set<std::string>& taken) {
  for (std::size_t number = 0;; ++number) {
    std::string name = prefix + std::to_string(number);
    if (taken.insert(name).second) return name;
  }
}

}  // namespace

bool SlicePlan::changes(const std::string& name) const {
  return std::find(remove.begin(), remove.end(), name) != remove.end() ||
         std::any_of(write.begin(), write.end(),
                     [&name](const RoutedSlice& each) { return each.name == name; });
}

SlicePlan plan_slices(const SliceView& view) {
  std::vector<Kin> all = kin_of(view.groups);
  SlicePlan plan;
  std::set<std::string> taken;
  std::map<std::string, std::vector<std::string>> spare;  // names by address type

  for (const auto& [name, there] : view.present) {
    taken.insert(name);
    const auto kin = std::find_if(all.begin(), all.end(), [&there = there](const Kin& each) {
      return each.type == there->address_type && each.ports == there->ports;
    });
    std::vector<RoutedEndpoint> kept;
    if (kin != all.end()) kept = keep(*kin, *there);
    if (kept.empty()) {
      spare[there->address_type].push_back(name);
    } else {
      plan.wanted.push_back({name, there->address_type, there->ports, std::move(kept)});
    }
  }
  for (Kin& kin : all) {
    fill_room(plan.wanted, kin, view);
    while (!kin.left.empty()) {
      std::vector<std::string>& names = spare[kin.type];
      std::string name;
      if (names.empty()) {
        name = free_name(view.prefix, taken);
      } else {
        name = std::move(names.front());
        names.erase(names.begin());
      }
      fill(plan.wanted.emplace_back(RoutedSlice{std::move(name), kin.type, kin.ports, {}}), kin);
    }
  }
  for (auto& [type, names] : spare) {
    plan.remove.insert(plan.remove.end(), names.begin(), names.end());
  }
  for (RoutedSlice& slice : plan.wanted) {
    std::sort(slice.endpoints.begin(), slice.endpoints.end());
    const auto there =
        std::find_if(view.present.begin(), view.present.end(),
                     [&slice](const auto& each) { return each.first == slice.name; });
    if (there == view.present.end() || !stands(slice, *there->second, view.labels)) {
      plan.write.push_back(slice);
    }
  }
  return plan;
}

}  // namespace sluice::autoscaler
