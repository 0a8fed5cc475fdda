#include "common/kube/collection_text.h"

#include <vector>

namespace sluice::kube {
namespace {

// Objects in one answer: five hundred pods have some 5 MiB.
constexpr std::string_view kChunk = "500";

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return parts;
}

std::string with_selectors(const CollectionQuery& query, std::string path) {
  if (!query.labels.empty()) path += "&labelSelector=" + query_escape(query.labels);
  if (!query.fields.empty()) path += "&fieldSelector=" + query_escape(query.fields);
  return path;
}

}  // namespace

std::string query_escape(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xFU];
    }
  }
  return out;
}

std::string list_path(const CollectionQuery& query, std::string_view next) {
  std::string path = std::string{query.path}.append("?limit=").append(kChunk);
  if (!next.empty()) path += "&continue=" + query_escape(next);
  return with_selectors(query, std::move(path));
}

std::string watch_path(const CollectionQuery& query, std::string_view version,
                       std::chrono::seconds timeout) {
  std::string path = std::string{query.path}.append("?watch=1&allowWatchBookmarks=true");
  if (version.empty()) {
    path += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  } else {
    path += "&resourceVersion=" + query_escape(version);
  }
  path += "&timeoutSeconds=" + std::to_string(timeout.count());
  return with_selectors(query, std::move(path));
}

std::string resource_of(std::string_view path) {
  const std::vector<std::string_view> parts = parts_of(path);
  const bool core = !parts.empty() && parts.front() == "api";
  std::size_t at = core ? 2 : 3;  // api/v1/…, apis/GROUP/VERSION/…
  if (parts.size() <= at) return std::string{path};
  std::string space;
  if (parts[at] == "namespaces" && parts.size() > at + 2) {
    space = parts[at + 1];
    at += 2;
  }
  std::string resource{parts[at]};
  if (!core) resource.append(".").append(parts[1]);
  return space.empty() ? resource : resource + " in namespace " + space;
}

}  // namespace sluice::kube
