#include "common/settings/program_variables.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace sluice::settings {
namespace {

using log::Severity;

struct Reading {
  Severity level;
  bool refused;
};

Reading read(std::optional<std::string> value) {
  const Environment environment = [&value](const char* /*name*/) { return value; };
  Reader reader{environment};
  const Severity level = read_log_level(reader);
  return {level, reader.problem().has_value()};
}

TEST(LogLevel, IsInfoUnlessSet) {
  EXPECT_EQ(read(std::nullopt).level, Severity::info);
  EXPECT_EQ(read("").level, Severity::info);
  EXPECT_EQ(read("debug").level, Severity::debug);
  EXPECT_EQ(read("error").level, Severity::error);
}

TEST(LogLevel, AcceptsBothSpellingsOfWarning) {
  EXPECT_EQ(read("warn").level, Severity::warning);
  EXPECT_EQ(read("warning").level, Severity::warning);
}

TEST(LogLevel, RefusesOtherValues) {
  EXPECT_TRUE(read("loud").refused);
  EXPECT_FALSE(read("error").refused);
}

}  // namespace
}  // namespace sluice::settings
