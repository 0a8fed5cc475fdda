#pragma once

#include "common/base/result.h"

#include "load/core/json_stream.h"
#include "load/core/placed_cells.h"
#include "load/core/recorded_request.h"
#include "load/core/trace.h"
#include "load/core/trace_time.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace sluice::loadgen {

/// The format `har`, what browsers and proxies record (HTTP Archive 1.2): one JSON document. Of the
/// entries are read when they began, how long they took, method, URL, the size of the request's
/// body, and the status. Headers and bodies are passed over, whatever bytes they have.
class HarTrace {
 public:
  /// Called with why an entry was not used.
  using SkipSink = std::function<void(Skip)>;

  /// Whether what begins so is a HAR file; nothing: that does not show yet.
  [[nodiscard]] static std::optional<bool> begins(std::string_view bytes);

  /// Takes the next bytes. The problem names the byte; after one nothing more may be fed.
  [[nodiscard]] std::optional<Problem> feed(std::string_view piece, const CellSink& sink,
                                            const SkipSink& skipped);

  /// The file has ended: passes on what is kept. The problem is that it ends too early.
  [[nodiscard]] std::optional<Problem> finish(const CellSink& sink);

  /// How many entries there were.
  [[nodiscard]] std::uint64_t entries() const { return entries_; }

  [[nodiscard]] PlacedCells& cells() { return cells_; }

 private:
  void take(std::string_view field, std::string_view value);
  std::optional<Skip> end_entry(const CellSink& sink);

  JsonStream json_;
  Dates dates_;
  std::uint64_t entries_ = 0;
  RecordedRequest request_;    // of the entry being read
  std::optional<Skip> wrong_;  // with it
  PlacedCells cells_{order_kept(TraceFormat::har)};
};

}  // namespace sluice::loadgen
