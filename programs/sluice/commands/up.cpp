#include "programs/sluice/commands/up.h"

#include "common/scaling/setting_limits.h"
#include "common/values/dns_label.h"

#include <CLI/CLI.hpp>

#include "platform/process/engine_host.h"
#include "platform/process/quantity.h"
#include "programs/sluice/commands/usage.h"
#include "programs/sluice/engine/door_access.h"
#include <algorithm>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace sluice::commands {
namespace {

constexpr std::int64_t kCountMax = 1'000'000;
constexpr std::size_t kFilesMax = 1000;
constexpr std::size_t kEnvMax = 1000;

// Flags as they were written, before they are judged.
struct RawFlags {
  UpOptions options;
  std::int64_t port = 0;
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
  std::string window;
  std::vector<std::string> env;
  std::string cpu;
  std::string memory;
  std::string output = "text";
  std::pair<std::string, std::string> tls;
};

constexpr const char* kAbout =
    "Runs an engine: programs that sleep at zero and wake on their first request.";

using Trouble = std::optional<std::string>;

void add_flags(CLI::App& app, RawFlags& raw) {
  UpOptions& options = raw.options;
  const auto repeated = [](CLI::Option* option) {
    option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  repeated(app.add_option("-f,--file", options.files, "a file, a directory of *.yaml, or -")
               ->type_name("PATH"));
  app.add_flag("--demo", options.demo, "run the built-in app: / /sleep?ms= /burn?ms= /hold?mb=");
  app.add_option("--image", options.image,
                 "run an image with podman or docker; what follows -- are its arguments")
      ->type_name("IMAGE");
  app.add_option(
         "--name", options.name,
         "name of the service; the first up also names the engine, and alone it resumes that "
         "engine")
      ->type_name("NAME");
  app.add_option("--engine", options.engine, "start this engine, or add to it when it runs")
      ->type_name("NAME");
  app.add_option("--port", raw.port,
                 "the app listens on exactly N and ignores $PORT; of an image: $PORT is N (8080)")
      ->type_name("N");
  app.add_option("--http", options.http, "front door (127.0.0.1:8080, else the next free port)")
      ->type_name("HOST:PORT");
  app.add_option("--tls", raw.tls,
                 "the front door takes TLS: a PEM certificate chain and its key, reloaded when the "
                 "files change")
      ->type_name("CERT KEY");
  app.add_option("--target", options.target,
                 "target of concurrent requests per replica (as config.yaml says, else 10)")
      ->type_name("N");
  app.add_option("--concurrency", options.concurrency, "hard limit per replica (0 = none)")
      ->type_name("N");
  app.add_option("--min", raw.min, "minimum replicas")->type_name("N");
  app.add_option("--max", raw.max, "maximum replicas (as config.yaml says, else 8; 0 = no bound)")
      ->type_name("N");
  app.add_option("--window", raw.window, "stable window, 6s to 1h")->type_name("DUR");
  repeated(app.add_option("--env", raw.env, "environment variable of the app; repeatable")
               ->type_name("K=V"));
  app.add_option("--cpu", raw.cpu, "CPUs per replica, such as 0.5")->type_name("N");
  app.add_option("--memory", raw.memory, "memory per replica, such as 256Mi")->type_name("SIZE");
  app.add_flag("-d,--detach", options.detach, "return once ready; the engine keeps running");
  app.add_option("-o,--output", raw.output, "text, or json: one object per line")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--allow-edit", options.allow_edit,
               "let the front door wake, sleep, scale and move services, divide their traffic and "
               "drain places for clients that send the token of this start; specs, removals and "
               "the shutdown stay on the command line");
  app.add_option("--config", options.config_file, "engine settings")->type_name("FILE");
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->type_name("L")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
}

Trouble judge_forms(const CLI::App& app, const UpOptions& options) {
  const int forms = static_cast<int>(!options.files.empty()) + static_cast<int>(options.demo) +
                    static_cast<int>(!options.image.empty() || !options.command.empty());
  if (forms == 0 && !options.resume) {
    return kUpHelpLines;
  }
  if (forms > 1) {
    return "give one of -f, --demo, --image and a command, not several";
  }
  if (options.files.size() > kFilesMax) {
    return "-f: at most 1000 files";
  }
  if (app.count("--image") > 0) {
    if (const auto wrong = local::check_image(options.image)) return "--image: " + wrong->text();
  } else if (!options.command.empty() && options.command.front().empty()) {
    return "the command is empty; give a program after --";
  }
  if (!options.files.empty() || options.resume) {
    for (const char* flag : {"--port", "--target", "--concurrency", "--min", "--max", "--window",
                             "--env", "--cpu", "--memory"}) {
      if (app.count(flag) > 0) {
        return std::string(flag) + " belongs to the command form and --demo; " +
               (options.resume ? "give a command after --" : "with -f write it into the file");
      }
    }
  }
  return std::nullopt;
}

Trouble no_label(const char* flag, const std::string& name) {
  return std::string(flag) + ": " + name +
         " is not a DNS label; use 1 to 63 of a-z, 0-9 and -, no - at the ends";
}

// Words of `sluice load --engine`, where an engine's name may be given.
bool is_no_engine(const std::string& name) {
  return name == "auto" || name == "off";
}

Trouble judge_name(UpOptions& options) {
  const std::string& name = options.engine.empty() ? options.name : options.engine;
  if (is_no_engine(name)) {
    return name + " cannot name an engine: it is a word of sluice load --engine; give another name";
  }
  if (!options.engine.empty() && !is_dns_label(options.engine)) {
    return no_label("--engine", options.engine);
  }
  if (options.name.empty()) {
    const bool named_file =
        !options.files.empty() && options.files.front() != "-" && options.engine.empty();
    if (!named_file) {
      options.name = "app";
      return std::nullopt;
    }
    const std::filesystem::path file = options.files.front();
    const auto base = file.has_filename() ? file : file.parent_path();
    options.name = base.stem().string();
    if (!is_dns_label(options.name) || is_no_engine(options.name)) {
      return "the file's name " + options.name + " cannot name an engine; give --name NAME";
    }
    return std::nullopt;
  }
  options.name_given = true;
  // A file's services have names of their own.
  if (options.files.empty() && !options.resume && options.name == local::kReservedService) {
    return "--name: " + options.name +
           " cannot name a service: " + std::string(local::kEngineHost) +
           " is the engine's own host; give another";
  }
  return is_dns_label(options.name) ? std::nullopt : no_label("--name", options.name);
}

Trouble judge_door(UpOptions& options, bool given) {
  options.http_given = given;
  const auto door = local::parse_door(options.http);
  return door ? std::nullopt : Trouble("--http: " + door.error().text());
}

Trouble judge_numbers(const CLI::App& app, RawFlags& raw) {
  UpOptions& options = raw.options;
  const auto counts = [](const std::optional<std::int64_t>& value) {
    return !value || (*value >= 0 && *value <= kCountMax);
  };
  const double target = options.target.value_or(1);
  if (!(target >= 0.01 && target <= 1e6)) {
    return "--target: give a number from 0.01 to 1000000";
  }
  if (!counts(options.concurrency)) {
    return "--concurrency: give a number from 0 to 1000000";
  }
  if (!counts(raw.min) || !counts(raw.max)) {
    return "--min and --max: give numbers from 0 to 1000000";
  }
  if (app.count("--port") > 0) {
    if (raw.port < 1 || raw.port > 65535) {
      return "--port: give a number from 1 to 65535";
    }
    if (options.image.empty() && (raw.min.value_or(0) > 1 || raw.max.value_or(1) != 1)) {
      return "--port: only one replica can listen on a fixed port; leave out --min and --max, or "
             "let "
             "the app read $PORT";
    }
    if (options.image.empty()) raw.max = 1;
    options.port = static_cast<std::uint16_t>(raw.port);
  }
  if (raw.min && raw.max.value_or(0) > 0 && *raw.min > *raw.max) {
    return "--min " + std::to_string(*raw.min) + " is above --max " + std::to_string(*raw.max) +
           "; raise --max or lower --min";
  }
  if (raw.min) options.min = static_cast<std::int32_t>(*raw.min);
  if (raw.max) options.max = static_cast<std::int32_t>(*raw.max);
  return std::nullopt;
}

Trouble judge_quantities(RawFlags& raw) {
  UpOptions& options = raw.options;
  if (!raw.window.empty()) {
    const auto window = local::parse_duration(raw.window);
    if (!window || *window < autoscaler::kWindowMin || *window > autoscaler::kWindowMax) {
      return "--window: " + raw.window + " is not a duration from 6s to 1h";
    }
    options.window = *window;
  }
  if (!raw.cpu.empty()) {
    const auto cpu = local::parse_cpu(raw.cpu);
    if (!cpu) {
      return "--cpu: " + cpu.error().text();
    }
    options.cpu = *cpu;
  }
  if (!raw.memory.empty()) {
    const auto memory = local::parse_memory(raw.memory);
    if (!memory) {
      return "--memory: " + memory.error().text();
    }
    options.memory_bytes = *memory;
  }
  return std::nullopt;
}

Trouble judge_words(RawFlags& raw) {
  UpOptions& options = raw.options;
  if (raw.env.size() > kEnvMax) {
    return "--env: at most 1000 variables";
  }
  for (const std::string& pair : raw.env) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return "--env: " + pair + " is not K=V";
    }
    options.env.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  if (!raw.tls.first.empty()) {
    const auto whole = [](const std::string& path) {
      return std::filesystem::absolute(path).string();
    };
    options.tls.emplace(whole(raw.tls.first), whole(raw.tls.second));
  }
  options.output = raw.output == "json" ? OutputFormat::json : OutputFormat::text;
  if (options.detach &&
      std::find(options.files.begin(), options.files.end(), "-") != options.files.end()) {
    return "-d: a detached engine cannot read its file from standard input; save it to a file";
  }
  return std::nullopt;
}

}  // namespace

