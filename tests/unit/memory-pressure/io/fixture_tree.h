#pragma once

#include <cstdint>
#include <string>

namespace sluice::node_agent::testing {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// How control groups are mounted in a tree.
enum class Hierarchy { v1, v2, hybrid };

/// A tree of /proc and control groups made of plain files; it goes with its owner.
class FixtureTree {
 public:
  explicit FixtureTree(Hierarchy hierarchy);
  ~FixtureTree();
  FixtureTree(const FixtureTree&) = delete;
  FixtureTree& operator=(const FixtureTree&) = delete;

  [[nodiscard]] const std::string& root() const { return root_; }

  /// Puts a file, in place, so that open ones see it; directories are made.
  void put(const std::string& path, const std::string& content) const;
  void remove(const std::string& path) const;
  [[nodiscard]] std::string get(const std::string& path) const;

  void set_meminfo(std::int64_t total_mib, std::int64_t available_mib,
                   std::int64_t swap_used_mib = 0) const;

  /// What a group uses; `cold`: of it, page cache that was not used lately.
  struct Memory {
    std::int64_t used_mib = 0;
    std::int64_t cold_mib = 0;
    std::int64_t limit_mib = 0;  ///< 0: none
    std::int64_t swap_mib = 0;
  };

  void set_memory(const std::string& group, const Memory& memory) const;
  void set_quota(const std::string& group, std::int64_t quota, std::int64_t period) const;
  [[nodiscard]] std::int64_t quota(const std::string& group) const;

  /// The file that freezes a group.
  [[nodiscard]] std::string freezer_file(const std::string& group) const;

  /// What the kernel shows of it.
  void set_frozen(const std::string& group, bool frozen) const;

  /// Process ids in a group, each with its newline.
  void set_processes(const std::string& group, const std::string& pids) const;

  /// A process in a group of every hierarchy.
  void set_process(int pid, const std::string& group) const;

  /// Directory of a group, as the running kernel would show it: without root().
  [[nodiscard]] std::string memory_directory(const std::string& group) const;
  [[nodiscard]] std::string cpu_directory(const std::string& group) const;

 private:
  Hierarchy hierarchy_;
  std::string root_;
};

}  // namespace sluice::node_agent::testing
