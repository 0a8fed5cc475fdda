#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
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
                  const std::string& name, std::set<std::string>& applied) {
  int code = kExitOk;
  for (const json& item : reading::array(answer, "items")) {
    if (view::text_field(item, "result") != "refused") {
      print_result(with, item, flags);
      applied.insert(view::text_field(item, "service"));
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

/// A file as it is sent: in parts that the engine judges and carries out one at a time.
struct Sent {
  std::string path;
  std::string name;  ///< for people
  std::string text;
  std::vector<local::ServiceDocuments> parts;

  [[nodiscard]] std::string target(bool dry_run, bool write) const {
    return "/api/v1/services?base=" + url_encoded(base_of(path)) + (dry_run ? "&dry_run=1" : "") +
           (write ? "&write=1" : "");
  }
};

Result<std::vector<Sent>, Failure> read_files(const std::vector<std::string>& paths,
                                              const ApplyFlags& flags) {
  std::vector<Sent> files;
  for (const std::string& path : paths) {
    const std::string name = local::shown_name(path);
    auto text = local::read_spec_file(path, local::NamedPipes::read);
    if (!text) return Failure{kExitConfig, text.error().text()};
    auto parts = local::service_documents(*text, flags.write ? 1 : kAtOnce);
    if (!parts) return Failure{kExitConfig, name + ": " + parts.error().text()};
    files.push_back({path, name, std::move(*text), std::move(*parts)});
  }
  return files;
}

Result<std::string, Failure> put(const ApiPlace& engine, const Sent& file, std::string target,
                                 const std::string& text) {
  auto body = fetch(
      engine, {.method = "PUT", .target = std::move(target), .body = text, .timeout = kPatience});
  if (!body) return Failure{body.error().exit_code, in_file(body.error().text, file.name)};
  return body;
}

// What is sent at once is judged before anything of it changes; of more, each file is judged first.
std::optional<Failure> check(const ApiPlace& engine, const std::vector<Sent>& files,
                             const ApplyFlags& flags) {
  if (files.size() == 1 && files.front().parts.size() == 1) return std::nullopt;
  for (const Sent& file : files) {
    const auto judged = put(engine, file, file.target(true, flags.write), file.text);
    if (!judged) return judged.error();
  }
  return std::nullopt;
}

/// Without services that were refused one by one, which have their own lines.
struct Progress {
  std::set<std::string> applied;
  std::vector<std::string> others;  ///< of the part that failed, and of those after it
};

// A part that is refused for what it holds changed nothing.
std::string text_of(const Progress& progress, const Failure& failure) {
  return failure.text +
         fmt::format("\napplied: {}; {}: {}", fmt::join(progress.applied, ", "),
                     failure.exit_code == kExitConfig ? "not applied" : "not known to be applied",
                     fmt::join(progress.others, ", "));
}

int send(const Surroundings& with, const ApiPlace& engine, const std::vector<Sent>& files,
         const ApplyFlags& flags, Progress& progress) {
  int code = kExitOk;
  std::optional<Failure> failure;
  for (const Sent& file : files) {
    for (const local::ServiceDocuments& part : file.parts) {
      if (!failure) {
        const auto body = put(engine, file, file.target(flags.dry_run, flags.write), part.text);
        if (body) {
          code = std::max(code, print_results(with, reading::parsed(*body), flags, file.name,
                                              progress.applied));
          continue;
        }
        failure = body.error();
      }
      progress.others.insert(progress.others.end(), part.services.begin(), part.services.end());
    }
  }
  if (!failure) return code;
  if (!progress.applied.empty()) failure->text = text_of(progress, *failure);
  return report(with, *failure);
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
  const auto sent = read_files(*files, flags);
  if (!sent) {
    return report(with, sent.error());
  }
  if (const auto wrong = check(*engine, *sent, flags)) {
    return report(with, *wrong);
  }
  Progress progress;
  const int code = send(with, *engine, *sent, flags, progress);
  if (code != kExitOk || !flags.wait) {
    return code;
  }
  return await_ready(
      with, *engine,
      {.patience = *patience, .services = std::move(progress.applied), .progress = with.terminal});
}

}  // namespace sluice::commands
