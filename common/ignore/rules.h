#pragma once

#include "common/base/result.h"
#include "common/http/message.h"
#include "common/scaling/setting_names.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace sluice::ignore {

/// Annotations that hold the rules of a revision, one a line (ecosystem.md 3.1).
inline constexpr std::string_view kPathsKey = kIgnorePathsKey;
inline constexpr std::string_view kAgentsKey = kIgnoreAgentsKey;

/// Which requests are not counted and wake no service: those to a path, exact or a prefix that ends
/// in `*`, and those of a user agent in which an expression of RE2 is found. Services of different
/// authors share a program, so neither parsing nor matching may take long.
class Rules {
 public:
  static constexpr std::size_t kRulesMax = 100;  ///< of paths, and of user agents
  static constexpr std::size_t kRuleBytesMax = 1024;
  static constexpr std::size_t kStepsMax = 4'000;     ///< of all expressions, as RE2 counts them
  static constexpr std::size_t kAgentBytesMax = 512;  ///< of a user agent that are looked at

  /// One rule a line, blanks around it and empty lines passed over. A rule that is wrong or too
  /// much is left out and listed in problems(); after ten of them further expressions are not read.
  Rules(std::string paths, std::string user_agents);
  ~Rules();
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  /// Whether there is nothing to match.
  [[nodiscard]] bool empty() const { return paths_.empty() && agents_.empty(); }

  [[nodiscard]] bool match(const http::RequestHead& head) const {
    return !empty() && match(head.path(), head.fields.get(http::Known::user_agent));
  }

  /// `path` without query, as it was sent.
  [[nodiscard]] bool match(std::string_view path, std::string_view user_agent) const;

  /// Whether they were read from these very texts.
  [[nodiscard]] bool read_from(std::string_view paths, std::string_view user_agents) const {
    return path_text_ == paths && agent_text_ == user_agents;
  }

  /// One for each rule that was left out, at most a few.
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }

 private:
  struct Path {
    std::string_view text;  // of path_text_
    bool prefix = false;
  };

  void add_path(std::string_view rule);
  void add_agent(std::string_view rule);
  void refuse(std::string_view kind, std::string_view rule, std::string_view why,
              std::string_view fix);

  std::string path_text_;
  std::string agent_text_;
  std::vector<Path> paths_;
  std::vector<std::unique_ptr<re2::RE2>> agents_;
  std::size_t steps_ = 0;
  std::vector<Problem> problems_;
};

}  // namespace sluice::ignore
