#include "autoscaler/io/page_answer.h"

#include "common/dashboard/page_files.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {
namespace {

constexpr int kNotModified = 304;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// By weak comparison: an intermediary that compresses marks the tag as weak.
bool has_tag(std::string_view if_none_match, std::string_view etag) {
  for (std::string_view each : http::parts_of(if_none_match, ',')) {
    each = trimmed(each);
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == etag || each == "*") return true;
  }
  return false;
}

// Of the file in gzip: a strong tag is of these bytes alone (RFC 9110, 8.8.3.3).
std::string packed_tag(std::string_view etag) {
  return std::string{etag.substr(0, etag.size() - 1)} + "-gzip\"";
}

// A coding that is refused has the quality 0.
bool accepts_gzip(std::string_view accept_encoding) {
  for (const std::string_view each : http::parts_of(accept_encoding, ',')) {
    const std::vector<std::string_view> parts = http::parts_of(each, ';');
    if (parts.empty() || trimmed(parts.front()) != "gzip") continue;
    const std::string_view quality = parts.size() > 1 ? trimmed(parts[1]) : "q=1";
    return quality.find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

}  // namespace

std::optional<api::ApiAnswer> page_answer(const api::ApiRequest& request,
                                          const http::ApiTarget& target) {
  if (target.path.size() > 1 || (request.method != "GET" && request.method != "HEAD")) {
    return std::nullopt;
  }
  const std::string_view name = target.path.empty() ? std::string_view{} : target.path.front();
  if (!target.path.empty() && name.empty()) return std::nullopt;
  const dashboard::PageFile* const file = dashboard::find_page(name);
  if (file == nullptr) return std::nullopt;
  api::ApiAnswer answer;
  answer.content_type = file->content_type;
  // It is asked for each time, and sent when it has changed.
  const bool packed = accepts_gzip(request.accept_encoding);
  const std::string etag = packed ? packed_tag(file->etag) : std::string{file->etag};
  answer.fields = {{"Cache-Control", "no-cache"}, {"ETag", etag}, {"Vary", "Accept-Encoding"}};
  if (has_tag(request.if_none_match, etag)) {
    answer.status = kNotModified;
    return answer;
  }
  if (packed) answer.fields.emplace_back("Content-Encoding", "gzip");
  answer.body = packed ? file->gzip : file->bytes;
  return answer;
}

}  // namespace sluice::autoscaler
