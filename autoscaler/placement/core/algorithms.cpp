#include "autoscaler/placement/core/algorithms.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <tuple>
#include <utility>

namespace sluice::placement {
namespace {

constexpr std::int64_t kThousand = 1000;

Ppm bounded_rate(std::int64_t rate) {
  return std::clamp<std::int64_t>(rate, 0, kRateMax);
}

// `amount` units as wholes.
Ppm wholes(std::int64_t amount) {
  return amount >= kWhole ? kRateMax : bounded_rate(amount * kWhole);
}

// A replica without a request for CPU counts as one core.
std::int64_t millicores(std::int64_t requested, std::int64_t replicas) {
  return std::max<std::int64_t>(1, requested > 0 ? requested : replicas * kThousand);
}

std::optional<Ppm> cpu_utilization(ParameterValues values) {
  return share_of(values[0], millicores(values[1], values[2]));
}

// How far an application is spread already: moving more of it divides nothing that is together.
std::optional<Ppm> dispersion(ParameterValues values) {
  return share_of(values[0] - 1, std::max<std::int64_t>(1, values[1] - 1));
}

// Requests disturbed for each core that becomes free.
std::optional<Ppm> in_flight(ParameterValues values) {
  const std::int64_t requests = std::min(values[0], kWhole);
  return bounded_rate(requests * kWhole * kThousand / millicores(values[1], values[2]));
}

// Of one request in a second one whole.
std::optional<Ppm> request_rate(ParameterValues values) {
  return values[0] >= kRateMax / kThousand ? kRateMax : bounded_rate(values[0] * kThousand);
}

// Of one replica that takes a second to start one whole.
std::optional<Ppm> restart_cost(ParameterValues values) {
  const std::int64_t milliseconds = std::min(values[0], kWhole) * std::min(values[1], kWhole);
  return milliseconds >= kRateMax / kThousand ? kRateMax : bounded_rate(milliseconds * kThousand);
}

std::optional<Ppm> home_distance(ParameterValues values) {
  return wholes(values[0]);
}

constexpr std::array kCpuParameters{Parameter::cpu_used, Parameter::cpu_requested,
                                    Parameter::replicas};
constexpr std::array kDispersionParameters{Parameter::application_places, Parameter::places};
constexpr std::array kInFlightParameters{Parameter::in_flight, Parameter::cpu_requested,
                                         Parameter::replicas};
constexpr std::array kRateParameters{Parameter::request_rate};
constexpr std::array kRestartParameters{Parameter::start_time, Parameter::replicas};
constexpr std::array kHomeParameters{Parameter::home_distance};

constexpr std::size_t kValuesMax = 3;  // parameters of one algorithm

constexpr std::string_view kRestartCost = "restart-cost";

constexpr std::array<Algorithm, 6> kAlgorithms{{
    {"cpu-utilization", Direction::low_first, kCpuParameters, cpu_utilization},
    {"dispersion", Direction::high_first, kDispersionParameters, dispersion},
    {"in-flight", Direction::low_first, kInFlightParameters, in_flight},
    {"request-rate", Direction::low_first, kRateParameters, request_rate},
    {kRestartCost, Direction::low_first, kRestartParameters, restart_cost},
    {"home-distance", Direction::high_first, kHomeParameters, home_distance},
}};

// What a service is sorted by, the first that differs decides.
struct Key {
  std::array<std::int64_t, kAlgorithmsMax + 3> parts{};
  ServiceId service{};

  friend bool operator<(const Key& left, const Key& right) {
    return std::tie(left.parts, left.service) < std::tie(right.parts, right.service);
  }
};

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

struct Used {
  const Algorithm* algorithm;
  const AlgorithmRef* ref;

