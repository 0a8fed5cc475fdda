// The files of the page, as an API serves them.

#include "common/dashboard/page_files.h"
#include "tests/unit/autoscaler/io/api_stage.h"

namespace sluice::autoscaler {
namespace {

TEST_F(ApiOnItsSocket, ServesThePageWithATagAndCompressedWhereThatIsAccepted) {
  serve();
  const dashboard::PageFile* const page = dashboard::find_page("");
  ASSERT_NE(page, nullptr);
  const auto plain = ask("GET", "/");
  EXPECT_EQ(plain->status(), 200);
  EXPECT_EQ(plain->body(), page->bytes);
  const std::string tag{page->etag};
  EXPECT_TRUE(plain->has("ETag: " + tag + "\r\n"));
  EXPECT_TRUE(plain->has("Cache-Control: no-cache\r\n"));
  EXPECT_TRUE(plain->has("Vary: Accept-Encoding\r\n"));
  EXPECT_TRUE(plain->has("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_FALSE(plain->has("Content-Encoding"));
  for (const DoorField& field : door_fields()) {
    EXPECT_TRUE(plain->has(std::string{field.name} + ": ")) << field.name;
  }

  for (const char* accepts : {"gzip", "br, gzip", "gzip;q=0.5", "deflate , gzip ; q=1"}) {
    const auto packed = ask("GET", "/", "", "Accept-Encoding: " + std::string{accepts} + "\r\n");
    EXPECT_TRUE(packed->has("Content-Encoding: gzip\r\n")) << accepts;
    EXPECT_EQ(packed->body(), page->gzip) << accepts;
    EXPECT_TRUE(packed->has("ETag: " + tag.substr(0, tag.size() - 1) + "-gzip\"\r\n"));
  }
  for (const char* refuses : {"gzip;q=0", "gzip; q=0.000", "br", "x-gzip"}) {
    EXPECT_EQ(ask("GET", "/", "", "Accept-Encoding: " + std::string{refuses} + "\r\n")->body(),
              page->bytes)
        << refuses;
  }
}

TEST_F(ApiOnItsSocket, SendsThePageAgainOnlyWhenItHasChanged) {
  serve();
  const std::string tag{dashboard::find_page("")->etag};
  for (const std::string& has : {tag, "W/" + tag, "\"x\", " + tag, std::string{"*"}}) {
    const auto same = ask("GET", "/", "", "If-None-Match: " + has + "\r\n");
    EXPECT_EQ(same->status(), 304) << has;
    EXPECT_EQ(same->body(), "") << has;
    EXPECT_TRUE(same->has("ETag: " + tag + "\r\n")) << has;
    EXPECT_FALSE(same->has("Content-Length")) << has;
  }
  EXPECT_EQ(ask("GET", "/", "", "If-None-Match: \"x\"\r\n")->status(), 200);
  const std::string packed = tag.substr(0, tag.size() - 1) + "-gzip\"";
  const auto has = [&](const std::string& its_tag) {
    return ask("GET", "/", "", "Accept-Encoding: gzip\r\nIf-None-Match: " + its_tag + "\r\n")
        ->status();
  };
  EXPECT_EQ(has(packed), 304);
  EXPECT_EQ(has(tag), 200);
}

TEST_F(ApiOnItsSocket, ServesNoOtherFileAndTakesNoChangeOfThePage) {
  serve();
  EXPECT_EQ(ask("HEAD", "/")->body(), "");
  for (const char* other : {"/index.html", "/embed.py", "/..", "/a/b", "/%2e%2e/etc/passwd"}) {
    EXPECT_EQ(ask("GET", other)->status(), 404) << other;
  }
  EXPECT_EQ(ask("POST", "/")->status(), 404);
}

}  // namespace
}  // namespace sluice::autoscaler
