#include "common/model/selector.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice::model {
namespace {

constexpr std::size_t kNameMax = 63;     // of the part after a slash, and of a value
constexpr std::size_t kPrefixMax = 253;  // of the part before it
constexpr std::size_t kQuotedMax = 80;

bool holds(const Selector::Expression& expression, const Labels& labels) {
  const auto found = labels.find(expression.key);
  const bool there = found != labels.end();
  const auto listed = [&] {
    return there && std::find(expression.values.begin(), expression.values.end(), found->second) !=
                        expression.values.end();
  };
  switch (expression.op) {
    case Selector::Operator::in:
      return listed();
    case Selector::Operator::not_in:
      return !listed();  // as the API has it: a label that is absent is in no set
    case Selector::Operator::exists:
      return there;
    case Selector::Operator::does_not_exist:
      return !there;
  }
  return false;
}

bool letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// What a label may be called, after its prefix, or have as its value.
bool is_word(std::string_view text) {
  if (text.empty() || text.size() > kNameMax) return false;
  if (!letter_or_digit(text.front()) || !letter_or_digit(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_key(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return is_word(text);
  const std::string_view prefix = text.substr(0, slash);
  const bool domain = !prefix.empty() && prefix.size() <= kPrefixMax &&
                      letter_or_digit(prefix.front()) && letter_or_digit(prefix.back()) &&
                      std::all_of(prefix.begin(), prefix.end(), [](char c) {
                        return letter_or_digit(c) || c == '-' || c == '.';
                      });
  return domain && is_word(text.substr(slash + 1));
}

bool is_value(std::string_view text) {
  return text.empty() || is_word(text);
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Splits at commas; `outside`: only at those outside of brackets.
std::vector<std::string_view> parts_of(std::string_view text, bool outside) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && (at == text.size() || !outside || depth <= 0)) {
      parts.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  return parts;
}

Problem misread(std::string_view part) {
  return {"`" + std::string{part.substr(0, kQuotedMax)} + "` is not a condition on labels",
          "write key=value, key!=value, key in (a,b), key notin (a,b), key or !key"};
}

// `key in (a,b)`: false when it is not of that form.
bool read_set(std::string_view part, Selector::Expression& found) {
  const auto open = part.find('(');
  if (open == std::string_view::npos || part.back() != ')') return false;
  const std::string_view head = trimmed(part.substr(0, open));
  const auto blank = head.find_first_of(" \t");
  if (blank == std::string_view::npos) return false;
  const std::string_view word = trimmed(head.substr(blank));
  if (word != "in" && word != "notin") return false;
  found.key = head.substr(0, blank);
  found.op = word == "in" ? Selector::Operator::in : Selector::Operator::not_in;
  for (const std::string_view value :
       parts_of(part.substr(open + 1, part.size() - open - 2), false)) {
    if (!is_value(value)) return false;
    found.values.emplace_back(value);
  }
  return true;
}

bool read_condition(std::string_view part, Selector& into) {
  Selector::Expression found;
  if (part.empty()) return false;
  if (part.find('(') != std::string_view::npos) {
    if (!read_set(part, found)) return false;
  } else if (const auto equals = part.find('='); equals != std::string_view::npos) {
    const bool negated = equals > 0 && part[equals - 1] == '!';
    const bool twice = equals + 1 < part.size() && part[equals + 1] == '=';
    const std::string_view value = trimmed(part.substr(equals + (twice ? 2 : 1)));
    found.key = trimmed(part.substr(0, equals - (negated ? 1 : 0)));
    if (!is_key(found.key) || !is_value(value) || (negated && twice)) return false;
    found.op = negated ? Selector::Operator::not_in : Selector::Operator::in;
    found.values.emplace_back(value);
    const auto [at, fresh] = negated ? std::pair{into.labels.end(), false}
                                     : into.labels.try_emplace(found.key, found.values.front());
    if (fresh) return true;
  } else {
    const bool absent = part.front() == '!';
    found.key = trimmed(part.substr(absent ? 1 : 0));
    found.op = absent ? Selector::Operator::does_not_exist : Selector::Operator::exists;
  }
  if (!is_key(found.key)) return false;
  into.expressions.push_back(std::move(found));
  return true;
}

}  // namespace

bool Selector::matches(const Labels& of) const {
  if (empty()) return false;
  const bool labelled = std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const auto found = of.find(wanted.first);
    return found != of.end() && found->second == wanted.second;
  });
  return labelled && std::all_of(expressions.begin(), expressions.end(),
                                 [&](const Expression& each) { return holds(each, of); });
}

Result<Selector, Problem> parse_selector(std::string_view text) {
  Selector selector;
  if (trimmed(text).empty()) return selector;
  for (const std::string_view part : parts_of(text, true)) {
    if (!read_condition(part, selector)) return misread(part);
  }
  return selector;
}

std::string selector_text(const Selector& selector) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text.append(text.empty() ? "" : ",").append(part);
  };
  for (const auto& [key, value] : selector.labels) add(std::string{key}.append("=").append(value));
  for (const auto& expression : selector.expressions) {
    std::string values;
    for (const std::string& value : expression.values) {
      values += (values.empty() ? "" : ",") + value;
    }
    using Operator = Selector::Operator;
    switch (expression.op) {
      case Operator::in:
        add(expression.key + " in (" + values + ")");
        break;
      case Operator::not_in:
        add(expression.key + " notin (" + values + ")");
        break;
      case Operator::exists:
        add(expression.key);
        break;
      case Operator::does_not_exist:
        add("!" + expression.key);
        break;
    }
  }
  return text;
}

}  // namespace sluice::model
