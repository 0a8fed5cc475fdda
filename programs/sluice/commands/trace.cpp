#include "load/core/trace.h"

#include "common/base/exit_status.h"
#include "common/files/file_io.h"
#include "common/values/flag_checks.h"

#include <CLI/CLI.hpp>

#include "load/core/quantity.h"
#include "load/core/trace_summary.h"
#include "load/io/trace_convert.h"
#include "load/io/trace_file.h"
#include "programs/sluice/commands/verbs.h"
#include <optional>
#include <ostream>
#include <utility>

namespace sluice::commands {
namespace {

constexpr const char* kInfo = "info";
constexpr const char* kConvert = "convert";
constexpr const char* kStandardOutput = "-";

struct Flags {
  std::string action;
  std::string file;
  std::string log_format;
  std::string fields;
  std::string output;
};

void declare(CLI::App& app, Flags& flags) {
  app.add_option("ACTION", flags.action,
                 "info: what is understood of the trace; convert: writes it as csv")
      ->required()
      ->check(CLI::IsMember({kInfo, kConvert}));
  app.add_option(
         "FILE", flags.file,
         "FILE or FILE:FORMAT, packed by gzip or not; without csv, combined, common, jsonl, "
         "har, azure2019, azure2021 or sluice (a recording) its beginning tells the format")
      ->type_name("FILE")
      ->required();
  auto* const format = app.add_option("--log-format", flags.log_format,
                                      "an access log with such lines, as nginx writes its "
                                      "log_format: '$host [$time_local] \"$request\" $status'")
                           ->type_name("FORMAT")
                           ->check(check_not_empty);
  app.add_option("--fields", flags.fields,
                 "JSON lines that have the time and more there: time=ts,path=request.uri")
      ->type_name("NAME=MEMBER,…")
      ->check(check_not_empty)
      ->excludes(format);
  app.add_option("-o,--output", flags.output, "of convert: the file to write; - is standard output")
      ->type_name("FILE");
}

Result<loadgen::TraceOptions, Problem> options_of(const Flags& flags) {
  loadgen::TraceOptions options;
  if (!flags.log_format.empty()) {
    auto format = loadgen::LogFormat::parse(flags.log_format);
    if (!format) return Problem{"--log-format: " + format.error().what, format.error().fix};
    options.log_format = *std::move(format);
  }
  if (!flags.fields.empty()) {
    auto fields = loadgen::JsonFields::parse(flags.fields);
    if (!fields) return Problem{"--fields: " + fields.error().what, fields.error().fix};
    options.fields = *std::move(fields);
  }
  return options;
}

// A format that is named, and a flag that says how to read another.
std::optional<Problem> conflict_in(const loadgen::TraceName& name,
                                   const loadgen::TraceOptions& options) {
  if (!name.format || (!options.log_format && !options.fields)) return std::nullopt;
  if (options.fields && name.format == loadgen::TraceFormat::jsonl) return std::nullopt;
  const std::string format{loadgen::name_of(*name.format)};
  return Problem{(options.fields ? "--fields is for JSON lines, not for "
                                 : "--log-format is for access logs of another form, not for ") +
                     format,
                 "leave out the flag or :" + format};
}

int print_info(const Surroundings& with, const loadgen::TraceName& name,
               const loadgen::TraceOptions& options) {
  const auto survey = loadgen::survey_trace(name, options);
  if (!survey) return report(with, {kExitConfig, survey.error().text()});
  with.out << loadgen::trace_text(survey->facts, survey->summary);
  return kExitOk;
}

int convert(const Surroundings& with, const Flags& flags, const loadgen::TraceName& name,
            const loadgen::TraceOptions& options) {
  std::optional<files::OutputFile> file;
  std::optional<Problem> unwritten;
  const auto write = [&](std::string_view bytes) -> std::optional<Problem> {
    if (flags.output == kStandardOutput) {
      with.out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      if (with.out) return std::nullopt;
      unwritten = Problem{"cannot write to standard output", "check what reads it"};
      return unwritten;
    }
    if (!file) {
      auto opened = files::OutputFile::open(flags.output);
      if (!opened) return unwritten = opened.error();
      file.emplace(*std::move(opened));
    }
    return unwritten = file->write(bytes);
  };
  const auto converted = loadgen::convert_trace(name, options, write);
  if (converted && file) unwritten = file->finish();
  if (unwritten) return report(with, {kExitFailure, unwritten->text()});
  if (!converted) return report(with, {kExitConfig, converted.error().text()});
  const std::string skipped = loadgen::describe_skipped(converted->facts);
  if (!skipped.empty()) with.err << "skipped: " << skipped << "\n";
  if (file) {
    with.out << loadgen::grouped(converted->requests) << " requests written to " << flags.output
             << "\n";
  }
  return kExitOk;
}

}  // namespace

int run_trace(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Says what is understood of recorded traffic: its format, requests, span, busiest second, "
      "how "
      "exact its times are, and what is skipped and why. Or writes it as csv.");
  Flags flags;
  declare(app, flags);
  if (const auto code = ends_early(with, app, "trace", args)) return *code;
  if ((flags.action == kConvert) == flags.output.empty()) {
    return report(with, {kExitUsage, flags.action == kConvert
                                         ? "convert writes a file: name it with -o OUT.csv"
                                         : "-o belongs to convert: sluice trace convert FILE -o "
                                           "OUT.csv"});
  }
  const auto options = options_of(flags);
  if (!options) return report(with, {kExitUsage, options.error().text()});
  const loadgen::TraceName name = loadgen::parse_trace_name(flags.file);
  if (const auto conflict = conflict_in(name, *options))
    return report(with, {kExitUsage, conflict->text()});
  return flags.action == kConvert ? convert(with, flags, name, *options)
                                  : print_info(with, name, *options);
}

}  // namespace sluice::commands
