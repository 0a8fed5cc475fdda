#include "common/http/message.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

TEST(FieldList, FindsNamesWhateverTheirCaseAndGivesTheFirst) {
  FieldList fields;
  fields.add("X-FORWARDED-for", "a");
  fields.add("x-forwarded-for", "b");
  fields.add("X-Other", "c");

  EXPECT_EQ(fields.get(Known::x_forwarded_for), "a");
  EXPECT_EQ(fields.find("x-other"), "c");
  EXPECT_EQ(fields.get(Known::host), "");
  EXPECT_TRUE(fields.has(Known::x_forwarded_for));
  EXPECT_EQ(fields.at(1).value, "b");
}

TEST(FieldList, IsEmptyAfterClear) {
  FieldList fields;
  fields.add("Host", "a");

  fields.clear();

  EXPECT_FALSE(fields.has(Known::host));
  EXPECT_EQ(fields.size(), 0U);
}

TEST(FieldList, ReplacesTheValueOfAFieldInItsPlace) {
  FieldList fields;
  fields.add("A", "1");
  fields.add("host", "outer");
  fields.add("B", "2");

  fields.set(Known::host, "Host", "a-longer-inner");

  EXPECT_EQ(fields.get(Known::host), "a-longer-inner");
  EXPECT_EQ(fields.at(1).line, "Host: a-longer-inner\r\n");
  EXPECT_EQ(fields.size(), 3U);
  EXPECT_EQ(fields.find("b"), "2");
  fields.clear();
  fields.set(Known::host, "Host", "new");
  EXPECT_EQ(fields.get(Known::host), "new");
  EXPECT_EQ(fields.size(), 1U);
}

TEST(Classify, RecognizesEveryNameWithARule) {
  EXPECT_EQ(classify("host"), Known::host);
  EXPECT_EQ(classify("Knative-Serving-Namespace"), Known::knative_serving_namespace);
  EXPECT_EQ(classify("TE"), Known::te);
  EXPECT_EQ(classify("X-Unknown"), Known::other);
  EXPECT_EQ(classify(std::string(500, 'x')), Known::other);
}

TEST(ListContains, ComparesWholeTokens) {
  EXPECT_TRUE(list_contains("close, X-Foo ,bar", "x-foo"));
  EXPECT_FALSE(list_contains("close, X-Foo", "foo"));
  EXPECT_FALSE(list_contains("", "x"));
}

TEST(RequestHead, ReturnsItsPath) {
  RequestHead head;
  for (const auto& [target, path] : {std::pair{"/a/b?c=/d", "/a/b"}, {"*", "*"}}) {
    head.target = target;
    EXPECT_EQ(head.path(), path) << target;
  }
}

TEST(RequestHead, IsRepeatableByMethodOrKeyAndNeverWithABody) {
  const auto repeatable = [](const char* method, const char* key, std::uint64_t length) {
    RequestHead head;
    head.method = method;
    head.content_length = length;
    if (key != nullptr) head.fields.add(key, "1");
    return head.repeatable();
  };

  EXPECT_TRUE(repeatable("GET", nullptr, 0));
  EXPECT_FALSE(repeatable("GET", nullptr, 1));
  EXPECT_FALSE(repeatable("POST", nullptr, 0));
  EXPECT_TRUE(repeatable("POST", "Idempotency-Key", 0));
  EXPECT_TRUE(repeatable("POST", "X-Idempotency-Key", 0));
}

}  // namespace
}  // namespace sluice::http
