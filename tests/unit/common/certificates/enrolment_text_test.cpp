// What an agent that enrols sends is what the autoscaler reads; and nothing else is.

#include "common/certificates/enrolment_text.h"

#include "common/certificates/certificates.h"
#include "common/net/h1/h1_codec.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::certificates {
namespace {

http::RequestHead head_of(const std::string& bytes) {
  http::RequestParser parser{64 * 1024};
  http::RequestHead head;
  EXPECT_EQ(parser.feed_head(bytes, head).state, http::Fed::State::done) << bytes;
  return head;
}

int status_of(const std::string& bytes) {
  const auto read = read_enroll_request(head_of(bytes));
  return read ? 200 : read.error().status;
}

TEST(EnrolmentText, IsReadAsItWasWritten) {
  const KeyPair key = *make_key();
  const std::string sent =
      enroll_request({.token = "a.b-c_d", .public_key = key.public_key}, "autoscaler:8083");
  EXPECT_LT(sent.size(), 500U);
  const auto read = read_enroll_request(head_of(sent));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->token, "a.b-c_d");
  const LeafSpec spec{.common_name = "agent", .uris = {"sluice://node-agent/n1"}};
  const TimePoint now{std::chrono::hours{24 * 365 * 50}};
  const Set set = *take_step({}, Step::make_all, spec, now);
  EXPECT_TRUE(sign(set, read->public_key, spec, std::chrono::hours{1}, now).has_value());
}

TEST(EnrolmentText, RefusesMalformedRequestsWithTheMatchingStatus) {
  const std::string host = "Host: a\r\n";
  const std::string token = "Authorization: Bearer t\r\n";
  const std::string key = "Sluice-Public-Key: MFk=\r\n";
  const std::string post = "POST /v1/enroll HTTP/1.1\r\n";
  EXPECT_EQ(status_of(post + host + token + key + "\r\n"), 200);
  EXPECT_EQ(status_of("GET /v1/enroll HTTP/1.1\r\n" + host + token + key + "\r\n"), 405);
  EXPECT_EQ(status_of("POST /v1/enroll?a HTTP/1.1\r\n" + host + token + key + "\r\n"), 404);
  EXPECT_EQ(status_of(post + host + token + key + "Content-Length: 1\r\n\r\n"), 413);
  EXPECT_EQ(status_of(post + host + token + key + "Transfer-Encoding: chunked\r\n\r\n"), 413);
  EXPECT_EQ(status_of(post + host + key + "\r\n"), 401);
  EXPECT_EQ(status_of(post + host + token + token + key + "\r\n"), 401);
  EXPECT_EQ(status_of(post + host + "Authorization: Basic t\r\n" + key + "\r\n"), 401);
  EXPECT_EQ(status_of(post + host + token + "\r\n"), 400);
  EXPECT_EQ(status_of(post + host + token + key + key + "\r\n"), 400);
  EXPECT_EQ(status_of(post + host + token + "Sluice-Public-Key: a-b\r\n\r\n"), 400);
  const std::string long_key(300, 'A');
  EXPECT_EQ(status_of(post + host + token + "Sluice-Public-Key: " + long_key + "\r\n\r\n"), 400);
}

}  // namespace
}  // namespace sluice::certificates
