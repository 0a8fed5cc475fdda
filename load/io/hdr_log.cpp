#include "load/io/hdr_log.h"

#include "common/base/check.h"
#include "common/kube/base64.h"
#include "common/values/rfc3339.h"

#include "load/core/second_rows.h"
#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>
#include <zlib.h>

namespace sluice::loadgen {

namespace {

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<Bytef> out(size);
  std::vector<Bytef> in(bytes.begin(), bytes.end());
  CHECK(compress(out.data(), &size, in.data(), in.size()) == Z_OK);
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size)};
}

std::string number(double value) {
  std::array<char, 40> out{};
  std::snprintf(out.data(), out.size(), "%.3f", value);
  return out.data();
}

// What separates fields of a log stands in no tag.
std::string tag_of(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == ',' || c == ' ' || static_cast<unsigned char>(c) < 0x20; }, '_');
  return name.empty() ? name : "Tag=" + name + ",";
}

}  // namespace

std::string hdr_text(std::span<const HdrBucket> buckets) {
  constexpr std::uint32_t kCookie = 0x1c849314;  // V2, compressed
  const std::string body = compressed(hdr_bytes(buckets));
  std::string out;
  for (const std::uint32_t value : {kCookie, static_cast<std::uint32_t>(body.size())}) {
    for (unsigned shift = 32; shift > 0; shift -= 8) {
      out += static_cast<char>(static_cast<unsigned char>(value >> (shift - 8) & 0xFFU));
    }
  }
  return kube::encode_base64(out + body);
}

std::string hdr_log(const Report& report, TimePoint started) {
  std::string out = "#[Histogram log format version 1.3]\n#[StartTime: " +
                    number(to_seconds(started.time_since_epoch())) + " (seconds since epoch), " +
                    rfc3339(started, Fraction::none) + "]\n" +
                    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
                    "\"Interval_Compressed_Histogram\"\n";
  for (const SecondRow& row : second_rows(report)) {
    if (!row.max) continue;
    std::vector<HdrBucket> buckets;
    for (const CompactHistogram::Bucket& bucket : row.counts->latency.buckets()) {
      buckets.emplace_back(bucket.index, bucket.count);
    }
    out += tag_of(row.target) + number(to_seconds(row.at)) + "," + number(to_seconds(row.length)) +
           "," + number(to_seconds(*row.max) * 1e3) + "," + hdr_text(buckets) + "\n";
  }
  return out;
}

}  // namespace sluice::loadgen
