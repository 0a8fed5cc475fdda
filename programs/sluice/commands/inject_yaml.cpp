#include "programs/sluice/commands/inject_yaml.h"

#include "common/json/write.h"
#include "common/yaml/yaml_reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace sluice::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBytesMax = 4U << 20U;
constexpr std::size_t kPiecesMax = 1000;
constexpr std::size_t kValuesMax = 200'000;  // of one document, aliases written out
constexpr int kDepthMax = 64;

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whole numbers with the prefixes 0x, 0b, 0o and 0, signs and underscores.
std::optional<Json> whole_number(std::string text) {
  std::erase(text, '_');
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.erase(0, 1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = text[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    text.erase(0, is_digit(mark) ? 1 : 2);
    if (base == 8 && !is_digit(mark) && mark != 'o' && mark != 'O') return std::nullopt;
  }
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || failed != std::errc{} || stop != end) return std::nullopt;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!negative) return value <= kMost ? Json(static_cast<std::int64_t>(value)) : Json(value);
  if (value > kMost) return std::nullopt;
  return Json(-static_cast<std::int64_t>(value));
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
std::optional<Json> broken_number(std::string_view text) {
  std::string_view rest = text;
  const auto sign = [&] {
    if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  };
  const auto run = [&] {
    std::size_t count = 0;
    while (count < rest.size() && is_digit(rest[count])) ++count;
    rest.remove_prefix(count);
    return count;
  };
  sign();
  const std::size_t whole = run();
  const bool dot = rest.starts_with('.');
  if (dot) rest.remove_prefix(1);
  const std::size_t part = dot ? run() : 0;
  if (whole + part == 0) return std::nullopt;
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    sign();
    if (run() == 0) return std::nullopt;
  }
  if (!rest.empty()) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return Json(value);
}

