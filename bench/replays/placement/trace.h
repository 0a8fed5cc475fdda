#pragma once

#include "autoscaler/placement/core/resources.h"

#include <cstdint>
#include <vector>

// The input of R1 and R2 (placement.md 9): applications that arrive one by one, drawn from one
// seed. Each purpose has a generator of its own, so that a change of one draw does not change the
// others.
namespace sluice::replay {

/// SplitMix64: the same numbers on every machine.
class Draw {
 public:
  enum class Purpose : std::uint8_t { sizes = 1, constraints, utilisation };

  Draw(std::uint64_t seed, Purpose purpose, std::uint64_t batch, std::uint64_t repetition = 0);

  /// From 0 to `count` - 1, each as likely as any other.
  [[nodiscard]] std::uint64_t below(std::uint64_t count);

 private:
  [[nodiscard]] std::uint64_t next();

  std::uint64_t state_;
};

/// Clusters that a service may use: a bit for each of A, B and C, at least one.
using Letters = std::uint8_t;
inline constexpr Letters kAllLetters = 7;

struct ServiceDraw {
  placement::Resources need;
  std::int64_t cpu_used = 0;  ///< millicores; only the document's policy looks at it
  Letters letters = kAllLetters;
};

using Application = std::vector<ServiceDraw>;

struct TraceKind {
  std::uint64_t seed = 1;
  bool per_service = false;  ///< constraints are drawn for each service, not for each application
};

inline constexpr std::size_t kApplications = 15;
inline constexpr std::size_t kRepetitions = 5;

/// The applications of one repetition: the sizes are those of the batch, the constraints its own.
[[nodiscard]] std::vector<Application> draw_applications(const TraceKind& kind, std::uint64_t batch,
                                                         std::uint64_t repetition);

/// Folds numbers into a digest (FNV-1a, 64 bits): equal runs have equal digests.
class Digest {
 public:
  void add(std::uint64_t number);

  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace sluice::replay
