#include "programs/sluice/engine/spec_file_edit.h"

#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <utility>

namespace sluice::local {
namespace {

std::string document(const std::string& name, const std::string& container) {
  return "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: " + name +
         "}\nspec:\n  template:\n    spec:\n      # " + name + "\n      containers:\n        - " +
         container + "\n";
}

class SpecFileEdit : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(file_) << text; }

  std::string text() {
    std::ostringstream out;
    out << std::ifstream(file_).rdbuf();
    return out.str();
  }

  // Applies `yaml` as from `base`; empty when it was written.
  std::string edit(const std::string& yaml, const std::filesystem::path& base) {
    const auto parsed = parse_services(yaml, "the document", base);
    const auto problem = write_into_file(file_, parsed->services.at(0), yaml, {});
    return problem ? problem->text() : "";
  }

  TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_.path() / "all.yaml";
};

TEST_F(SpecFileEdit, ReplacesOneDocumentAsItWasWritten) {
  const std::string one = document("one", "command: [a]");
  const std::string two = document("two", "command: [b]");
  write("# all\n" + one + "---\n" + two);
  const std::string next = document("one", "{command: [a], args: [x]}  # more");
  EXPECT_EQ(edit("\n\n" + next, directory_.path()), "");
  EXPECT_EQ(text(), "# all\n" + next + "---\n" + two);
  const std::string other = "# b\n" + document("two", "command: [c]");
  write(one + "---\n# a\n\n" + two);
  EXPECT_EQ(edit(other, directory_.path()), "");
  EXPECT_EQ(text(), one + "---\n" + other);
}

TEST_F(SpecFileEdit, RefusesADocumentThatMeansAnotherSpecInTheFile) {
  const std::string before = document("one", "command: [a]");
  write(before);
  const std::string moved = document("one", "{command: [a], workingDir: sub}");
  EXPECT_TRUE(edit(moved, "/srv").starts_with("the document of one in "));
  EXPECT_EQ(text(), before);
  EXPECT_EQ(edit(moved, directory_.path()), "");
}

TEST_F(SpecFileEdit, WritesAServiceWithoutTheConfigMapThatCameWithIt) {
  const std::string config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n";
  const std::string uses = "command: [a], envFrom: [{configMapRef: {name: c}}]";
  const std::string next = document("one", "{" + uses + ", args: [x]}");
  write(config + "---\n" + document("one", "{" + uses + "}"));
  EXPECT_EQ(edit(config + "---\n" + next, directory_.path()), "");
  EXPECT_EQ(text(), config + "---\n" + next);

  std::string other = config;
  other.replace(other.find("a: b"), 4, "a: c");
  EXPECT_TRUE(edit(other + "---\n" + next, directory_.path()).starts_with("the document of one"));
  EXPECT_EQ(text(), config + "---\n" + next);
}

TEST_F(SpecFileEdit, FollowsALinkAndKeepsPermissions) {
  write(document("one", "command: [a]"));
  std::filesystem::permissions(file_, std::filesystem::perms{0640});
  const auto target = std::exchange(file_, directory_.path() / "link.yaml");
  std::filesystem::create_symlink(target, file_);
  EXPECT_EQ(edit(document("one", "command: [b]"), directory_.path()), "");
  EXPECT_TRUE(std::filesystem::is_symlink(file_));
  EXPECT_EQ(std::filesystem::status(target).permissions(), std::filesystem::perms{0640});
}

TEST_F(SpecFileEdit, NamesAFileThatCannotBeWritten) {
  EXPECT_TRUE(
      edit(document("one", "command: [b]"), "/").starts_with("cannot write " + file_.string()));
  write(document("two", "command: [a]"));
  EXPECT_TRUE(edit(document("one", "command: [b]"), "/").starts_with("the document of one in "));
}

class TrafficEdit : public SpecFileEdit {
 protected:
  // Writes `traffic` as that of service one; empty when it was written.
  std::string divide(const Traffic& traffic) {
    auto parsed = parse_services(text(), file_.string(), directory_.path());
    ServiceSpec spec = parsed->services.front();
    spec.traffic = traffic;
    const auto problem = write_traffic(file_, spec, {});
    return problem ? problem->what : "";
  }

  Traffic split_{{.revision = "one-00001", .percent = 90, .tag = "on"}, {.percent = 10}};
  std::string lines_ =
      "  traffic:\n    - revisionName: one-00001\n      percent: 90\n      tag: \"on\"\n"
      "    - latestRevision: true\n      percent: 10\n";
};

TEST_F(TrafficEdit, TheTrafficOfADocumentIsReplacedAndNothingElse) {
  const std::string one = document("one", "command: [a]");
  const std::string two = document("two", "command: [b]");
  const std::string rest = "\n  # about the template\n" + std::string{"# end\n"};
  const std::size_t at = one.find("  template:");
  for (const char* old : {"  traffic:  # now\n    - latestRevision: true\n      percent: 100\n",
                          "  traffic:\n  - percent: 40 # some\n\n  - tag: x\n    percent: 60\n",
                          "  traffic: [{percent: 100}]\n"}) {
    write("# mine\n" + one.substr(0, at) + old + rest + one.substr(at) + "---\n" + two);
    EXPECT_EQ(divide(split_), "") << old;
    EXPECT_EQ(text(),
              "# mine\n" + one.substr(0, at) + lines_ + rest + one.substr(at) + "---\n" + two);
  }
}

TEST_F(TrafficEdit, ADocumentWithoutTrafficGetsItBeforeTheRestOfItsSpec) {
  const std::string one = document("one", "command: [a]");
  const std::size_t at = one.find("  template:");
  write(one);
  EXPECT_EQ(divide(split_), "");
  EXPECT_EQ(text(), one.substr(0, at) + lines_ + one.substr(at));
}

TEST_F(TrafficEdit, ASpecOnOneLineIsLeftToItsOwner) {
  const std::string before =
      "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: one}\n"
      "spec: {template: {spec: {containers: [{command: [a]}]}}}\n";
  write(before);
  EXPECT_EQ(divide(split_),
            "the traffic of one in " + file_.string() + " cannot be replaced alone");
  EXPECT_EQ(text(), before);
}

}  // namespace
}  // namespace sluice::local
