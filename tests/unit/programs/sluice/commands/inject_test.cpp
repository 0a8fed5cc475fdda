// `sluice inject` and `sluice uninject` from the command line on, and the YAML between.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/inject_yaml.h"
#include "programs/sluice/commands/verbs.h"
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace sluice::commands {
namespace {

using Json = nlohmann::ordered_json;

struct Told {
  int code = 0;
  std::string out;
  std::string err;
};

class InjectVerb : public testing::Test {
 protected:
  InjectVerb() {
    std::string name = testing::TempDir() + "inject-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }

  ~InjectVerb() override { std::filesystem::remove_all(folder_); }

  Told run(const std::string& text, Arguments args) {
    const std::string path = folder_ + "/a.yaml";
    std::ofstream{path} << text;
    args.insert(args.begin() + 1, {"-f", path});
    std::ostringstream out;
    std::ostringstream err;
    const Clock clock;
    const Surroundings with{.out = out,
                            .err = err,
                            .clock = clock,
                            .roots = {.state = folder_ + "/s", .runtime = folder_ + "/r"}};
    const auto unused = [](const Arguments&) { return 99; };
    const int code = run_verb(with, args, unused, unused);
    return {code, out.str(), err.str()};
  }

  std::string folder_;
};

constexpr const char* kApp = R"(# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
spec:
  replicas: 2
  template:
    metadata:
      labels:
        app: shop
    spec:
      containers:
      - name: app
        image: shop:1
        args:
        - "8080"
        - |
          two
            lines
        ports:
        - name: web
          containerPort: 8080
)";

constexpr const char* kService = R"(apiVersion: v1
kind: Service
metadata:
  name: shop
spec:
  selector:
    app: shop
  ports:
  - name: http
    port: 80
    targetPort: web
)";

constexpr const char* kOther = R"(# as it is:   untouched
kind:   ConfigMap
data: {a: "1",   b: 2} # here too
)";

const std::string kStream = std::string{kOther} + "---\n" + kApp + "--- # a mark\n" + kService;

