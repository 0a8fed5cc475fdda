#include "platform/process/spec_documents.h"

#include "common/yaml/yaml_reader.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::local {
namespace {

constexpr int kNestingMax = 64;

bool is_mark(std::string_view line) {
  return line.starts_with("---") &&
         (line.size() == 3 || line[3] == '\n' || line[3] == ' ' || line[3] == '\r');
}

/// The lines of `document` before its first one that says something.
std::string_view comments_above(std::string_view document) {
  std::size_t end = 0;
  while (end < document.size()) {
    const std::size_t first = document.find_first_not_of(" \t\r\n", end);
    if (first == std::string_view::npos || document[first] != '#') break;
    end = std::min(document.find('\n', first), document.size() - 1) + 1;
  }
  return document.substr(0, end);
}

/// A document as far as it is looked at here.
struct ReadDocument {
  DocumentName name;                  ///< its name may be empty
  std::vector<std::string> services;  ///< one, or those of a List
  std::set<std::string> words;        ///< every value in it: what it names is among them
};

void add_words(const YAML::Node& node, int depth, std::set<std::string>& words) {
  if (depth == 0) return;
  if (node.IsScalar()) words.insert(node.Scalar());
  if (node.IsSequence()) {
    for (const auto& each : node) add_words(each, depth - 1, words);
  }
  if (node.IsMap()) {
    for (const auto& each : node) add_words(each.second, depth - 1, words);
  }
}

std::string text_of(const YAML::Node& map, const char* key) {
  const YAML::Node value = map && map.IsMap() ? map[key] : YAML::Node();
  return value && value.IsScalar() ? value.Scalar() : std::string{};
}

/// One without a name is for the engine, which refuses it with its line.
DocumentName name_of(const YAML::Node& document) {
  const std::string kind = text_of(document, "kind");
  DocumentName name;
  if (document.IsMap()) name.name = text_of(document["metadata"], "name");
  name.config = text_of(document, "apiVersion") == "v1" &&
                (kind == "ConfigMap" || kind == "Secret") && !name.name.empty();
  return name;
}

Result<ReadDocument, Problem> read_document(std::string_view document) {
  try {
    const YAML::Node root = YAML::Load(std::string(document));
    ReadDocument read{.name = name_of(root), .services = {}, .words = {}};
    if (read.name.config) return read;
    for (const YAML::Node& item : items_of(root)) {
      DocumentName name = name_of(item);
      if (!name.config) read.services.push_back(std::move(name.name));
    }
    add_words(root, kNestingMax, read.words);
    return read;
  } catch (const YAML::Exception& wrong) {
    return Problem{wrong.what(), "fix the YAML"};
  }
}

/// A document, and in which part of its stream it is when it is a Service.
struct Placed {
  SpecDocument document;
  ReadDocument about;
  std::size_t part = 0;
};

ServiceDocuments part_of(const std::vector<Placed>& documents, std::size_t part) {
  ServiceDocuments made;
  std::set<std::string> words;
  for (const auto& [document, about, of] : documents) {
    if (about.name.config || of != part) continue;
    made.services.insert(made.services.end(), about.services.begin(), about.services.end());
    words.insert(about.words.begin(), about.words.end());
  }
  std::size_t lines = 0;
  for (const auto& [document, about, of] : documents) {
    const bool taken = about.name.config ? words.contains(about.name.name) : of == part;
    if (!taken) continue;
    if (document.before > 0) {
      made.text.append(document.before - 1 - lines, '\n').append("---\n");
      lines = document.before;
    }
    made.text += document.text;
    if (!made.text.ends_with('\n')) made.text += '\n';
    lines += static_cast<std::size_t>(std::count(document.text.begin(), document.text.end(), '\n') +
                                      (document.text.ends_with('\n') ? 0 : 1));
  }
  return made;
}

}  // namespace

bool SpecDocument::blank() const {
  return text.find_first_not_of(" \t\r\n", comments_above(text).size()) == std::string_view::npos;
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

Result<DocumentName, Problem> name_in(std::string_view document) {
  const auto read = read_document(document);
  if (!read) return read.error();
  if (read->name.name.empty())
    return Problem{"metadata.name is missing", "give the service a name"};
  return read->name;
}

Result<std::vector<ServiceDocuments>, Problem> service_documents(std::string_view stream,
                                                                 std::size_t at_once) {
  std::vector<Placed> documents;
  for (const SpecDocument& each : split_documents(stream)) {
    if (each.blank()) continue;
    // What cannot be read is for the engine too.
    auto read = read_document(each.text);
    documents.push_back({each, read ? std::move(*read) : ReadDocument{}, 0});
  }
  std::size_t services = 0;
  for (Placed& each : documents) {
    if (!each.about.name.config) each.part = services++ / at_once;
  }
  if (services == 0) return Problem{"it has no Service", "write one into it"};
  std::vector<ServiceDocuments> parts((services - 1) / at_once + 1);
  for (std::size_t part = 0; part < parts.size(); ++part) parts[part] = part_of(documents, part);
  return parts;
}

std::string_view service_document_in(std::string_view stream) {
  for (const SpecDocument& each : split_documents(stream)) {
    if (each.blank()) continue;
    const auto name = name_in(each.text);
    if (name && !name->config) return each.text;
  }
  return {};
}

std::optional<std::string> with_document(std::string_view stream, const std::string& name,
                                         std::string_view document) {
  std::string text;
  bool found = false;
  for (const SpecDocument& each : split_documents(stream)) {
    text += each.mark;
    const auto here =
        found || each.blank() ? Result<DocumentName, Problem>(Problem{}) : name_in(each.text);
    if (here && !here->config && here->name == name) {
      found = true;
      // A comment above it is of the document that takes its place, unless that has its own.
      if (!document.starts_with('#')) text += comments_above(each.text);
      text += document;
    } else {
      text += each.text;
    }
  }
  return found ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace sluice::local
