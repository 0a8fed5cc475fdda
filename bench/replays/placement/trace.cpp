#include "bench/replays/placement/trace.h"

#include <limits>

namespace sluice::replay {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kCpuStep = 250;     // millicores
constexpr std::int64_t kMemoryStep = 256;  // MiB
constexpr std::uint64_t kSizes = 4;        // steps
constexpr std::uint64_t kServicesMax = 3;  // of one application
constexpr std::uint64_t kPercent = 100;
constexpr std::uint64_t kConstraints = 7;  // A, B, C, AB, AC, BC, ABC

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

std::int64_t steps(Draw& draw) {
  return static_cast<std::int64_t>(draw.below(kSizes)) + 1;
}

Letters letters(Draw& draw) {
  return static_cast<Letters>(draw.below(kConstraints) + 1);
}

}  // namespace

Draw::Draw(std::uint64_t seed, Purpose purpose, std::uint64_t batch, std::uint64_t repetition)
    : state_(mixed(mixed(mixed(mixed(seed) + static_cast<std::uint64_t>(purpose)) + batch) +
                   repetition)) {}

std::uint64_t Draw::next() {
  state_ += 0x9e3779b97f4a7c15U;
  return mixed(state_);
}

std::uint64_t Draw::below(std::uint64_t count) {
  // Numbers beyond the last whole multiple would make the first ones likelier.
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t bound = kMost - kMost % count;
  std::uint64_t number = next();
  while (number >= bound) number = next();
  return number % count;
}

std::vector<Application> draw_applications(const TraceKind& kind, std::uint64_t batch,
                                           std::uint64_t repetition) {
  Draw sizes{kind.seed, Draw::Purpose::sizes, batch};
  Draw constraints{kind.seed, Draw::Purpose::constraints, batch, repetition};
  Draw utilisation{kind.seed, Draw::Purpose::utilisation, batch};
  std::vector<Application> applications(kApplications);
  for (Application& application : applications) {
    application.resize(sizes.below(kServicesMax) + 1);
    Letters of_all = kAllLetters;
    if (!kind.per_service) of_all = letters(constraints);
    for (ServiceDraw& service : application) {
      service.need.cpu = steps(sizes) * kCpuStep;
      service.need.memory = steps(sizes) * kMemoryStep * kMebibyte;
      service.need.slots = 1;
      service.cpu_used = static_cast<std::int64_t>(utilisation.below(kPercent + 1)) *
                         service.need.cpu / std::int64_t{kPercent};
      service.letters = kind.per_service ? letters(constraints) : of_all;
    }
  }
  return applications;
}

void Digest::add(std::uint64_t number) {
  constexpr int kBytes = 8;
  for (int at = 0; at < kBytes; ++at) {
    value_ = (value_ ^ (number & 0xffU)) * 0x100000001b3U;
    number >>= 8U;
  }
}

}  // namespace sluice::replay
