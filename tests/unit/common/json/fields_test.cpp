#include "common/json/fields.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sluice::reading {
namespace {

using nlohmann::json;
using Need = Fields::Need;

// What is complained about when `read` takes the fields of `text`.
template <class Read>
std::string complaint(const char* text, Read read, Fields::Null null = Fields::Null::wrong) {
  const json document = json::parse(text);
  Findings findings;
  Fields fields{document, "pods[2]", findings, null};
  read(fields);
  return findings.problem ? findings.problem->text() : "";
}

TEST(JsonFields, AComplaintNamesThePlaceTheValueAndWhatIsAccepted) {
  const auto integer = [](Fields& fields) { (void)fields.integer("n", 0, 1, 9); };
  EXPECT_EQ(complaint(R"({"n":9})", integer), "");
  EXPECT_EQ(complaint(R"({"n":10})", integer),
            "pods[2].n: 10 is not accepted; give a whole number from 1 to 9");
  EXPECT_EQ(complaint(R"({"n":18446744073709551615})", integer),
            "pods[2].n: 18446744073709551615 is not accepted; give a whole number from 1 to 9");
  EXPECT_EQ(complaint(R"({"n":1.5})", integer),
            "pods[2].n: 1.5 is not accepted; give a whole number from 1 to 9");
  EXPECT_EQ(complaint("[]", integer), "pods[2] is not a JSON object; give an object, {...}");
}

TEST(JsonFields, TextIsPrintableUnlessAnyBytesAreAskedFor) {
  const auto text = [](Fields& fields) { (void)fields.text("t", Need::required, 3); };
  EXPECT_EQ(complaint(R"({"t":"abc"})", text), "");
  EXPECT_NE(complaint(R"({"t":"abcd"})", text), "");
  EXPECT_NE(complaint(R"({"t":"a\tb"})", text), "");
  EXPECT_NE(complaint("{}", text).find("pods[2].t: is missing"), std::string::npos);
  const auto any = [](Fields& fields) { EXPECT_EQ(fields.any_text("t"), "a\tbcd"); };
  EXPECT_EQ(complaint(R"({"t":"a\tbcd"})", any), "");
  const auto number = [](Fields& fields) { EXPECT_EQ(fields.any_text("t"), ""); };
  EXPECT_EQ(complaint(R"({"t":1})", number), "pods[2].t: 1 is not a string; give a string");
}

TEST(JsonFields, ANullIsAWrongValueOrNone) {
  const auto boolean = [](Fields& fields) { EXPECT_TRUE(fields.boolean("b", true)); };
  EXPECT_NE(complaint(R"({"b":null})", boolean), "");
  EXPECT_EQ(complaint(R"({"b":null})", boolean, Fields::Null::absent), "");
}

TEST(JsonFields, OnlyTheFirstComplaintStays) {
  const auto both = [](Fields& fields) {
    (void)fields.boolean("a", false);
    (void)fields.boolean("b", false);
  };
  EXPECT_EQ(complaint(R"({"a":1,"b":2})", both),
            "pods[2].a: 1 is not accepted; give true or false");
}

TEST(JsonFields, KeysThatWereNotAskedForAreNoted) {
  const json document = {{"a", 1}, {"b", 2}, {"c\n", 3}};
  Findings findings;
  Fields fields{document, "", findings};
  (void)fields.integer("a", 0, 0, 9);
  fields.close();
  EXPECT_EQ(findings.unknown_keys.size(), 2U);
  EXPECT_EQ(findings.unknown_keys.front(), "b");
}

}  // namespace
}  // namespace sluice::reading