void show_up_flags(const FlagSink& see) {
  RawFlags raw;
  CLI::App app(kAbout);
  add_flags(app, raw);
  see(app);
}

Result<UpOptions, UsageProblem> parse_up(const std::vector<std::string>& args) {
  RawFlags raw;
  // What follows `--` is the app's own, whatever it looks like.
  const auto dashes = std::find(args.begin(), args.end(), "--");
  if (dashes != args.end()) {
    raw.options.command.assign(dashes + 1, args.end());
  }
  CLI::App app(kAbout);
  add_flags(app, raw);
  if (auto wrong = parse_flags(app, "up", {args.begin(), dashes})) {
    return std::move(*wrong);
  }
  UpOptions& options = raw.options;
  const bool nothing = options.files.empty() && !options.has_command_form();
  options.resume =
      nothing && dashes == args.end() && !(options.name.empty() && options.engine.empty());
  const Trouble troubles[] = {judge_forms(app, raw.options),
                              judge_name(raw.options),
                              judge_door(raw.options, app.count("--http") > 0),
                              judge_numbers(app, raw),
                              judge_quantities(raw),
                              judge_words(raw)};
  for (const Trouble& trouble : troubles) {
    if (trouble) {
      return UsageProblem{*trouble, false};
    }
  }
  return std::move(raw.options);
}

local::ServiceSpec command_service(const UpOptions& options) {
  local::CommandForm form;
  form.name = options.name;
  form.image = options.image;
  form.command = options.command;
  if (options.demo) {
    std::error_code ignored;
    form.command = {std::filesystem::read_symlink("/proc/self/exe", ignored).string(), "demo-app"};
  }
  form.port = options.port;
  form.target = options.target;
  if (options.concurrency) form.concurrency = static_cast<std::int32_t>(*options.concurrency);
  form.min = options.min;
  form.max = options.max;
  form.window = options.window;
  for (const auto& [name, value] : options.env) form.env.push_back({name, value});
  form.cpu = options.cpu;
  form.memory = options.memory_bytes;
  form.cwd = std::filesystem::current_path();
  return local::command_spec(form);
}

void announce_ready(const UpOptions& options, const std::string& banner,
                    const std::string& warnings) {
  if (options.ready_fd < 0) {
    return;
  }
  const std::string text = banner + '\0' + warnings;
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(options.ready_fd, rest.data(), rest.size());
    if (written <= 0) {
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::close(options.ready_fd);
}

}  // namespace sluice::commands
