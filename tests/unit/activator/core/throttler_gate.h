#pragma once

#include "activator/core/throttler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::activator {

inline constexpr TimePoint kStart{std::chrono::seconds{1'700'000'000}};

// A throttler told in words: pods by name, requests by number, answers as text.
class Gate {
 public:
  explicit Gate(const ThrottlerSpec& spec) : throttler(spec) {}

  std::string set(const std::vector<PodState>& states) {
    std::vector<Admission> admitted;
    throttler.set_pods(states, admitted);
    return show(admitted);
  }

  std::string pods(const std::vector<std::string>& names) {
    std::vector<PodState> states;
    for (const std::string& name : names) {
      states.push_back({.id = {name}});
    }
    return set(states);
  }

  std::string update(const PodState& state) {
    std::vector<Admission> admitted;
    throttler.update_pod(state, admitted);
    return show(admitted);
  }

  /// The request it admitted, or "not listed".
  std::string remove(const std::string& pod) {
    std::vector<Admission> admitted;
    return throttler.remove_pod({pod}, admitted) ? show(admitted) : "not listed";
  }

  /// Likewise.
  std::string renew(const std::string& pod) {
    std::vector<Admission> admitted;
    return throttler.renew_pod({pod}, admitted) ? show(admitted) : "not listed";
  }

  /// A pod's name, "queued" or why it is refused; remembers the last answer.
  std::string enter(std::uint64_t cookie, const std::vector<PodRef>& tried = {},
                    TimePoint deadline = kNever) {
    entered = throttler.enter(now, cookie, tried, deadline);
    switch (entered.entry) {
      case Entry::admitted:
        return throttler.pod_id(entered.pod).name;
      case Entry::queued:
        return "queued";
      case Entry::refused:
        return entered.error == Error::queue_full   ? "queue full"
               : entered.error == Error::queue_wait ? "queue wait"
                                                    : "cannot scale";
    }
    return "";
  }

  PodRef run(std::uint64_t cookie) {
    EXPECT_NE(enter(cookie), "queued");
    return entered.pod;
  }

  /// One after the other; their results, joined.
  std::string enter_each(const std::vector<std::uint64_t>& cookies) {
    std::string text;
    for (const std::uint64_t cookie : cookies) {
      text += enter(cookie);
    }
    return text;
  }

  std::string leave(PodRef pod) {
    std::vector<Admission> admitted;
    throttler.leave(pod, admitted);
    return show(admitted);
  }

  std::string leave_full(PodRef pod, TimePoint until) {
    std::vector<Admission> admitted;
    throttler.leave_full(pod, until, admitted);
    return show(admitted);
  }

  std::string resume() {
    std::vector<Admission> admitted;
    throttler.resume(now, admitted);
    return show(admitted);
  }

  /// The cookies of all that expire now, in order.
  std::string expire() {
    std::string text;
    while (const std::optional<Dismissal> late = throttler.expire(now)) {
      text += (text.empty() ? "" : " ") + std::to_string(late->cookie);
    }
    return text;
  }

  std::string show(const std::vector<Admission>& admitted) {
    std::string text;
    for (const Admission& one : admitted) {
      text += (text.empty() ? "" : " ") + std::to_string(one.cookie) + "→" +
              throttler.pod_id(one.pod).name;
      last = one.pod;
    }
    return text;
  }

  Throttler throttler;
  Entered entered;
  PodRef last;
  TimePoint now = kStart;
};

inline ThrottlerSpec spec_of(std::int32_t concurrency, std::string_view policy = "") {
  return {.container_concurrency = concurrency, .policy = parse_policy(policy)};
}

}  // namespace sluice::activator
