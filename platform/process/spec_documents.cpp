#include "platform/process/spec_documents.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

namespace sluice::local {
namespace {

bool is_mark(std::string_view line) {
  return line.starts_with("---") &&
         (line.size() == 3 || line[3] == '\n' || line[3] == ' ' || line[3] == '\r');
}

}  // namespace

bool SpecDocument::blank() const {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::vector<SpecDocument> split_documents(std::string_view stream) {
  std::vector<SpecDocument> documents(1);
  documents.front().text = stream.substr(0, 0);
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < stream.size();) {
    const std::size_t end = std::min(stream.find('\n', begin), stream.size() - 1) + 1;
    const std::string_view line = stream.substr(begin, end - begin);
    ++lines;
    if (is_mark(line)) {
      documents.push_back({.mark = line, .text = stream.substr(end, 0), .before = lines});
    } else {
      std::string_view& text = documents.back().text;
      text = {text.data(), text.size() + line.size()};
    }
    begin = end;
  }
  return documents;
}

Result<std::string, Problem> service_name_in(std::string_view document) {
  try {
    const YAML::Node root = YAML::Load(std::string(document));
    const YAML::Node name =
        root.IsMap() && root["metadata"].IsMap() ? root["metadata"]["name"] : YAML::Node();
    if (name && name.IsScalar()) {
      return {boost::system::in_place_value, name.as<std::string>()};
    }
  } catch (const YAML::Exception& wrong) {
    return Problem{wrong.what(), "fix the YAML"};
  }
  return Problem{"metadata.name is missing", "give the service a name"};
}

std::optional<std::string> with_document(std::string_view stream, const std::string& name,
                                         std::string_view document) {
  std::string text;
  bool found = false;
  for (const SpecDocument& each : split_documents(stream)) {
    text += each.mark;
    const auto here = found || each.blank() ? Result<std::string, Problem>(Problem{})
                                            : service_name_in(each.text);
    if (here && *here == name) {
      found = true;
      text += document;
    } else {
      text += each.text;
    }
  }
  return found ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace sluice::local
