#pragma once

#include "common/time/time_point.h"

#include "platform/process/service_spec.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::commands {

enum class OutputFormat { text, json };

/// What an `up` returns to its caller when another engine holds the name (EX_TEMPFAIL): by then
/// that one may take the service. Never the exit code of the program.
inline constexpr int kNameHeld = 75;

/// The flags of `sluice up`, parsed and checked one by one (one-machine.md 1). Exactly one of
/// `files`, `demo`, `image` or `command`, `resume` is set.
struct UpOptions {
  std::vector<std::string> files;    ///< -f: file, directory or "-"
  bool demo = false;                 ///< --demo
  std::string image;                 ///< --image: `command` is its arguments, and may be empty
  std::vector<std::string> command;  ///< after `--`; never empty strings in front

  bool resume = false;  ///< none of them, but a name: what ran under it

  /// A service is written in flags: --demo, an image, a command.
  [[nodiscard]] bool has_command_form() const { return demo || !image.empty() || !command.empty(); }

  std::string name;         ///< of the service or, for the first `up`, the engine; defaults applied
  bool name_given = false;  ///< --name
  std::string engine;       ///< --engine; else the one that choose_engine() has found
  /// The service of the command form and of --demo; set by `up` itself.
  std::optional<local::ServiceSpec> service = {};
  std::optional<std::uint16_t> port;
  std::string http = "127.0.0.1:8080";
  std::optional<std::pair<std::string, std::string>> tls;  ///< certificate and key, absolute paths
  bool http_given = false;  ///< a given door that is taken is an error; the default one moves on

  /// Command form and --demo: shorthand for keys of the spec. For absent ones the engine's settings
  /// hold (complete_command).
  std::optional<double> target;
  std::optional<std::int64_t> concurrency;
  std::optional<std::int32_t> min;
  std::optional<std::int32_t> max;
  std::optional<Duration> window;
  std::vector<std::pair<std::string, std::string>> env;
  std::optional<double> cpu;  ///< CPUs
  std::optional<std::int64_t> memory_bytes;

  bool detach = false;
  OutputFormat output = OutputFormat::text;
  bool allow_edit = false;
  std::string config_file;  ///< empty: the search order of ecosystem.md 3.5
  std::string log_level;    ///< empty: from the settings

  /// With `detach`, in the child: what the parent prints is written here once ready, then it is
  /// closed (announce_ready); -1 otherwise. Standard output and error are engine.log by then.
  int ready_fd = -1;
};

/// Tells a waiting `up --detach` that the engine is ready: writes `banner`, a NUL and `warnings`,
/// lines for standard error, to options.ready_fd and closes it. Without a waiting parent it does
/// nothing.
void announce_ready(const UpOptions& options, const std::string& banner,
                    const std::string& warnings);

}  // namespace sluice::commands
