#pragma once

#include "common/base/result.h"
#include "common/time/clock.h"

#include "platform/process/unique_fd.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sluice::local {

/// The ports given to replicas, lowest first.
inline constexpr std::uint16_t kFirstPort = 20000;
inline constexpr std::uint16_t kLastPort = 29999;

/// How long a freed port is left alone: late packets and lingering processes of the one before.
inline constexpr Duration kPortRest = std::chrono::seconds{10};

class PortAllocator;

/// A port held for one replica: no other engine takes it while this lives.
class PortLease {
 public:
  PortLease() = default;
  PortLease(PortLease&& other) noexcept;
  PortLease(const PortLease&) = delete;
  PortLease& operator=(const PortLease&) = delete;
  PortLease& operator=(PortLease&& other) noexcept;
  ~PortLease();

  /// 0 when nothing is held.
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  friend class PortAllocator;
  PortLease(PortAllocator& allocator, std::uint16_t port, const std::string& service,
            UniqueFd lock);
  void release();

  PortAllocator* allocator_ = nullptr;  // outlives every lease
  std::uint16_t port_ = 0;
  UniqueFd lock_;
};

/// Hands out ports that bind, were not freed a moment ago and that no other engine of this machine
/// has reserved (one-machine.md 5.1).
class PortAllocator {
 public:
  /// `clock` outlives this.
  explicit PortAllocator(const Clock& clock, std::uint16_t first = kFirstPort,
                         std::uint16_t last = kLastPort);
  ~PortAllocator() = default;
  PortAllocator(const PortAllocator&) = delete;
  PortAllocator& operator=(const PortAllocator&) = delete;

  /// The lowest port that qualifies, for a replica of `service`.
  [[nodiscard]] Result<PortLease, Problem> allocate(const std::string& service);

  /// Exactly `port`, for an app that ignores $PORT; the rest time does not apply. The problem names
  /// the service that has it, or the process that listens on it.
  [[nodiscard]] Result<PortLease, Problem> reserve(std::uint16_t port, const std::string& service);

 private:
  friend class PortLease;
  [[nodiscard]] Result<UniqueFd, Problem> lock(std::uint16_t port) const;

  const Clock& clock_;
  std::uint16_t first_;
  std::uint16_t last_;
  std::map<std::uint16_t, std::string> leased_;  // to which service, by leases that exist
  std::map<std::uint16_t, TimePoint> freed_;     // at most one entry per port of the range
};

}  // namespace sluice::local
