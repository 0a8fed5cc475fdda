#include "common/yaml/yaml_reader.h"

#include "common/values/closest_name.h"
#include "common/values/whole_number.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace sluice {
namespace {

constexpr std::size_t kProblemsMax = 20;
constexpr std::size_t kDepthMax = 64;
constexpr std::size_t kNodesMax = 200'000;
constexpr std::size_t kQuotedMax = 80;

int line_of(const YAML::Mark& mark, int otherwise) {
  return mark.is_null() ? otherwise : mark.line + 1;
}

/// Walks the events of a stream and throws when it is larger than we are willing to build. The
/// builder shares aliased nodes, so an alias counts as one node, however much it stands for.
class SizeGuard : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }

  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    count(mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    deeper(mark);
  }

  void OnSequenceEnd() override { --depth_; }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    deeper(mark);
  }

  void OnMapEnd() override { --depth_; }

 private:
  void count(const YAML::Mark& mark) {
    if (++nodes_ > kNodesMax) throw YAML::ParserException(mark, "more than 200000 values");
  }

  void deeper(const YAML::Mark& mark) {
    count(mark);
    if (++depth_ > kDepthMax) throw YAML::ParserException(mark, "nested deeper than 64 levels");
  }

  std::size_t nodes_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

std::size_t end_of_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || at + length > text.size()) return at;
    for (std::size_t next = at + 1; next < at + length; ++next) {
      if ((static_cast<unsigned char>(text[next]) & 0xC0U) != 0x80U) return at;
    }
    at += length;
  }
  return at;
}

std::vector<YAML::Node> items_of(const YAML::Node& document) {
  const auto is = [&document](const char* key, std::string_view value) {
    const YAML::Node found = document[key];
    return found && found.IsScalar() && found.Scalar() == value;
  };
  if (!document.IsMap() || !is("apiVersion", "v1") || !is("kind", "List")) return {document};
  const YAML::Node items = document["items"];
  if (!items || !items.IsSequence()) return {document};
  return {items.begin(), items.end()};
}

std::string YamlReader::place(int line) const {
  return fmt::format("{}:{}", file_, line);
}

void YamlReader::fail(int line, std::string what, std::string fix) {
  fail(line, {fmt::format("{}: {}", place(line), what), std::move(fix)});
}

void YamlReader::fail_missing(int line, const std::string& key, std::string what, std::string fix) {
  if (misspelt_.erase(key) == 0) fail(line, std::move(what), std::move(fix));
}

void YamlReader::fail(int line, Problem problem) {
  if (problems_.size() < kProblemsMax) problems_.emplace(line, std::move(problem));
}

std::vector<Problem> YamlReader::take_problems() {
  std::vector<Problem> all;
  for (auto& [line, problem] : problems_) all.push_back(std::move(problem));
  return all;
}

void YamlReader::warn(int line, const std::string& what) {
  if (!warned_.insert(what).second) return;
  warnings_.push_back(fmt::format("{}: {}", place(line), what));
}

std::vector<YAML::Node> YamlReader::documents(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    fail(1, {fmt::format("{} is larger than {} MiB", file_, bytes_max >> 20),
             "split it into several files"});
    return {};
  }
  const auto line_at = [&](std::size_t at) {
    return 1 + static_cast<int>(
                   std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  };
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    fail(line_at(nul), "NUL byte", "this is not a text file; give a YAML file");
    return {};
  }
  if (const auto end = end_of_utf8(text); end < text.size()) {
    fail(line_at(end), "not UTF-8", "save the file as UTF-8");
    return {};
  }
  try {
    const std::string copy(text);
    std::istringstream stream(copy);
    YAML::Parser parser(stream);
    SizeGuard guard;
    while (parser.HandleNextDocument(guard)) {
    }
    return YAML::LoadAll(copy);
  } catch (const YAML::Exception& problem) {
    fail(line_of(problem.mark, 1), problem.msg, "correct the YAML there");
  } catch (const std::exception& problem) {
    fail(1, problem.what(), "correct the YAML");
  }
  return {};
}

std::vector<YamlEntry> YamlReader::any_entries(const YAML::Node& node, int line,
                                               const std::string& where) {
  std::vector<YamlEntry> entries;
  if (!node.IsDefined() || node.IsNull()) return entries;
  if (!node.IsMap()) {
    fail(line_of(node.Mark(), line), fmt::format("`{}` must be a mapping", where),
         "write `key: value` lines, indented below it");
    return entries;
  }
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const int at = line_of(pair.first.Mark(), line);
    if (!pair.first.IsScalar() || pair.first.Scalar().find('\0') != std::string::npos) {
      fail(at, fmt::format("a key of `{}` is not a word", where), "use plain keys");
      continue;
    }
    const std::string& key = pair.first.Scalar();
    if (!seen.insert(key).second) {
      fail(at, fmt::format("`{}` is set twice in `{}`", key.substr(0, kQuotedMax), where),
           "keep one of them");
      continue;
    }
    entries.push_back({key, at, pair.second});
  }
  return entries;
}