  [[nodiscard]] Direction direction() const {
    return ref->direction.value_or(algorithm->direction);
  }
};

std::vector<Used> used_by(const MigrationPolicy& policy) {
  std::vector<Used> used;
  for (const AlgorithmRef& ref : policy.algorithms) {
    const Algorithm* const algorithm = find_algorithm(ref.name);
    if (algorithm != nullptr && used.size() < kAlgorithmsMax) used.push_back({algorithm, &ref});
  }
  return used;
}

std::int64_t priority_of(const ServiceBook& book, ServiceId service) {
  const ServiceFacts* const facts = book.find(service);
  return facts == nullptr ? 0 : facts->move_priority;
}

void fill_order(std::vector<Key>& keys, const std::vector<Used>& used, const ServiceBook& book,
                Parameters& parameters) {
  for (Key& key : keys) {
    std::size_t at = 0;
    key.parts[at++] = priority_of(book, key.service);
    for (const Used& each : used) {
      const auto rate = parameters.rate(*each.algorithm, key.service);
      const std::int64_t steps = rate ? *rate / std::max<Ppm>(1, each.ref->quantum) : 0;
      const std::int64_t sign = each.direction() == Direction::low_first ? 1 : -1;
      key.parts[at++] = rate ? sign * steps : kLast;
    }
  }
}

void fill_scores(std::vector<Key>& keys, std::span<const ServiceId> services,
                 const MigrationPolicy& policy, const ServiceBook& book, Parameters& parameters) {
  const std::vector<std::int64_t> scores = scores_by_policy(services, policy, parameters);
  const Algorithm* const restarts = find_algorithm(kRestartCost);
  for (std::size_t at = 0; at < keys.size(); ++at) {
    Key& key = keys[at];
    key.parts[0] = -scores[at];  // the highest first
    key.parts[1] = priority_of(book, key.service);
    key.parts[2] = parameters.rate(*restarts, key.service).value_or(kLast);
  }
}

}  // namespace

std::span<const Algorithm> algorithms() {
  return kAlgorithms;
}

const Algorithm* find_algorithm(std::string_view name) {
  const auto found = std::find_if(kAlgorithms.begin(), kAlgorithms.end(),
                                  [name](const Algorithm& each) { return each.name == name; });
  return found == kAlgorithms.end() ? nullptr : &*found;
}

void Parameters::begin_cycle() {
  ++cycle_;
}

std::optional<std::int64_t> Parameters::find(Parameter parameter, ServiceId service) const {
  const ServiceFacts* const facts = book_.find(service);
  switch (parameter) {
    case Parameter::cpu_used:
    case Parameter::in_flight:
    case Parameter::request_rate:
    case Parameter::application_places:
      return book_.measure(parameter, service);
    case Parameter::cpu_requested:
    case Parameter::replicas: {
      Resources sum;
      for (const Holding& held : ledger_.holdings(service)) sum += held.used;
      return parameter == Parameter::replicas ? sum.slots : sum.cpu;
    }
    case Parameter::places:
      return static_cast<std::int64_t>(ledger_.places().size());
    case Parameter::start_time:
      if (facts == nullptr || !facts->usual_start) return std::nullopt;
      return std::chrono::duration_cast<std::chrono::milliseconds>(*facts->usual_start).count();
    case Parameter::home_distance: {
      if (facts == nullptr || facts->order == nullptr) return std::nullopt;
      std::int64_t farthest = 0;
      for (const Holding& held : ledger_.holdings(service)) {
        // A place that it may no longer use is farther than all that it may.
        const PlaceId place = ledger_.node(held.node).place;
        const std::int64_t tier = facts->order->tier_of(place).value_or(facts->order->tiers());
        farthest = std::max(farthest, tier);
      }
      return farthest;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> Parameters::value(Parameter parameter, ServiceId service) {
  auto& cells = cells_[static_cast<std::size_t>(parameter)];
  if (cells.size() <= index_of(service)) cells.resize(index_of(service) + 1);
  Cell& cell = cells[index_of(service)];
  if (cell.cycle != cycle_) cell = {.cycle = cycle_, .value = find(parameter, service)};
  return cell.value;
}

std::optional<Ppm> Parameters::rate(const Algorithm& algorithm, ServiceId service) {
  std::array<std::int64_t, kValuesMax> values{};
  std::size_t count = 0;
  for (const Parameter parameter : algorithm.parameters) {
    const auto found = value(parameter, service);
    if (!found) return std::nullopt;
    values[count++] = *found;
  }
  return algorithm.rate(ParameterValues{values.data(), count});
}

std::vector<std::int64_t> scores_by_policy(std::span<const ServiceId> services,
                                           const MigrationPolicy& policy, Parameters& parameters) {
  std::vector<std::int64_t> scores(services.size());
  for (const Used& each : used_by(policy)) {
    Ppm least = kRateMax;
    Ppm most = 0;
    for (const ServiceId service : services) {
      const auto rate = parameters.rate(*each.algorithm, service);
      if (!rate) continue;
      least = std::min(least, *rate);
      most = std::max(most, *rate);
    }
    for (std::size_t at = 0; at < services.size(); ++at) {
      const auto rate = parameters.rate(*each.algorithm, services[at]);
      if (!rate) continue;  // it scores nothing
      const Ppm part = most == least ? 0 : (*rate - least) * kWhole / (most - least);
      const Ppm good = each.direction() == Direction::low_first ? kWhole - part : part;
      scores[at] += each.ref->weight * good;
    }
  }
  return scores;
}

std::vector<std::size_t> sort_by_policy(std::vector<ServiceId>& services,
                                        const MigrationPolicy& policy, const ServiceBook& book,
                                        Parameters& parameters) {
  std::vector<Key> keys(services.size());
  for (std::size_t at = 0; at < services.size(); ++at) keys[at].service = services[at];
  if (policy.mode == MigrationPolicy::Mode::order) {
    fill_order(keys, used_by(policy), book, parameters);
  } else {
    fill_scores(keys, services, policy, book, parameters);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> ranks(keys.size());
  for (std::size_t at = 0; at < keys.size(); ++at) {
    services[at] = keys[at].service;
    if (at == 0) continue;
    ranks[at] = ranks[at - 1] + (keys[at].parts == keys[at - 1].parts ? 0U : 1U);
  }
  return ranks;
}

}  // namespace sluice::placement
