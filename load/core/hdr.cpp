#include "load/core/hdr.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace sluice::loadgen {

namespace {

constexpr std::uint32_t kCookie = 0x1c849313;  // V2, with counts as variable-length integers
constexpr unsigned kDigits = 3;
constexpr std::uint64_t kRatio = 0x3ff0000000000000;  // 1.0: values are as they are

void append_big_endian(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = bytes; i > 0; --i) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * (i - 1)) & 0xFFU));
  }
}

// A signed number, small ones in few bytes: zigzag, then seven bits to a byte. Counts of requests
// never take the ninth byte, whose eight bits would all count.
void append_number(std::string& out, std::int64_t value) {
  auto rest = (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
  while (rest >= 0x80) {
    out += static_cast<char>(static_cast<unsigned char>((rest & 0x7FU) | 0x80U));
    rest >>= 7U;
  }
  out += static_cast<char>(static_cast<unsigned char>(rest));
}

double ms_of(Duration value) {
  return to_seconds(value) * 1e3;
}

// Of the middle of the buckets, which is what HdrHistogram takes.
double deviation_of(const Histogram& times) {
  const double mean = ms_of(times.mean());
  double sum = 0;
  for (const auto& [bucket, count] : times.buckets()) {
    const double distance = ms_of(Histogram::upper_edge_of(bucket)) - mean;
    sum += distance * distance * static_cast<double>(count);
  }
  return times.count() == 0 ? 0 : std::sqrt(sum / static_cast<double>(times.count()));
}

using Line = std::array<char, 200>;

// A row of the table; the last one has no `left`.
std::string row_of(double ms, double share, std::uint64_t count, double left) {
  Line line{};
  const auto total = static_cast<unsigned long long>(count);
  if (left > 0) {
    std::snprintf(line.data(), line.size(), "%12.3f %2.12f %10llu %14.2f\n", ms, share, total,
                  1 / left);
  } else {
    std::snprintf(line.data(), line.size(), "%12.3f %2.12f %10llu\n", ms, share, total);
  }
  return line.data();
}

std::string footer_of(const Histogram& times) {
  Line first{};
  Line second{};
  std::snprintf(first.data(), first.size(), "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
                ms_of(times.mean()), deviation_of(times));
  std::snprintf(second.data(), second.size(), "#[Max     = %12.3f, Total count    = %12llu]\n",
                ms_of(times.max()), static_cast<unsigned long long>(times.count()));
  return std::string{first.data()} + second.data() +
         "#[Buckets =           32, SubBuckets     =         2048]\n";
}

}  // namespace

std::string hdr_bytes(std::span<const HdrBucket> buckets) {
  std::string counts;
  std::uint32_t next = 0;
  for (const auto& [bucket, count] : buckets) {
    const std::uint32_t zeros = bucket - next;
    if (zeros == 1) append_number(counts, 0);
    if (zeros > 1) append_number(counts, -static_cast<std::int64_t>(zeros));
    append_number(counts, static_cast<std::int64_t>(count));
    next = bucket + 1;
  }
  std::string out;
  append_big_endian(out, kCookie, 4);
  append_big_endian(out, counts.size(), 4);
  append_big_endian(out, 0, 4);  // no shifted index
  append_big_endian(out, kDigits, 4);
  append_big_endian(out, 1, 8);  // the unit
  append_big_endian(out, static_cast<std::uint64_t>(Histogram::kLongest.count()), 8);
  append_big_endian(out, kRatio, 8);
  return out + counts;
}

std::string percentile_text(const Histogram& times) {
  constexpr double kStepsPerHalf = 5;
  std::string out = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
  double percent = 0;
  while (times.count() > 0) {
    const Duration value = times.percentile(percent);
    const std::uint64_t upto = times.count_to(value);
    const double left = 1 - percent / 100;
    if (upto == times.count()) {
      out += row_of(ms_of(times.max()), 1, upto, 0);
      break;
    }
    out += row_of(ms_of(value), percent / 100, upto, left);
    const double halves = std::floor(std::log2(1 / left)) + 1;
    percent += 100 / (kStepsPerHalf * std::exp2(halves));
  }
  return out + footer_of(times);
}

}  // namespace sluice::loadgen