// What a plain scalar means to kubectl; absent: itself.
std::optional<Json> resolved(std::string_view text) {
  if (one_of(text, {"", "~", "null", "Null", "NULL"})) return Json(nullptr);
  if (one_of(text, {"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})) {
    return Json(true);
  }
  if (one_of(text, {"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"})) {
    return Json(false);
  }
  if (!is_digit(text[0]) && text[0] != '-' && text[0] != '+' && text[0] != '.') return std::nullopt;
  if (auto number = whole_number(std::string{text})) return number;
  return broken_number(text);
}

/// Makes JSON of a document within limits; what is beyond them throws.
class Reading {
 public:
  Json value(const YAML::Node& node, int depth) {
    if (++values_ > kValuesMax || depth > kDepthMax) {
      throw YAML::RepresentationException(node.Mark(),
                                          "too large once its aliases are written out");
    }
    if (!node.IsDefined() || node.IsNull()) return nullptr;
    if (node.IsScalar()) return scalar(node);
    if (node.IsMap()) return map(node, depth);
    Json list = Json::array();
    for (const auto& item : node) list.push_back(value(item, depth + 1));
    return list;
  }

 private:
  static Json scalar(const YAML::Node& node) {
    const std::string& tag = node.Tag();
    const bool plain = tag == "?" || tag.empty();
    const bool typed = one_of(tag, {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float",
                                    "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"});
    if (!plain && !typed && tag != "!" && tag != "tag:yaml.org,2002:str") {
      throw YAML::RepresentationException(node.Mark(), "a tag that Kubernetes does not support");
    }
    auto meant = plain || typed ? resolved(node.Scalar()) : std::nullopt;
    return meant ? std::move(*meant) : Json(node.Scalar());
  }

  Json map(const YAML::Node& node, int depth) {
    Json object = Json::object();
    for (const auto& pair : node) {
      if (!pair.first.IsScalar()) {
        throw YAML::RepresentationException(pair.first.Mark(), "a key that is not a string");
      }
      const std::string& key = pair.first.Scalar();
      if (key == "<<" && pair.first.Tag() != "!") continue;
      if (object.contains(key)) {
        throw YAML::RepresentationException(pair.first.Mark(), "a duplicate key");
      }
      object[key] = value(pair.second, depth + 1);
    }
    for (const auto& pair : node) {
      if (pair.first.Scalar() == "<<" && pair.first.Tag() != "!") merge(object, pair.second, depth);
    }
    return object;
  }

  // A merge key gives what the mapping does not say itself.
  void merge(Json& object, const YAML::Node& from, int depth) {
    if (from.IsSequence()) {
      for (const auto& item : from) merge(object, item, depth + 1);
      return;
    }
    const Json other = value(from, depth + 1);
    if (!other.is_object()) {
      throw YAML::RepresentationException(from.Mark(), "a merge key without a mapping");
    }
    for (const auto& [key, given] : other.items()) {
      if (!object.contains(key)) object[key] = given;
    }
  }

  std::size_t values_ = 0;
};

bool is_plain(std::string_view text) {
  if (text.empty() || resolved(text) || text.ends_with(' ') || text.ends_with(':')) return false;
  const char first = text.front();
  if (is_digit(first)) {
    // A quantity or a duration; anything else that begins so may be read as a date or a time.
    const auto letters = static_cast<std::size_t>(
        std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    return text.size() - letters <= 2 &&
           std::all_of(text.begin() + static_cast<std::ptrdiff_t>(letters), text.end(), is_letter);
  }
  if (!is_letter(first) && first != '/' && first != '_') return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string quoted(const std::string& text) {
  return json_line(Json(text));
}

// Whether `text` may stand as a block of lines.
bool is_lines(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n') {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
}

void write_lines(std::string& out, std::string_view text, std::size_t indent) {
  const std::size_t last = text.find_last_not_of('\n');
  const std::size_t ends = text.size() - last - 1;
  out += ends == 0 ? "|-\n" : ends == 1 ? "|\n" : "|+\n";
  std::string_view rest = text;
  if (ends > 0) rest.remove_suffix(1);
  while (true) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (!line.empty()) out.append(indent, ' ').append(line);
    out += '\n';
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
}

// A scalar, or a collection without members, behind its key; with the end of its line.
void write_scalar(std::string& out, const Json& value, std::size_t indent) {
  if (!value.is_string()) {
    out += value.is_object() ? "{}" : value.is_array() ? "[]" : value.dump();
    out += '\n';
    return;
  }
  const auto& text = value.get_ref<const std::string&>();
  if (is_lines(text)) return write_lines(out, text, indent);
  out += is_plain(text) ? text : quoted(text);
  out += '\n';
}

// Bounded by the depth of what read_yaml() lets through. `begun`: the first line is indented
// already.
void write_value(std::string& out, const Json& value, std::size_t indent, bool begun) {
  const bool map = value.is_object();
  for (const auto& [key, item] : value.items()) {
    if (!begun) out.append(indent, ' ');
    begun = false;
    out += map ? (is_plain(key) ? key : quoted(key)) + ":" : "-";
    const bool whole = !item.is_structured() || item.empty();
    if (whole) {
      out += ' ';
      write_scalar(out, item, indent + 2);
    } else if (map) {
      out += '\n';
      write_value(out, item, item.is_array() ? indent : indent + 2, false);
    } else {
      out += ' ';
      write_value(out, item, indent + 2, true);
    }
  }
}

// Where the first line begins that is neither empty nor a comment.
std::size_t end_of_head(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t first = text.find_first_not_of(" \t\r", at);
    if (first != std::string_view::npos && text[first] != '#' && text[first] != '\n') return at;
    const std::size_t end = text.find('\n', at);
    at = end == std::string_view::npos ? text.size() : end + 1;
  }
  return at;
}

}  // namespace

std::vector<YamlPiece> yaml_pieces(std::string_view text) {
  std::vector<YamlPiece> pieces(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const bool mark =
        line.starts_with("---") &&
        (line.size() == 3 || std::string_view{" \t\r\n"}.find(line[3]) != std::string_view::npos);
    if (!mark) {
      pieces.back().body += line;
      continue;
    }
    const std::size_t rest = std::min(line.find_first_not_of("- \t\r\n"), line.size());
    const bool alone = rest == line.size() || line[rest] == '#';
    pieces.push_back({.mark = std::string{alone ? line : line.substr(0, rest)},
                      .head = {},
                      .body = std::string{alone ? std::string_view{} : line.substr(rest)}});
  }
  for (YamlPiece& piece : pieces) {
    const std::size_t end = end_of_head(piece.body);
    piece.head = piece.body.substr(0, end);
    piece.body.erase(0, end);
  }
  return pieces;
}

Result<std::vector<Json>, Problem> read_yaml(const std::vector<YamlPiece>& pieces,
                                             const std::string& file) {
  std::vector<Json> documents;
  if (pieces.size() > kPiecesMax)
    return Problem{file + " has more than 1000 documents", "split it"};
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  std::ptrdiff_t line = 0;
  for (const YamlPiece& piece : pieces) {
    line += lines(piece.mark) + lines(piece.head);
    YamlReader reader{file};
    // Empty lines before it, so that a message names the line of the file.
    const auto found =
        reader.documents(std::string(static_cast<std::size_t>(line), '\n') + piece.body,
                         kBytesMax + static_cast<std::size_t>(line));
    line += lines(piece.body);
    if (reader.failed()) return reader.take_problems().front();
    if (found.size() > 1) {
      return Problem{file + " has documents that are not separated by ---", "add that line"};
    }
    try {
      documents.push_back(found.empty() ? Json() : Reading{}.value(found.front(), 0));
    } catch (const YAML::Exception& wrong) {
      return Problem{reader.place(wrong.mark.line + 1) + ": " + wrong.msg,
                     "correct the YAML there"};
    }
  }
  return documents;
}

std::string yaml_text(const Json& document) {
  std::string out;
  if (document.is_structured() && !document.empty()) {
    write_value(out, document, 0, false);
  } else {
    write_scalar(out, document, 2);
  }
  return out;
}

}  // namespace sluice::commands
