#include "programs/sluice/engine/callers.h"

#include <algorithm>

namespace sluice::local {
namespace {

constexpr std::uint64_t kFnvStart = 14695981039346656037ULL;
constexpr std::uint64_t kFnvPrime = 1099511628211ULL;

std::uint64_t hashed(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kFnvPrime;
  return (hash ^ 0xFFU) * kFnvPrime;
}

std::int64_t slice_of(TimePoint now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count() / 10;
}

}  // namespace

std::int64_t Callers::sum(const Row& row, std::int64_t slice) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < kSlices; ++i) {
    if (slice - row.slices[i] < static_cast<std::int64_t>(kSlices)) total += row.counts[i];
  }
  return total;
}

void Callers::record(std::string_view client, std::string_view method, std::string_view path,
                     TimePoint now) {
  path = path.substr(0, kTextMax);
  const std::uint64_t hash = hashed(hashed(hashed(kFnvStart, client), method), path);
  const std::int64_t slice = slice_of(now);
  auto row = std::find_if(rows_.begin(), rows_.end(),
                          [hash](const Row& candidate) { return candidate.hash == hash; });
  if (row == rows_.end()) {
    if (rows_.size() < kEntriesMax) {
      row = rows_.insert(rows_.end(), Row{});
    } else {
      row = std::min_element(rows_.begin(), rows_.end(), [slice](const Row& a, const Row& b) {
        return sum(a, slice) < sum(b, slice);
      });
    }
    *row = Row{};
    row->hash = hash;
    row->client = client;
    row->request.append(method).append(" ").append(path);
  }
  const auto place = static_cast<std::size_t>(slice % static_cast<std::int64_t>(kSlices));
  if (row->slices[place] != slice) {
    row->slices[place] = slice;
    row->counts[place] = 0;
  }
  ++row->counts[place];
}

std::vector<Callers::Entry> Callers::last_minute(TimePoint now) const {
  std::vector<Entry> entries;
  const std::int64_t slice = slice_of(now);
  for (const Row& row : rows_) {
    const std::int64_t count = sum(row, slice);
    if (count > 0) entries.push_back({row.client, row.request, count});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.count > b.count; });
  return entries;
}

}  // namespace sluice::local
