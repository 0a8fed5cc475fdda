#include "common/kube/backoff.h"
#include "common/kube/base64.h"
#include "common/kube/collection_text.h"
#include "common/kube/token_bucket.h"
#include "common/kube/watch_event.h"
#include "common/kube/watch_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{std::chrono::hours{1}};

int taken(TokenBucket& bucket, TimePoint now) {
  int count = 0;
  while (bucket.take(now)) ++count;
  return count;
}

TEST(KubeTokenBucket, AllowsABurstAndThenItsRate) {
  TokenBucket bucket{20, 100};

  EXPECT_EQ(taken(bucket, kStart), 100);
  EXPECT_EQ(taken(bucket, kStart + seconds{1}), 20);
  EXPECT_EQ(taken(bucket, kStart + seconds{100}), 100);
}

TEST(KubeTokenBucket, HasATokenOnceItsWaitIsOver) {
  TokenBucket bucket{20, 1};
  TimePoint now = kStart;

  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(bucket.take(now));
    EXPECT_FALSE(bucket.take(now));
    now += bucket.wait(now);
  }
}

TEST(KubeTokenBucket, GainsNothingByATimeThatStepsBack) {
  TokenBucket bucket{1, 1};
  EXPECT_TRUE(bucket.take(kStart));

  EXPECT_FALSE(bucket.take(kStart - seconds{100}));
  EXPECT_FALSE(bucket.take(kStart));
  EXPECT_TRUE(bucket.take(kStart + seconds{1}));
}

TEST(KubeBackoff, DoublesUpToHalfAMinuteAndRestartsAfterAReset) {
  Backoff backoff;

  EXPECT_EQ(backoff.next(1), milliseconds{100});
  EXPECT_EQ(backoff.next(0), milliseconds{100});
  EXPECT_EQ(backoff.next(1), milliseconds{400});
  for (int i = 0; i < 100; ++i) static_cast<void>(backoff.next(0.5));
  EXPECT_EQ(backoff.next(1), seconds{30});
  backoff.reset();
  EXPECT_EQ(backoff.next(1), milliseconds{100});
}

// Lines that came of pieces, each in brackets.
std::string lines_of(const std::vector<std::string>& pieces) {
  WatchLines lines{100};
  std::string told;
  for (const std::string& piece : pieces) {
    const auto fed = lines.feed(piece, [&](std::string_view line) {
      told.append("[").append(line).append("]");
      return true;
    });
    if (fed == WatchLines::Fed::too_long) told += "too long";
  }
  return told;
}

TEST(KubeWatchLines, FindsLinesHoweverTheyAreCut) {
  const std::string text = "one\ntwo\n\n \r\nthree\nfour";

  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      EXPECT_EQ(lines_of({text.substr(0, first), text.substr(first, second - first),
                          text.substr(second)}),
                "[one][two][three]");
    }
  }
}

TEST(KubeWatchLines, RefusesALineBeyondItsLimit) {
  EXPECT_EQ(lines_of({std::string(60, 'a'), std::string(60, 'a'), "\nb\n"}), "too long[b]");
}

TEST(KubeWatchLines, DropsTheRestWhenItIsStopped) {
  WatchLines lines;
  std::string told;
  const auto line = [&](std::string_view text) {
    told += text;
    return text != "b";
  };

  EXPECT_EQ(lines.feed("a\nb\nc\nd", line), WatchLines::Fed::stopped);
  EXPECT_EQ(lines.feed("e\n", line), WatchLines::Fed::all);

  EXPECT_EQ(told, "abe");
}

TEST(KubeWatchEvent, ReadsTheFieldsThatAReflectorNeeds) {
  const auto event = read_watch_event(
      R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"12",)"
      R"("annotations":{"k8s.io/initial-events-end":"true"}}}})");

  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEvent::Type::bookmark);
  const auto facts = read_object_facts(event->object);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->resource_version, "12");
  EXPECT_TRUE(facts->initial_events_end);
  EXPECT_FALSE(read_watch_event(R"({"type":"ADDED","object":7})"));
  EXPECT_FALSE(read_watch_event(R"({"type":"ADDED","object":{)"));
  EXPECT_FALSE(read_object_facts("{}"));
}

TEST(KubeListChunk, IsFoundWithoutParsingItsItems) {
  const auto chunk = read_list_chunk(
      R"({"kind":"PodList","metadata":{"resourceVersion":"7","continue":"abc"},"items":[{},{}]})");

  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->resource_version, "7");
  EXPECT_EQ(chunk->next, "abc");
  EXPECT_EQ(chunk->items, "[{},{}]");
  EXPECT_EQ(read_list_chunk(R"({"metadata":{"resourceVersion":"7"},"items":null})")->items, "[]");
  EXPECT_FALSE(read_list_chunk(R"({"kind":"Status","metadata":{}})"));
  EXPECT_FALSE(read_list_chunk(R"({"metadata":{"resourceVersion":"7"},"items":[)"));
}

TEST(KubeCollection, WritesPathsWithEscapedSelectors) {
  const CollectionQuery query{"/api/v1/pods", "a in (b,c)", "spec.nodeName=n&x"};

  EXPECT_EQ(list_path(query, "t/="),
            "/api/v1/pods?limit=500&continue=t%2F%3D&labelSelector=a%20in%20%28b%2Cc%29"
            "&fieldSelector=spec.nodeName%3Dn%26x");
  EXPECT_EQ(watch_path({"/api/v1/pods", {}, {}}, "7", seconds{300}),
            "/api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=300");
  EXPECT_EQ(watch_path({"/api/v1/pods", {}, {}}, "", seconds{300}),
            "/api/v1/pods?watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
            "&resourceVersionMatch=NotOlderThan&timeoutSeconds=300");
}

TEST(KubeCollection, HasTheNameThatRbacUses) {
  EXPECT_EQ(resource_of("/api/v1/pods"), "pods");
  EXPECT_EQ(resource_of("/api/v1/namespaces"), "namespaces");
  EXPECT_EQ(resource_of("/api/v1/namespaces/shop/configmaps"), "configmaps in namespace shop");
  EXPECT_EQ(resource_of("/apis/apps/v1/deployments"), "deployments.apps");
  EXPECT_EQ(resource_of("/odd"), "/odd");
}

TEST(KubeBase64, IsDecodedStrictly) {
  EXPECT_EQ(decode_base64("aGVsbG8="), "hello");
  EXPECT_EQ(decode_base64("aGVs\nbG8h"), "hello!");
  EXPECT_EQ(decode_base64("aA=="), "h");
  EXPECT_EQ(decode_base64(""), "");
  for (const char* const text : {"a", "aGVsbG8", "a===", "====", "aA==aA==", "a-b_", "aA=a"}) {
    EXPECT_FALSE(decode_base64(text)) << text;
  }
}

}  // namespace
}  // namespace sluice::kube
