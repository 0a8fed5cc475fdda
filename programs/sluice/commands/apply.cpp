#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/fields.h"
#include <algorithm>
#include <fstream>
#include <iostream>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr std::size_t kFileBytesMax = 4U << 20U;

Result<std::vector<char>, Failure> read_file(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::vector<char> bytes(kFileBytesMax + 1);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (in.bad() || (path != "-" && !file.is_open())) {
    return Failure{kExitConfig, "cannot read " + path + "; check its name and permissions"};
  }
  if (bytes.size() > kFileBytesMax) {
    return Failure{kExitConfig, path + " is larger than 4 MiB; split it"};
  }
  return bytes;
}

// The documents of a stream as they are written, each behind as many empty lines as stood before
// it, so that the engine's messages name the lines of the file.
std::vector<std::string> documents_in(std::string_view text) {
  std::vector<std::string> documents(1);
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    const bool mark = line.starts_with("---") &&
                      (line.size() == 3 || line[3] == '\n' || line[3] == ' ' || line[3] == '\r');
    ++lines;
    if (mark) {
      documents.emplace_back(lines, '\n');
    } else {
      documents.back() += line;
    }
    text.remove_prefix(end);
  }
  std::erase_if(documents, [](const std::string& document) {
    return document.find_first_not_of(" \t\r\n") == std::string::npos;
  });
  return documents;
}

Result<std::vector<char>, Failure> name_in(const std::string& document, const std::string& path) {
  try {
    const YAML::Node name = YAML::Load(document)["metadata"]["name"];
    if (name && name.IsScalar()) {
      const auto text = name.as<std::string>();
      return std::vector<char>(text.begin(), text.end());
    }
  } catch (const YAML::Exception& wrong) {
    return Failure{kExitConfig, path + ": " + wrong.what() + "; fix the YAML"};
  }
  return Failure{kExitConfig, path + ": metadata.name is missing; give the service a name"};
}

// The engine does not know the file: its messages begin with `the document:LINE:`.
std::string in_file(std::string text, const std::string& path) {
  constexpr std::string_view kNoFile = "the document:";
  if (text.starts_with(kNoFile)) {
    return path + ":" + text.substr(kNoFile.size());
  }
  return path + ": " + text;
}

void print_warnings(const Surroundings& with, const json& result, const std::string& path) {
  for (const std::string& warning : reading::strings(result, "warnings")) {
    with.err << "warning: " << in_file(warning, path) << "\n";
  }
}

// What is true of the revision at this moment, which is seldom that it runs.
std::string state_text(const json& result) {
  const std::string state = view::text_field(result, "state");
  if (state == "asleep") return ", asleep: the next request starts it";
  const std::string serving = view::text_field(result, "serving");
  const bool waits = !serving.empty() && serving != view::text_field(result, "revision");
  return (state.empty() ? "" : ", " + state) +
         (waits ? "; " + serving + " serves until it is ready" : "");
}

void print_result(const Surroundings& with, const json& result, bool dry_run) {
  with.out << view::text_field(result, "service") << " " << view::text_field(result, "result");
  const std::string revision = view::text_field(result, "revision");
  with.out << (revision.empty() ? "" : ", revision " + revision)
           << (dry_run ? " (dry run: nothing was changed)" : state_text(result)) << "\n";
  const auto value = [](const json& change, const char* key) {
    const json& found = reading::member(change, key);
    if (found.is_null()) return std::string("nothing");
    return found.is_string() ? view::text_field(change, key) : found.dump();
  };
  for (const json& change : reading::array(result, "difference")) {
    with.out << "  " << view::text_field(change, "key") << ": " << value(change, "old") << " -> "
             << value(change, "new") << "\n";
  }
}

int apply_file(const Surroundings& with, const ApiPlace& engine, const std::string& path,
               bool dry_run) {
  const auto bytes = read_file(path);
  if (!bytes) {
    return report(with, bytes.error());
  }
  const auto documents = documents_in({bytes->data(), bytes->size()});
  if (documents.empty()) {
    return report(with, {kExitConfig, path + " has no document; write a Service into it"});
  }
  for (const std::string& document : documents) {
    const auto name = name_in(document, path);
    if (!name) {
      return report(with, name.error());
    }
    const FoundService target{.engine = engine, .service = std::string(name->begin(), name->end())};
    const auto body =
        fetch(engine, {.method = "PUT",
                       .target = target.path() + "/spec" + (dry_run ? "?dry_run=1" : ""),
                       .body = document});
    if (!body) {
      return report(with, {body.error().exit_code, in_file(body.error().text, path)});
    }
    const json result = reading::parsed(*body);
    print_result(with, result, dry_run);
    print_warnings(with, result, path);
  }
  return kExitOk;
}

}  // namespace

int run_apply(const Surroundings& with, const Arguments& args) {
  CLI::App app("Adds or changes services of a running engine.");
  std::vector<std::string> files;
  std::string name;
  bool dry_run = false;
  app.add_option("-f,--file", files, "a file of Services, or -; repeatable")
      ->type_name("FILE")
      ->required()
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--engine", name, "the engine, when several run")->type_name("NAME");
  app.add_flag("--dry-run", dry_run, "print the difference, change nothing");
  if (const auto code = ends_early(with, app, "apply", args)) {
    return *code;
  }
  const auto engine = find_engine(with, name);
  if (!engine) {
    return report(with, engine.error());
  }
  for (const std::string& path : files) {
    const int code = apply_file(with, *engine, path, dry_run);
    if (code != kExitOk) {
      return code;
    }
  }
  return kExitOk;
}

}  // namespace sluice::commands
