#include "programs/sluice/engine/spec_file_edit.h"

#include "common/files/file_io.h"

#include "platform/process/spec_documents.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace sluice::local {
namespace {

// Without what stands before its first line, and ended by a newline.
std::string trimmed(std::string_view document) {
  for (std::size_t end = 0; (end = document.find('\n')) != std::string_view::npos;) {
    const std::string_view line = document.substr(0, end);
    const bool empty = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (!empty && !line.starts_with("---")) break;
    document.remove_prefix(end + 1);
  }
  std::string text{document};
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

// The services of the file with `document` in it; empty when they are not the present ones with
// `spec` in its place.
std::string changed_text(const std::string& text, const std::filesystem::path& file,
                         const ServiceSpec& spec, const std::string& document,
                         const SpecDefaults& defaults) {
  const auto services_of = [&](const std::string& stream) {
    auto parsed = parse_services(stream, file.string(), file.parent_path(), defaults);
    return parsed ? std::move(parsed->services) : std::vector<ServiceSpec>{};
  };
  auto changed = with_document(text, spec.name, document);
  if (!changed) return {};
  auto wanted = services_of(text);
  const auto own = std::find_if(wanted.begin(), wanted.end(), [&spec](const ServiceSpec& each) {
    return each.name == spec.name;
  });
  if (own == wanted.end()) return {};
  *own = spec;
  return services_of(*changed) == wanted ? *changed : std::string{};
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Nothing, or a comment.
bool says_nothing(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos || line[first] == '#';
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string traffic_lines(const Traffic& traffic, std::size_t indent) {
  const std::string pad(indent, ' ');
  std::string text = pad + "traffic:\n";
  for (const TrafficTarget& target : traffic) {
    text.append(pad).append("  - ");
    text.append(target.revision.empty() ? "latestRevision: true"
                                        : "revisionName: " + target.revision);
    text.append("\n").append(pad).append("    percent: ").append(std::to_string(target.percent));
    if (!target.tag.empty())
      text.append("\n").append(pad).append("    tag: \"").append(target.tag).append("\"");
    text.append("\n");
  }
  return text;
}

// Where the value of a key ends whose lines begin at `first`: comments before the next key are that
// key's.
std::size_t end_of_value(const std::vector<std::string_view>& lines, std::size_t first,
                         std::size_t indent) {
  std::size_t end = first + 1;
  for (std::size_t i = end; i < lines.size(); ++i) {
    if (says_nothing(lines[i])) continue;
    const std::size_t here = indent_of(lines[i]);
    if (here < indent || (here == indent && lines[i][here] != '-')) break;
    end = i + 1;
  }
  return end;
}

// `document` with another `traffic:` in its `spec:`; empty when that is no block of lines.
std::string with_traffic(std::string_view document, const Traffic& traffic) {
  const auto lines = lines_of(document);
  const auto spec = std::find_if(lines.begin(), lines.end(), [](std::string_view line) {
    return line.starts_with("spec:") && says_nothing(line.substr(5));
  });
  if (spec == lines.end()) return {};
  const auto first = static_cast<std::size_t>(spec - lines.begin()) + 1;
  std::size_t child = first;
  while (child < lines.size() && says_nothing(lines[child])) ++child;
  const std::size_t indent = child < lines.size() ? indent_of(lines[child]) : 0;
  if (indent == 0) return {};
  const std::size_t end = end_of_value(lines, first - 1, 1);
  std::size_t begin = first;
  std::size_t after = first;
  for (std::size_t i = first; i < end; ++i) {
    if (indent_of(lines[i]) != indent || !lines[i].substr(indent).starts_with("traffic:")) continue;
    begin = i;
    after = end_of_value(lines, i, indent);
    break;
  }
  std::string text;
  for (std::size_t i = 0; i < begin; ++i) text.append(lines[i]).append("\n");
  text += traffic_lines(traffic, indent);
  for (std::size_t i = after; i < lines.size(); ++i) text.append(lines[i]).append("\n");
  return text;
}

}  // namespace

std::optional<Problem> write_traffic(const std::filesystem::path& file, const ServiceSpec& spec,
                                     const SpecDefaults& defaults) {
  const auto text = read_spec_file(file);
  if (!text) return text.error();
  for (const SpecDocument& each : split_documents(*text)) {
    const auto name = each.blank() ? Result<DocumentName, Problem>{Problem{}} : name_in(each.text);
    if (!name || name->config || name->name != spec.name) continue;
    const std::string document = with_traffic(each.text, spec.traffic);
    if (!document.empty()) return write_into_file(file, spec, document, defaults);
  }
  return Problem{
      "the traffic of " + spec.name + " in " + file.string() + " cannot be replaced alone",
      "edit the file"};
}

std::optional<Problem> write_into_file(const std::filesystem::path& file, const ServiceSpec& spec,
                                       const std::string& document, const SpecDefaults& defaults) {
  const auto cannot = [&file](const std::string& why) {
    return Problem{"cannot write " + file.string() + ": " + why,
                   "make it writable, or change the file where it comes from"};
  };
  std::error_code failed;
  const auto place = std::filesystem::canonical(file, failed);  // a link stays one
  if (failed) return cannot(failed.message());
  const auto text = read_spec_file(place);
  if (!text) return text.error();

  struct stat info {};

  if (::access(place.c_str(), W_OK) != 0 || ::stat(place.c_str(), &info) != 0) {
    return cannot(std::strerror(errno));
  }
  const std::string changed =
      changed_text(*text, file, spec, trimmed(service_document_in(document)), defaults);
  if (changed.empty()) {
    return Problem{
        "the document of " + spec.name + " in " + file.string() + " cannot be replaced alone",
        "edit the file"};
  }
  if (changed.size() > kSpecFileBytesMax) return cannot("it would be larger than 4 MiB");
  return files::replace_file(place, changed, info.st_mode & 07777U);
}

}  // namespace sluice::local