std::vector<YamlEntry> YamlReader::entries(const YAML::Node& node, int line,
                                           const std::string& where, const YamlKeys& keys) {
  std::vector<YamlEntry> kept;
  const auto among = [](const std::string& key, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return key == name; });
  };
  for (YamlEntry& entry : any_entries(node, line, where)) {
    if (among(entry.key, keys.known)) {
      kept.push_back(std::move(entry));
    } else if (among(entry.key, keys.without_effect)) {
      warn(entry.line, fmt::format("`{}` has no effect on one machine", entry.key));
    } else if (!among(entry.key, keys.silent)) {
      const std::vector<std::string> known(keys.known.begin(), keys.known.end());
      std::vector<std::string> accepted = known;
      accepted.insert(accepted.end(), keys.without_effect.begin(), keys.without_effect.end());
      fail_unknown(entry, where, known, accepted);
    }
  }
  return kept;
}

std::vector<YamlEntry> YamlReader::known_entries(const YAML::Node& node, int line,
                                                 const std::string& where,
                                                 const std::vector<std::string>& known) {
  std::vector<YamlEntry> kept;
  for (YamlEntry& entry : any_entries(node, line, where)) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) {
      kept.push_back(std::move(entry));
    } else {
      fail_unknown(entry, where, known, known);
    }
  }
  return kept;
}

void YamlReader::fail_unknown(const YamlEntry& entry, const std::string& where,
                              const std::vector<std::string>& known,
                              const std::vector<std::string>& accepted) {
  const auto meant = closest_name(entry.key, accepted);
  if (meant) misspelt_.insert(*meant);
  fail(entry.line, fmt::format("unknown key `{}` in `{}`", entry.key.substr(0, kQuotedMax), where),
       meant ? fmt::format("did you mean `{}`?", *meant)
             : fmt::format("remove it; known are {}", fmt::join(known, ", ")));
}

std::optional<std::string> YamlReader::text(const YamlEntry& entry) {
  if (entry.value.IsNull()) return std::string();
  if (!entry.value.IsScalar()) {
    fail(line_of(entry.value.Mark(), entry.line),
         fmt::format("`{}` must be text, not a {}", entry.key,
                     entry.value.IsMap() ? "mapping" : "list"),
         "write one value");
    return std::nullopt;
  }
  const std::string& value = entry.value.Scalar();
  if (value.find('\0') != std::string::npos) {
    fail(entry.line, fmt::format("`{}` contains a NUL byte", entry.key), "remove it");
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> YamlReader::integer(const YamlEntry& entry, std::int64_t min,
                                                std::int64_t max) {
  if (entry.value.IsScalar()) {
    if (const auto value = whole_number(entry.value.Scalar(), min, max)) return value;
  }
  const std::string shown =
      entry.value.IsScalar() ? fmt::format(", not `{}`", entry.value.Scalar().substr(0, kQuotedMax))
                             : std::string();
  fail(line_of(entry.value.Mark(), entry.line),
       fmt::format("`{}` must be a whole number from {} to {}{}", entry.key, min, max, shown),
       "write such a number");
  return std::nullopt;
}

std::optional<bool> YamlReader::boolean(const YamlEntry& entry) {
  if (entry.value.IsScalar() && entry.value.Scalar() == "true") return true;
  if (entry.value.IsScalar() && entry.value.Scalar() == "false") return false;
  fail(line_of(entry.value.Mark(), entry.line),
       fmt::format("`{}` must be true or false", entry.key), "write true or false");
  return std::nullopt;
}

std::vector<YamlEntry> YamlReader::items(const YamlEntry& entry, std::size_t max) {
  std::vector<YamlEntry> items;
  if (entry.value.IsNull()) return items;
  if (!entry.value.IsSequence()) {
    fail(line_of(entry.value.Mark(), entry.line), fmt::format("`{}` must be a list", entry.key),
         "begin each item with `- `");
    return items;
  }
  if (entry.value.size() > max) {
    fail(entry.line, fmt::format("`{}` has more than {} items", entry.key, max), "shorten it");
    return items;
  }
  for (const auto& item : entry.value)
    items.push_back(
        {entry.key, line_of(item.Mark(), entry.line), static_cast<const YAML::Node&>(item)});
  return items;
}

}  // namespace sluice
