#include "programs/sluice/engine/spec_file_edit.h"

#include "common/files/file_io.h"

#include "platform/process/spec_documents.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace

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
