#pragma once

#include "load/core/load_plan.h"
#include <nghttp2/nghttp2.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::loadgen {

/// The fields of HTTP/2 requests to one target, which differ in their path and their id alone.
class H2Head {
 public:
  H2Head(const TargetPlan& plan, SentAs as);
  ~H2Head() = default;
  H2Head(H2Head&&) = default;
  H2Head(const H2Head&) = delete;
  H2Head& operator=(H2Head&&) = delete;
  H2Head& operator=(const H2Head&) = delete;

  /// The fields of one request as nghttp2 takes them, until the next call; `id` empty: without.
  [[nodiscard]] std::span<const nghttp2_nv> with(std::string_view path, std::string_view id);

 private:
  void add(std::string name, std::string value);

  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<nghttp2_nv> fields_;  // those of texts_ and the path, and last the id
};

}  // namespace sluice::loadgen
