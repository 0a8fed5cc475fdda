#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platform/process/quantity.h"
#include "platform/process/service_spec.h"
#include "platform/process/spec_documents.h"
#include "programs/sluice/commands/await_ready.h"
#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/fields.h"
#include "programs/sluice/view/not_ready.h"
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr std::size_t kFilesMax = 1000;  // of a directory
/// Services in one request. The engine answers other requests between two of them.
constexpr std::size_t kAtOnce = 25;
/// An engine that starts many programs answers late.
constexpr Duration kPatience = std::chrono::minutes{1};
constexpr const char* kWaitDefault = "2m";

// A directory stands for its files, as it does for `up -f`.
Result<std::vector<std::string>, Failure> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
      files.push_back(path);
      continue;
    }
    const auto found = local::spec_files_in(path, kFilesMax);
    if (found.empty()) {
      return Failure{kExitConfig,
                     "directory " + path + " has no *.yaml and no *.yml; name a file, or another"};
    }
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// Of a relative working directory in the file, as for `up -f`.
std::string base_of(const std::string& path) {
  namespace fs = std::filesystem;
  return path == "-" ? fs::current_path().string() : fs::absolute(path).parent_path().string();
}

struct ApplyFlags {
  bool dry_run = false;
  bool write = false;
  bool wait = false;
  std::string timeout = kWaitDefault;
};

// The engine does not know the file: it calls it `the document:LINE:`, at the beginning of its
// message and of each further line.
std::string in_file(std::string text, const std::string& name) {
  constexpr std::string_view kNoFile = "the document:";
  bool named = false;
  for (std::size_t at = 0; (at = text.find(kNoFile, at)) != std::string::npos;) {
    const std::string_view before = std::string_view(text).substr(0, at);
    const std::size_t line = before.rfind('\n') + 1;  // 0 without one
    const std::string_view lead = before.substr(line);
    if (!lead.empty() && lead != "warning: ") {
      at += kNoFile.size();
      continue;
    }
    named = true;
    text.replace(at, kNoFile.size(), name + ":");
    at += name.size() + 1;
  }
  return named ? text : name + ": " + text;
}

void print_warnings(const Surroundings& with, const json& result, const std::string& name) {
  for (const std::string& warning : reading::strings(result, "warnings")) {
    with.err << "warning: " << in_file(warning, name) << "\n";
  }
}

// What is true of the revision at this moment, which is seldom that it runs.
std::string state_text(const json& result) {
  const std::string state = view::text_field(result, "state");
  if (const std::string elsewhere = view::text_field(result, "elsewhere"); !elsewhere.empty()) {
    return (state.empty() ? "" : ", " + state) + ", without requests: the traffic is " + elsewhere;
  }
  if (state == "asleep") return ", asleep: the next request starts it";
  const std::string serving = view::serving_text(result);
  return (state.empty() ? "" : ", " + state) +
         (serving.empty() ? "" : "; " + serving + " until it is ready");
}

void print_result(const Surroundings& with, const json& result, const ApplyFlags& flags) {
  with.out << view::text_field(result, "service") << " " << view::text_field(result, "result");
  const std::string revision = view::text_field(result, "revision");
  with.out << (revision.empty() ? "" : ", revision " + revision)
           << (flags.write && result.contains("file") ? ", in " + view::text_field(result, "file")
                                                      : std::string{})
           << (flags.dry_run ? " (dry run: nothing was changed)" : state_text(result)) << "\n";
  const auto value = [](const json& change, const char* key) {
    const std::string text = view::text_field(change, key);
    return text.empty() ? "-" : text;
  };
  for (const json& change : reading::array(result, "difference")) {
    with.out << "  " << view::text_field(change, "key") << ": " << value(change, "old") << " -> "
             << value(change, "new") << "\n";
  }
}

// Returns the status of a service that could not be taken, though its document is in order.
int print_results(const Surroundings& with, const json& answer, const ApplyFlags& flags,
                  const std::string& name) {
  int code = kExitOk;
  for (const json& item : reading::array(answer, "items")) {
    if (view::text_field(item, "result") != "refused") {
      print_result(with, item, flags);
      continue;
    }
    with.err << name << ": " << view::text_field(item, "detail") << "; "
             << view::text_field(item, "fix") << "\n";
    code = std::max(code, exit_code_of(reading::integer32(item, "status", 0)));
  }
  with.out.flush();
  print_warnings(with, answer, name);
  return code;
}

/// `applied`: gets the names of the services that were sent.
int apply_file(const Surroundings& with, const ApiPlace& engine, const std::string& path,
               const ApplyFlags& flags, std::set<std::string>& applied) {
  const std::string name = local::shown_name(path);
  const auto text = local::read_spec_file(path, local::NamedPipes::read);
  if (!text) {
    return report(with, {kExitConfig, text.error().text()});
  }
  const std::size_t at_once = flags.write ? 1 : kAtOnce;
  const auto parts = local::service_documents(*text, at_once);
  if (!parts) {
    return report(with, {kExitConfig, name + ": " + parts.error().text()});
  }
  const std::string target = "/api/v1/services?base=" + url_encoded(base_of(path)) +
                             (flags.dry_run ? "&dry_run=1" : "") + (flags.write ? "&write=1" : "");
  int code = kExitOk;
  for (const local::ServiceDocuments& part : *parts) {
    const auto body =
        fetch(engine, {.method = "PUT", .target = target, .body = part.text, .timeout = kPatience});
    if (!body) {
      return report(with, {body.error().exit_code, in_file(body.error().text, name)});
    }
    code = std::max(code, print_results(with, reading::parsed(*body), flags, name));
    applied.insert(part.services.begin(), part.services.end());
  }
  return code;
}

}  // namespace

int run_apply(const Surroundings& with, const Arguments& args) {
  CLI::App app("Adds or changes services of a running engine.");
  std::vector<std::string> paths;
  ApplyFlags flags;
  app.add_option("-f,--file", paths, "a file of Services, a directory of *.yaml, or -; repeatable")
      ->type_name("FILE")
      ->required()
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--dry-run", flags.dry_run, "print the difference, change nothing");
  app.add_flag("--write", flags.write,
               "write a service that is defined in a watched file into that file");
  CLI::Option* const wait = app.add_flag(
      "--wait", flags.wait,
      "wait until the services are ready or asleep; status 3 when one does not become ready");
  app.add_option("--timeout", flags.timeout, "for --wait: at most this long")
      ->type_name("DURATION")
      ->capture_default_str()
      ->needs(wait);
  if (const auto code = ends_early(with, app, "apply", args)) {
    return *code;
  }
  const auto patience = local::parse_duration(flags.timeout);
  if (!patience) {
    return report(with, {kExitUsage, "--timeout: " + patience.error().text()});
  }
  if (flags.wait && flags.dry_run) {
    return report(with, {kExitUsage, "--wait: a dry run starts nothing; drop one of the two"});
  }
  const auto files = files_of(paths);
  if (!files) {
    return report(with, files.error());
  }
  const auto engine = find_engine(with, "");
  if (!engine) {
    return report(with, engine.error());
  }
  std::set<std::string> applied;
  for (const std::string& path : *files) {
    const int code = apply_file(with, *engine, path, flags, applied);
    if (code != kExitOk) {
      return code;
    }
  }
  if (!flags.wait) {
    return kExitOk;
  }
  return await_ready(
      with, *engine,
      {.patience = *patience, .services = std::move(applied), .progress = with.terminal});
}

}  // namespace sluice::commands
