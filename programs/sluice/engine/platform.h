#pragma once

#include "activator/io/front_gateway.h"
#include "common/log/log.h"
#include "common/scaling/cluster_config.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include "platform/process/cgroup.h"
#include "platform/process/child.h"
#include "platform/process/engine_settings.h"
#include "platform/process/memory_pressure.h"
#include "platform/process/paths.h"
#include "platform/process/ports.h"
#include "platform/process/replica_journal.h"
#include "programs/sluice/engine/engine_api.h"
#include "programs/sluice/engine/history.h"
#include "programs/sluice/engine/revision_book.h"
#include "programs/sluice/engine/scale_loop.h"
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

class Revision;

/// What every service of an engine stands on. Borrowed from the engine, which declares all of it
/// before its services.
struct Platform {
  boost::asio::io_context& io;
  const Clock& clock;
  const log::Logger& log;
  const EngineSettings& settings;
  const autoscaler::ClusterConfig& cluster;
  const EnginePaths& paths;
  Reaper& reaper;
  PortAllocator& ports;
  ReplicaJournal& journal;
  CgroupTree& cgroups;
  EventRing& events;
  ScaleLoop& scale_loop;
  MemoryPressure& memory;
  History* history;  ///< null without a state directory
  activator::FrontGateway* front = nullptr;
  std::filesystem::path sidecar = {};
  std::vector<std::string> environment = {};
  std::optional<std::uint64_t> open_files = {};
  std::int32_t replicas = 0;  ///< running now, over all services
  RevisionBook<Revision> revisions = {};
};

}  // namespace sluice::local
