#pragma once

#include "tests/support/unary_server.h"
#include "tests/unit/memory-pressure/io/fixture_tree.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::node_agent::testing {

/// A container of the fake runtime.
struct FakeContainer {
  std::string pod = "pod";  ///< name, uid and id of its sandbox alike
  std::string space = "default";
  std::string name = "app";
  std::map<std::string, std::string> annotations{};  ///< of its pod
  std::map<std::string, std::string> labels{};       ///< of its pod
  int pid = 0;                                       ///< 0: the runtime does not report it
  bool running = true;
  bool paused = false;   ///< by another program
  bool created = false;  ///< its status and no list has it: it is being started
  bool ready = true;     ///< its sandbox
  bool has_sandbox = true;
  int exit_code = 0;
  std::string reason{};
  std::int64_t quota = 0;  ///< as last sent
  std::int64_t period = 0;
  std::int64_t memory_limit = 0;
  std::int64_t working_set = -1;  ///< of stats; -1: not measured yet
};

/// A container runtime that is played: CRI v1 over a Unix socket, and the control groups of its
/// containers in a tree, `/pods/<id>`.
class FakeRuntime {
 public:
  explicit FakeRuntime(const FixtureTree& tree);

  [[nodiscard]] std::string socket() const { return tree_.root() + "/cri.sock"; }

  /// Serves; or serves again.
  void start();

  void stop() { server_.reset(); }

  /// Adds one with its control group and process.
  void run(const std::string& id, FakeContainer container, const FixtureTree::Memory& memory);
  void end(const std::string& id, int exit_code, const std::string& reason);
  void end_sandbox(const std::string& id);

  /// Its start has ended.
  void started(const std::string& id);

  /// No longer lists its sandbox.
  void forget_sandbox(const std::string& id);
  void remove(const std::string& id);
  void annotate(const std::string& id, const std::string& key, const std::string& value);

  /// The next calls of a method end with this code of gRPC's; 0: they are answered again.
  void refuse(const std::string& method, int code);

  /// The next calls of a method are taken and never answered.
  void hang(const std::string& method, bool hangs);

  [[nodiscard]] static std::string group(const std::string& id) { return "/pods/" + id; }

  [[nodiscard]] std::int64_t quota(const std::string& id) const { return tree_.quota(group(id)); }

  [[nodiscard]] int calls(const std::string& method) const;

 private:
  [[nodiscard]] sluice::testing::UnaryAnswer answer(const std::string& method,
                                                    const std::string& request);
  [[nodiscard]] std::string list_sandboxes() const;
  [[nodiscard]] std::string list_containers() const;
  [[nodiscard]] std::string list_stats() const;
  [[nodiscard]] sluice::testing::UnaryAnswer status(const std::string& request) const;
  [[nodiscard]] sluice::testing::UnaryAnswer task(const std::string& request) const;
  [[nodiscard]] sluice::testing::UnaryAnswer update(const std::string& request);
  [[nodiscard]] sluice::testing::UnaryAnswer stop_container(const std::string& request);

  const FixtureTree& tree_;
  mutable std::mutex mutex_;
  std::map<std::string, FakeContainer> containers_;
  std::map<std::string, int> refusals_;
  std::map<std::string, bool> hanging_;
  std::map<std::string, int> calls_;
  std::unique_ptr<sluice::testing::UnaryServer> server_;
};

}  // namespace sluice::node_agent::testing
