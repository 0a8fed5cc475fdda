#include "load/core/engine_source.h"

#include <gtest/gtest.h>

namespace sluice::loadgen {
namespace {

using Kind = EngineSource::Kind;

std::string api_of(std::string_view text) {
  const auto source = parse_engine_source(text);
  if (!source) return source.error().text();
  EXPECT_EQ(source->kind, Kind::address);
  return source->space + "/" + source->service + " " + source->api.host + ":" +
         std::to_string(source->api.port) + source->api.path;
}

TEST(EngineSource, ReadsTheTwoWordsThatAreNoEngines) {
  EXPECT_EQ(parse_engine_source("auto")->kind, Kind::targets);
  EXPECT_EQ(parse_engine_source("off")->kind, Kind::none);
  EXPECT_FALSE(parse_engine_source("auto")->is_required());
  EXPECT_FALSE(parse_engine_source("off")->is_required());
}

TEST(EngineSource, TakesALabelForTheNameOfAnEngine) {
  const auto source = parse_engine_source("shop-1");

  ASSERT_TRUE(source);
  EXPECT_EQ(source->kind, Kind::named);
  EXPECT_EQ(source->name, "shop-1");
  EXPECT_TRUE(source->is_required());
}

TEST(EngineSource, AddsThePathOfTheApi) {
  EXPECT_EQ(api_of("http://localhost:8080"), "/ localhost:8080/_sluice/api/v1");
  EXPECT_EQ(api_of("http://localhost:8080/"), "/ localhost:8080/_sluice/api/v1");
  EXPECT_EQ(api_of("http://localhost:8080/_sluice/"), "/ localhost:8080/_sluice/api/v1");
  EXPECT_EQ(api_of("http://localhost:8082/api/v1"), "/ localhost:8082/api/v1");
  EXPECT_EQ(api_of("shop/cart@http://localhost:8082"), "shop/cart localhost:8082/api/v1");
  EXPECT_EQ(api_of("shop/cart@http://[::1]:8082/proxy"), "shop/cart ::1:8082/proxy/api/v1");
}

TEST(EngineSource, NamesWhatIsWrong) {
  for (const char* text : {"", "Shop", "a b", "localhost:8080", "cart@http://localhost:8082",
                           "a/b/c@http://localhost:8082", "/b@http://localhost:8082", "a/b@", "a/b",
                           "https://localhost:8080", "http://", "http://localhost:0"}) {
    const auto source = parse_engine_source(text);
    ASSERT_FALSE(source) << text;
    EXPECT_TRUE(source.error().what.starts_with("--engine '" + std::string{text})) << text;
  }
}

}  // namespace
}  // namespace sluice::loadgen
