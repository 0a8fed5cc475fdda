#include "common/base/version.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "injector/patch/manifest.h"
#include "platform/process/service_spec.h"
#include "programs/sluice/commands/inject_yaml.h"
#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {
namespace {

using injector::Json;

constexpr const char* kKept =
    "Documents that do not change pass through as they are. One that changes is rewritten: keys\n"
    "keep their order, and only comments above the first key are kept.";

struct Stream {
  std::string file;
  std::vector<YamlPiece> pieces;
  std::vector<Json> documents;
};

Result<Stream, Failure> read_stream(const std::string& path) {
  const auto text = local::read_spec_file(path, local::NamedPipes::read);
  if (!text) return Failure{kExitConfig, text.error().text()};
  Stream stream{.file = local::shown_name(path), .pieces = yaml_pieces(*text), .documents = {}};
  auto documents = read_yaml(stream.pieces, stream.file);
  if (!documents) return Failure{kExitConfig, documents.error().text()};
  stream.documents = std::move(*documents);
  return stream;
}

// What `diff -u` would say of the changed documents, both written in the same style.
void print_difference(const Surroundings& with, const Stream& stream,
                      const std::vector<Json>& after, const injector::ManifestChange& change) {
  for (const std::size_t at : change.changed) {
    const Json& document = after[at];
    const std::string title = injector::text(document, "kind") + "/" +
                              injector::text(injector::member(document, "metadata"), "name");
    with.out << "--- " << stream.file << " " << title << "\n+++ " << stream.file << " " << title
             << "\n"
             << unified_difference(yaml_text(stream.documents[at]), yaml_text(document));
  }
}

void print_stream(const Surroundings& with, const Stream& stream, const std::vector<Json>& after,
                  const injector::ManifestChange& change) {
  for (std::size_t at = 0; at < stream.pieces.size(); ++at) {
    const YamlPiece& piece = stream.pieces[at];
    const bool changed = change.changed.contains(at);
    const bool open_mark = changed && !piece.mark.empty() && !piece.mark.ends_with('\n');
    with.out << piece.mark << (open_mark ? "\n" : "") << piece.head
             << (changed ? yaml_text(after[at]) : piece.body);
  }
  with.out.flush();
}

int print(const Surroundings& with, const Stream& stream, const std::vector<Json>& after,
          const injector::ManifestChange& change, bool dry_run) {
  for (const std::string& note : change.notes) with.err << note << "\n";
  if (dry_run) {
    print_difference(with, stream, after, change);
  } else {
    print_stream(with, stream, after, change);
  }
  return kExitOk;
}

void add_file(CLI::App& app, std::string& file, bool& dry_run) {
  app.add_option("-f,--file", file, "a file of Kubernetes manifests, or -")
      ->type_name("FILE")
      ->required();
  app.add_flag("--dry-run", dry_run, "print the difference instead of the result");
  app.footer(kKept);
}

}  // namespace

int run_inject(const Surroundings& with, const Arguments& args) {
  CLI::App app("Adds the sidecar to Deployments, StatefulSets, ReplicaSets and Pods of a file.");
  std::string file;
  std::string native = "auto";
  bool dry_run = false;
  bool keep_services = false;
  injector::InjectionSettings settings;
  settings.version = kVersion;
  settings.image = "sluice.dev/queue-proxy:" + settings.version;
  settings.renew = true;
  add_file(app, file, dry_run);
  app.add_option("--image", settings.image, "image of the sidecar")->capture_default_str();
  app.add_option("--pull-policy", settings.pull_policy, "Always, IfNotPresent or Never")
      ->check(CLI::IsMember({"Always", "IfNotPresent", "Never"}));
  app.add_option("--native", native,
                 "a native sidecar, which needs Kubernetes 1.29; auto: yes, since the cluster is "
                 "not asked")
      ->check(CLI::IsMember({"auto", "true", "false"}));
  app.add_flag(
      "--keep-services", keep_services,
      "do not change target ports; of a Deployment that already runs, apply the Service after "
      "the rollout, since pods without a sidecar drop out of it");
  if (const auto code = ends_early(with, app, "inject", args)) return *code;
  settings.native = native != "false";
  auto stream = read_stream(file);
  if (!stream) return report(with, stream.error());
  std::vector<Json> after = stream->documents;
  const auto change = injector::inject_manifest(after, settings, !keep_services);
  if (!change) return report(with, {kExitConfig, stream->file + ": " + change.error().text()});
  return print(with, *stream, after, *change, dry_run);
}

int run_uninject(const Surroundings& with, const Arguments& args) {
  CLI::App app("Removes from a file what `sluice inject` added.");
  std::string file;
  bool dry_run = false;
  add_file(app, file, dry_run);
  if (const auto code = ends_early(with, app, "uninject", args)) return *code;
  auto stream = read_stream(file);
  if (!stream) return report(with, stream.error());
  std::vector<Json> after = stream->documents;
  const auto change = injector::restore_manifest(after);
  return print(with, *stream, after, change, dry_run);
}

}  // namespace sluice::commands
