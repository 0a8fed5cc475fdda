#include "common/settings/reader.h"

#include "common/net/host_and_port.h"
#include "common/settings/program_variables.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace sluice::settings {
namespace {

using Variables = std::map<std::string, std::string>;

// What `read` makes of the variables, or the complaint about them.
template <class Read>
std::string outcome(const Variables& variables, Read read) {
  const Environment environment = [&](const char* name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional{at->second};
  };
  Reader reader{environment};
  const std::string value = read(reader);
  return reader.problem() ? reader.problem()->text() : value;
}

TEST(SettingsReader, DurationsAreReadAsAnnotationsAre) {
  const auto read = [](Reader& reader) {
    const DurationRange range{Duration{0}, std::chrono::hours{1}};
    return show_duration(reader.wait_or("WAIT", std::chrono::seconds{7}, range));
  };
  EXPECT_EQ(outcome({}, read), "7s");
  EXPECT_EQ(outcome({{"WAIT", "1m30s"}}, read), "1m30s");
  EXPECT_EQ(outcome({{"WAIT", ".5s"}}, read), "0.5s");
  EXPECT_EQ(outcome({{"WAIT", "0"}}, read), "0s");
  for (const char* wrong : {"", "1", "-1s", "61m", "1d", "1e3s", "soon"}) {
    EXPECT_EQ(outcome({{"WAIT", wrong}}, read),
              "WAIT='" + std::string{wrong} +
                  "' is wrong; give a duration such as 10s or 500ms, from 0s to 1h");
  }
}

TEST(SettingsReader, ARequiredTextMustExistAndHaveAValue) {
  const auto read = [](Reader& reader) { return reader.needed("NAME", "this pod's name"); };
  EXPECT_EQ(outcome({{"NAME", "a"}}, read), "a");
  EXPECT_EQ(outcome({}, read), "required variable NAME is not set; set it");
  EXPECT_EQ(outcome({{"NAME", ""}}, read), "NAME='' is wrong; give this pod's name");
}

TEST(SettingsReader, AListKeepsItsEmptyParts) {
  const auto read = [](Reader& reader) {
    std::string text;
    for (const std::string& part : reader.list("LIST")) text += "[" + part + "]";
    return text;
  };
  EXPECT_EQ(outcome({}, read), "");
  EXPECT_EQ(outcome({{"LIST", ""}}, read), "");
  EXPECT_EQ(outcome({{"LIST", "a"}}, read), "[a]");
  EXPECT_EQ(outcome({{"LIST", "a,,b,"}}, read), "[a][][b][]");
}

TEST(SettingsReader, AnEmptyAddressSwitchesADoorOff) {
  const auto read = [](Reader& reader) {
    const auto address = reader.address_unless_empty("DOOR", ":9090");
    return address ? address->text() : "none";
  };
  EXPECT_EQ(outcome({}, read), ":9090");
  EXPECT_EQ(outcome({{"DOOR", ""}}, read), "none");
  EXPECT_EQ(outcome({{"DOOR", "127.0.0.1:1"}}, read), "127.0.0.1:1");
}

TEST(SettingsReader, APlatformIsKubernetesOrADirectory) {
  const auto read = [](Reader& reader) { return read_platform_directory(reader); };
  EXPECT_EQ(outcome({}, read), "");
  EXPECT_EQ(outcome({{"SLUICE_PLATFORM", "kubernetes"}}, read), "");
  EXPECT_EQ(outcome({{"SLUICE_PLATFORM", "dir:/p"}}, read), "/p");
  EXPECT_EQ(outcome({{"SLUICE_PLATFORM", "dir:"}}, read),
            "SLUICE_PLATFORM='dir:' is wrong; give kubernetes or dir:PATH");
}

TEST(SettingsReader, WhatIsDialledIsANameWithAPortOrASocket) {
  for (const char* good : {"a.svc:8081", "[::1]:8081", "10.0.0.1:1", "unix:/run/a.sock"}) {
    EXPECT_TRUE(net::is_dialable(good)) << good;
  }
  for (const char* wrong :
       {"", "a", ":1", "a:", "a:0", "a:65536", "http://a:1", "unix:a", "a b:1"}) {
    EXPECT_FALSE(net::is_dialable(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace sluice::settings