TEST_F(InjectVerb, AddsTheSidecarAndLeavesOtherDocumentsByteForByte) {
  const Told done = run(kStream, {"inject"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(done.out.starts_with(std::string{kOther} + "---\n# the shop\napiVersion: apps/v1\n"))
      << done.out;
  EXPECT_NE(done.out.find("\n      initContainers:\n      - name: queue-proxy\n"),
            std::string::npos);
  EXPECT_NE(done.out.find("--- # a mark\n"), std::string::npos);
  EXPECT_NE(done.out.find("    targetPort: queue-port\n"), std::string::npos);
}

TEST_F(InjectVerb, IsTakenBackByUninjectByteForByte) {
  const Told there = run(kStream, {"inject", "--native", "false"});
  const Told back = run(there.out, {"uninject"});
  EXPECT_EQ(back.out, kStream);
  EXPECT_EQ(back.code, 0);
}

TEST_F(InjectVerb, OfItsOwnResultChangesNothing) {
  const Told once = run(kStream, {"inject"});
  const Told twice = run(once.out, {"inject"});
  EXPECT_EQ(twice.out, once.out);
  EXPECT_NE(twice.err.find("Deployment shop is unchanged"), std::string::npos);
}

TEST_F(InjectVerb, PrintsTheDifferenceInADryRun) {
  const Told done = run(kStream, {"inject", "--dry-run", "--image", "mine:2"});
  EXPECT_EQ(done.code, 0);
  EXPECT_NE(done.out.find("Deployment/shop\n@@ -"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("+        image: mine:2\n"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("-    targetPort: web\n+    targetPort: queue-port\n"), std::string::npos)
      << done.out;
  EXPECT_EQ(done.out.find("ConfigMap"), std::string::npos);
}

TEST_F(InjectVerb, KeepsTargetPortsOnRequest) {
  const Told done = run(kStream, {"inject", "--keep-services"});
  EXPECT_NE(done.out.find("targetPort: web"), std::string::npos);
}

TEST_F(InjectVerb, NamesObjectsThatItCannotInjectAndPrintsNothing) {
  const Told done =
      run("kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: b}]}\n", {"inject"});
  EXPECT_EQ(done.code, 78);
  EXPECT_TRUE(done.out.empty());
  EXPECT_NE(done.err.find("Pod a: no container has a port"), std::string::npos) << done.err;
}

TEST_F(InjectVerb, NamesTheLineOfBadYaml) {
  const Told done = run("a: 1\n---\nb: [1\n", {"inject"});
  EXPECT_EQ(done.code, 78);
  EXPECT_NE(done.err.find("/a.yaml:"), std::string::npos) << done.err;
}

Json value_of(const std::string& text) {
  const auto documents = read_yaml(yaml_pieces(text), "a.yaml");
  return documents ? documents->front() : Json("problem: " + documents.error().what);
}

TEST(InjectYaml, ReadsScalarsAsKubectlDoes) {
  EXPECT_EQ(
      value_of("[a, '1', 1, 1.5, yes, off, ~, null, 0x10, 0644, 1_000, -3, .5, 1e3, \"true\"]")
          .dump(),
      R"(["a","1",1,1.5,true,false,null,null,16,420,1000,-3,0.5,1000.0,"true"])");
  EXPECT_EQ(
      value_of("[2001-01-01, 1.0.0, 09, 1:30, 100m, -, 0x, 18446744073709551616, !!str 5]").dump(),
      R"(["2001-01-01","1.0.0",9.0,"1:30","100m","-","0x",1.8446744073709552e+19,"5"])");
}

TEST(InjectYaml, WritesOutAliasesAndMergeKeys) {
  EXPECT_EQ(value_of("a: &x {b: 1, c: 2}\nd: *x\ne:\n  <<: *x\n  c: 3\n").dump(),
            R"({"a":{"b":1,"c":2},"d":{"b":1,"c":2},"e":{"c":3,"b":1}})");
}

TEST(InjectYaml, RefusesABombOfAliases) {
  std::string bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int level = 1; level < 9; ++level) {
    const std::string before = "*a" + std::to_string(level - 1);
    std::string list = before;
    for (int item = 1; item < 10; ++item) list += "," + before;
    bomb += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + list + "]\n";
  }
  EXPECT_NE(value_of(bomb).dump().find("too large"), std::string::npos);
}

TEST(InjectYaml, WritesEveryTextSoThatItReadsTheSame) {
  for (const char* text :
       {"",       " ",          "a",      "true",   "no",          "1",
        "1.0",    "0x1",        "1e3",    "~",      "null",        "a: b",
        "a #b",   "a:",         "- a",    "#a",     "&a",          "*a",
        "!a",     "%a",         "@a",     "`a",     "'a",          "\"a",
        "{a",     "[a",         ",a",     "?",      "-",           "...",
        "---",    "2001-01-01", "12:30",  "100m",   "1d2",         "a\nb",
        "a\nb\n", "a\n\n",      "\na",    " a\nb",  "a\n b\n\n\n", "a\tb",
        "a\n\tb", "\x01",       "ä€",     "a\r\nb", "a ",          "http://a/b?c=d#e",
        "<<",     "=",          "a\n\nb", "9p",     "y",           "$(A)",
        "a\\b",   "|",          ">"}) {
    const Json document{{"key", text}, {"list", {text, {{text, text}}}}};
    const std::string written = yaml_text(document);
    EXPECT_EQ(value_of(written).dump(), document.dump()) << written;
    EXPECT_EQ(yaml_text(value_of(written)), written);
  }
}

TEST(InjectYaml, WritesCollectionsInBlocks) {
  const char* text =
      "a: {}\nb: []\nc:\n- - 1\n  - 2\n- d: 1\n  e:\n    f: null\n- []\n\"1\": true\n";
  EXPECT_EQ(yaml_text(value_of(text)), text);
}

TEST(InjectYaml, PiecesMakeTheStreamAgain) {
  for (const std::string text :
       {"", "a: 1", "---\na: 1\n---\n", "# c\n\n--- {a: 1}\n--- # x\nb: |\n  ---\n", "---",
        "----\n", "a: 1\n---\r\nb: 2\n"}) {
    std::string joined;
    for (const YamlPiece& piece : yaml_pieces(text)) joined += piece.mark + piece.head + piece.body;
    EXPECT_EQ(joined, text);
  }
  EXPECT_EQ(yaml_pieces("# c\n\na: 1\n---\n--- {b: 1}\n").size(), 3U);
}

TEST(InjectDifference, MatchesDiff) {
  std::string before;
  std::string after;
  for (int line = 1; line <= 30; ++line) {
    before += std::to_string(line) + "\n";
    if (line != 5) after += std::to_string(line) + "\n";
    if (line == 20) after += "new\n";
  }
  EXPECT_EQ(unified_difference(before, after),
            "@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n"
            "@@ -18,6 +17,7 @@\n 18\n 19\n 20\n+new\n 21\n 22\n 23\n");
  EXPECT_EQ(unified_difference(before, before), "");
  EXPECT_EQ(unified_difference("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
  EXPECT_EQ(unified_difference("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
}

}  // namespace
}  // namespace sluice::commands
