#include "injector/io/webhook_bundle.h"

#include <gtest/gtest.h>

namespace sluice::injector {
namespace {

TEST(WebhookBundle, PatchOnlyWebhooksWithoutTheBundle) {
  const char* configuration = R"({"webhooks": [
    {"name": "a", "clientConfig": {"caBundle": "QQ=="}}, {"name": "b", "clientConfig": {}},
    {"name": "c"}]})";
  EXPECT_EQ(*bundle_patch(configuration, "A"),
            R"([{"op":"test","path":"/webhooks/1/name","value":"b"},)"
            R"({"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":"QQ=="}])");
  EXPECT_EQ(*bundle_patch(R"({"webhooks": []})", "A"), "");
  EXPECT_FALSE(bundle_patch("{}", "A"));
}

}  // namespace
}  // namespace sluice::injector
