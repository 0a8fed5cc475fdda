#pragma once

#include "common/base/exit_status.h"
#include "common/base/result.h"
#include "common/time/clock.h"

#include <nlohmann/json_fwd.hpp>

#include "platform/process/paths.h"
#include "programs/sluice/commands/api_client.h"
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::commands {

/// Sees the flags of a verb, and may parse with them.
using FlagSink = std::function<void(CLI::App&)>;

/// The first of these arguments that means something else in another program of the kind, as a
/// problem that names ours; nothing if there is none.
using ForeignFlag = std::function<std::optional<Problem>(const std::vector<std::string>&)>;

/// What a verb works with; everything is borrowed for the length of one run.
struct Surroundings {
  std::ostream& out;
  std::ostream& err;
  const Clock& clock;
  local::PathRoots roots;
  bool terminal = false;                ///< standard input and output are one
  std::optional<ApiPlace> server = {};  ///< --server: used instead of engines here
  std::string engine = {};              ///< --engine: the only one that is looked at
  FlagSink see_flags = {};              ///< a verb shows its flags to it and does nothing else
  /// Shows those of `load`, which is not of this room.
  std::function<void(const FlagSink&)> show_load_flags = {};
  ForeignFlag foreign_load_flag = {};
  std::function<void(const FlagSink&)> show_compare_flags = {};
};

/// A verb that did not work out: the exit code and what to print.
struct Failure {
  // No aggregate, for the reason given at local::ApiProblem.
  Failure() = default;

  Failure(int code, std::string message) : exit_code(code), text(std::move(message)) {}

  int exit_code = kExitFailure;
  std::string text;  ///< without a newline at its end
};

/// Prints `failure` to the errors, without what would steer a terminal; returns its exit code.
int report(const Surroundings& with, const Failure& failure);

/// The engines that run here, or the server in their place.
[[nodiscard]] std::vector<ApiPlace> places(const Surroundings& with);

/// The one engine named `name`, or by --engine, or the only one; the server in their place.
[[nodiscard]] Result<ApiPlace, Failure> find_engine(const Surroundings& with,
                                                    const std::string& name);

/// What an engine of this machine answers of its own program: version, pid and more; null when it
/// does not answer within a second.
[[nodiscard]] nlohmann::json program_of(const ApiPlace& engine);

/// Prints one line to the errors when `program`, of an engine, is of another version than this one.
void note_version(const Surroundings& with, const ApiPlace& engine, const nlohmann::json& program);
void note_version(const Surroundings& with, const ApiPlace& engine);

struct FoundService {
  ApiPlace engine;
  std::string service;  ///< or the name of one of its revisions
  std::string space = "default";
  std::string owner = {};  ///< the service of that revision; empty: it is a service

  /// `/api/v1/services/<space>/<service>`.
  [[nodiscard]] std::string path() const;

  /// `service app` or `revision app-00001`.
  [[nodiscard]] std::string title() const;
};

/// What a verb takes.
enum class Finds {
  services,
  running,  ///< and revisions that run
  kept,     ///< and those of which spec and output are kept
};

/// Looks for `SERVICE` or `ENGINE/SERVICE` among the running engines (one-machine.md 2); where no
/// service has that name it is a revision's. At a server it is `SERVICE` or `NAMESPACE/SERVICE`,
/// and not looked for.
[[nodiscard]] Result<FoundService, Failure> find_service(const Surroundings& with,
                                                         const std::string& name, Finds finds);

/// Why `name`, the value of --namespace, cannot be that of a namespace of a cluster; nothing if it
/// can.
[[nodiscard]] std::optional<Failure> wrong_namespace(const std::string& name);

/// Of `text`, the value of `flag`: a time or an age (local::parse_moment).
[[nodiscard]] Result<TimePoint, Failure> moment_of(const Surroundings& with, const char* flag,
                                                   const std::string& text);

/// The exit code for an answer of this status that is not good.
[[nodiscard]] int exit_code_of(int status);

/// What the problem+json of an answer that is not good comes to.
[[nodiscard]] Failure failure_of(const ApiReply& reply);

/// The body of a good answer; anything else is a failure told by its problem+json.
[[nodiscard]] Result<std::string, Failure> fetch(const ApiPlace& engine, const ApiCall& call);

/// All status objects of an engine, page by page.
[[nodiscard]] Result<nlohmann::json, Failure> fetch_services(const ApiPlace& engine);

}  // namespace sluice::commands
