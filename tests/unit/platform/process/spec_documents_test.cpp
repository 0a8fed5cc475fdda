#include "platform/process/spec_documents.h"

#include <gtest/gtest.h>

namespace sluice::local {
namespace {

constexpr const char* kStream =
    "# Two services.\n"
    "metadata: {name: a}\n"
    "--- # the second\n"
    "metadata:\n  name: b\n"
    "---\n"
    "\n";

TEST(SpecDocuments, JoinedAreTheStreamAgain) {
  for (const std::string stream : {kStream, "", "---\n", "a: 1", "---\na: 1\n---", "\n\n---x\n"}) {
    std::string joined;
    for (const SpecDocument& each : split_documents(stream))
      joined.append(each.mark).append(each.text);
    EXPECT_EQ(joined, stream);
  }
}

TEST(SpecDocuments, CountTheLinesBeforeEach) {
  const auto documents = split_documents(kStream);
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(documents[0].before, 0U);
  EXPECT_EQ(documents[1].before, 3U);
  EXPECT_EQ(documents[1].mark, "--- # the second\n");
  EXPECT_TRUE(documents[2].blank());
}

TEST(SpecDocuments, NameTheirService) {
  EXPECT_EQ(name_in("metadata: {name: shop}")->name, "shop");
  for (const char* wrong : {"", "a", "[]", "metadata: 1", "metadata: {name: []}", "a: ["}) {
    EXPECT_FALSE(name_in(wrong)) << wrong;
  }
}

TEST(SpecDocuments, ComeInPartsOfSeveralServicesWithWhatThoseName) {
  const std::string config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: used}\n";
  const std::string stream = "metadata: {name: a}\n---\nmetadata: {name: b}\n---\n" + config +
                             "---\nmetadata: {name: c}\nx: used";

  const auto parts = service_documents(stream, 2);

  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ((*parts)[0].services, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ((*parts)[0].text, "metadata: {name: a}\n---\nmetadata: {name: b}\n");
  EXPECT_EQ((*parts)[1].services, std::vector<std::string>{"c"});
  EXPECT_EQ((*parts)[1].text, "\n\n\n---\n" + config + "---\nmetadata: {name: c}\nx: used\n");
  EXPECT_EQ(service_documents(stream, 9)->size(), 1U);
}

TEST(SpecDocuments, AServiceComesWithWhatItNamesOnTheSameLines) {
  const std::string config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: used}\n";
  const std::string stream =
      config + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: not}\n" +
      "---\nmetadata: {name: a}\nx: {y: [used]}\n---\nmetadata: {name: used}\n";

  const auto services = service_documents(stream, 1);

  ASSERT_TRUE(services);
  ASSERT_EQ(services->size(), 2U);
  EXPECT_EQ((*services)[0].services.front(), "a");
  EXPECT_EQ((*services)[0].text, config + "\n\n\n\n---\nmetadata: {name: a}\nx: {y: [used]}\n");
  EXPECT_EQ((*services)[1].services.front(), "used");
  EXPECT_EQ(service_document_in((*services)[0].text), "metadata: {name: a}\nx: {y: [used]}\n");
  EXPECT_EQ(service_documents(config, 1).error().what, "it has no Service");
  EXPECT_EQ(service_documents("", 1).error().what, "it has no Service");
  EXPECT_EQ(*with_document(stream, "used", "b: 1\n"),
            stream.substr(0, stream.size() - 23) + "b: 1\n");
}

TEST(SpecDocuments, WhatCannotBeReadIsLeftToTheReaderOfTheServices) {
  const std::string list =
      "apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n"
      "- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n- metadata: {name: b}\n";
  EXPECT_EQ(service_documents(list, 9)->front().services, (std::vector<std::string>{"a", "b"}));
  for (const std::string wrong :
       {"a: 1\n", "a: [\n", "apiVersion: v1\nkind: ConfigMap\n", "[]\n"}) {
    const auto parts = service_documents("# of both\n---\n" + wrong, 9);
    ASSERT_TRUE(parts) << wrong;
    EXPECT_EQ(parts->front().text, "\n---\n" + wrong);
  }
}

TEST(SpecDocuments, OneIsReplacedAndNothingElse) {
  EXPECT_EQ(
      with_document(kStream, "b", "metadata: {name: b, x: 1}\n"),
      "# Two services.\nmetadata: {name: a}\n--- # the second\nmetadata: {name: b, x: 1}\n---\n\n");
  EXPECT_FALSE(with_document(kStream, "c", ""));
}

}  // namespace
}  // namespace sluice::local
