#include "memory-pressure/core/journal_record.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

JournalRecord example() {
  return {.kind = RecordKind::throttle,
          .boot_id = "b0-07",
          .generation = 42,
          .at = TimePoint{std::chrono::milliseconds{1'700'000'000'123}},
          .id = "abc",
          .pod_uid = "pod 1\n%",
          .attempt = 3,
          .original = {30'000, 100'000},
          .ours = {2503, 100'000},
          .ladder_step = 3,
          .cgroup = "/kubepods/pod 1/abc",
          .why = "usage 95% = too \xc3\xa9much"};
}

TEST(JournalRecord, SurvivesARoundTrip) {
  for (const auto kind : {RecordKind::throttle, RecordKind::drop, RecordKind::sacrifice,
                          RecordKind::frozen, RecordKind::thawed, RecordKind::lease}) {
    JournalRecord record = example();
    record.kind = kind;
    const std::string line = encode(record);

    const auto read = decode(line);

    ASSERT_TRUE(read.has_value()) << line;
    EXPECT_EQ(*read, record);
  }
}

TEST(JournalRecord, IsOneLineOfPrintableAscii) {
  const std::string line = encode(example());
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  for (const char c : line.substr(0, line.size() - 1)) EXPECT_TRUE(c >= ' ' && c < 0x7f);
}

TEST(JournalRecord, EveryTornOrAlteredLineIsRefused) {
  const std::string line = encode(example());
  for (std::size_t size = 0; size + 1 < line.size(); ++size) {
    EXPECT_FALSE(decode(line.substr(0, size)).has_value()) << size;
  }
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    for (const int bit : {0, 2, 6}) {
      std::string altered = line;
      altered[i] = static_cast<char>(altered[i] ^ (1 << bit));
      EXPECT_FALSE(decode(altered).has_value()) << i;
    }
  }
}

TEST(JournalRecord, LongestLineCanBeReadAgain) {
  JournalRecord record = example();
  record.id = std::string(256, 'x');
  record.pod_uid = std::string(256, '\n');
  record.cgroup = std::string(kCgroupMax, ' ');
  record.why = std::string(10'000, ' ');
  const auto read = decode(encode(record));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->why.size(), kWhyMax);
}

TEST(JournalRecord, RefusesMalformedRecordsAndSkipsUnknownFields) {
  // The checksums are right in all of these.
  EXPECT_TRUE(decode("10eb725d drop gen=1 at=0 boot=b id=a later=1").has_value());
  EXPECT_FALSE(decode("2620310f forget id=a").has_value());
  EXPECT_FALSE(decode("594942e7 drop gen=1").has_value());
  EXPECT_FALSE(decode("128f680d drop id").has_value());
  EXPECT_FALSE(decode("d68855e8 drop id=a gen=x").has_value());
  EXPECT_FALSE(decode("c24e67dc drop id=%4").has_value());
  EXPECT_FALSE(decode("1fd92abe drop id=a at=99999999999999999").has_value());
  EXPECT_FALSE(decode(std::string(5000, 'a')).has_value());
  EXPECT_FALSE(decode("").has_value());
}

}  // namespace
}  // namespace sluice::node_agent
