#pragma once

// Inside pod_prober: what it keeps of a revision's pods and of the probes under way.

#include "activator/io/pod_prober.h"

namespace sluice::activator {

/// The private Service of a revision.
struct ProbedService {
  std::string dest;
  bool known = false;         ///< to the gateway
  std::int32_t backends = 0;  ///< pods behind it while it takes the requests, else 0
  std::unique_ptr<net::UpstreamPool> probed_in_clear;  ///< only where requests are encrypted
};

// The pods of one revision.
struct PodProber::Watch {
  struct Pod {
    std::string name;
    PodWord word;
    bool suspected = false;
    std::unique_ptr<net::UpstreamPool> probed_in_clear;  // only where requests are encrypted
  };

  Watch(RevisionHandle own, std::int32_t limit, const DestinationsSpec& spec)
      : revision{own}, container_concurrency{limit}, destinations{spec} {}

  RevisionHandle revision;
  std::int32_t container_concurrency;
  Destinations destinations;
  std::map<std::string, Pod, std::less<>> pods;  // by dest
  std::set<std::string, std::less<>> usable;     // of them, those whose sidecar answers
  std::set<std::string, std::less<>> listed;     // of them, this activator's
  std::set<std::string, std::less<>> avoid;      // as reported; may name pods that are not here
  bool whole = true;                             // all that are usable are listed
  std::optional<ProbedService> service;
};

// One probe under way.
struct PodProber::Run {
  RevisionHandle revision{};
  std::uint64_t number = 0;
  std::string dest;
  std::unique_ptr<PodAsker::Question> question;
};

}  // namespace sluice::activator
