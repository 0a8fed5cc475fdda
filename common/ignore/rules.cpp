#include "common/ignore/rules.h"

#include <algorithm>
#include <re2/re2.h>
#include <utility>

namespace sluice::ignore {
namespace {

constexpr std::string_view kPaths = "ignore-paths";
constexpr std::string_view kAgents = "ignore-user-agents";

// Of one expression and of what matching it keeps.
constexpr std::int64_t kExpressionMemory = 64 << 10;

constexpr std::size_t kProblemsMax = 10;
constexpr std::size_t kQuotedMax = 80;  // of a rule, in a problem

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

template <class Take>
void each_rule(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view rule = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!rule.empty()) take(rule);
  }
}

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

RE2::Options options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kExpressionMemory);
  return options;
}

}  // namespace

Rules::Rules(std::string paths, std::string user_agents)
    : path_text_{std::move(paths)}, agent_text_{std::move(user_agents)} {
  each_rule(path_text_, [this](std::string_view rule) { add_path(rule); });
  each_rule(agent_text_, [this](std::string_view rule) { add_agent(rule); });
}

Rules::~Rules() = default;

bool Rules::match(std::string_view path, std::string_view user_agent) const {
  for (const Path& rule : paths_) {
    if (rule.prefix ? path.starts_with(rule.text) : path == rule.text) return true;
  }
  user_agent = user_agent.substr(0, kAgentBytesMax);
  return std::any_of(agents_.begin(), agents_.end(), [user_agent](const auto& rule) {
    return RE2::PartialMatch(piece(user_agent), *rule);
  });
}

void Rules::add_path(std::string_view rule) {
  if (paths_.size() >= kRulesMax)
    return refuse(kPaths, rule, "is one too many", "give 100 at most");
  if (rule.size() > kRuleBytesMax) return refuse(kPaths, rule, "is too long", "give 1024 bytes");
  if (!rule.starts_with('/')) {
    return refuse(kPaths, rule, "is not a path", "begin with /, as in /healthz or /internal/*");
  }
  const std::size_t star = rule.find('*');
  if (star != std::string_view::npos && star + 1 != rule.size()) {
    return refuse(kPaths, rule, "has a * inside",
                  "put the * at the end only, where it matches any suffix");
  }
  const bool prefix = star != std::string_view::npos;
  paths_.push_back({prefix ? rule.substr(0, star) : rule, prefix});
}

void Rules::add_agent(std::string_view rule) {
  // Of one that is too large even to say so takes milliseconds.
  if (problems_.size() >= kProblemsMax) return;
  if (agents_.size() >= kRulesMax) {
    return refuse(kAgents, rule, "is one too many", "give 100 at most");
  }
  if (rule.size() > kRuleBytesMax) return refuse(kAgents, rule, "is too long", "give 1024 bytes");
  if (steps_ >= kStepsMax) {
    return refuse(kAgents, rule, "is ignored: the expressions before it reach the size limit",
                  "give fewer or simpler expressions");
  }
  auto expression = std::make_unique<re2::RE2>(piece(rule), options());
  if (!expression->ok()) {
    return refuse(kAgents, rule, "is not a valid RE2 expression: " + expression->error(),
                  "see github.com/google/re2/wiki/Syntax");
  }
  const auto steps = static_cast<std::size_t>(std::max(0, expression->ProgramSize()));
  if (steps_ + steps > kStepsMax) {
    return refuse(kAgents, rule, "exceeds the size limit together with the expressions before it",
                  "give fewer or simpler expressions");
  }
  steps_ += steps;
  agents_.push_back(std::move(expression));
}

void Rules::refuse(std::string_view kind, std::string_view rule, std::string_view why,
                   std::string_view fix) {
  if (problems_.size() >= kProblemsMax) return;
  std::string what{kind};
  what.append(": `").append(rule.substr(0, kQuotedMax)).append("` ").append(why);
  problems_.push_back({std::move(what), std::string{fix}});
}

}  // namespace sluice::ignore
