#include "common/kube/bearer.h"

#include "common/files/file_io.h"

#include <algorithm>

namespace sluice::kube {
namespace {

constexpr Duration kReadEach = std::chrono::minutes{1};
constexpr std::size_t kTokenMax = 64 * 1024;

}  // namespace

std::string bearer_token(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  text = text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
  const bool fits = text.size() <= kTokenMax && std::all_of(text.begin(), text.end(), [](char c) {
                      return c > 0x20 && c < 0x7f;
                    });
  return fits ? std::string{text} : std::string{};
}

Bearer::Bearer(const Access& access, const log::Logger& log)
    : file_{access.token_file}, log_{log}, token_{bearer_token(access.token)} {}

const std::string& Bearer::token(TimePoint now) {
  if (!file_.empty() && (stale_ || now - read_at_ >= kReadEach || now < read_at_)) {
    read_at_ = now;
    stale_ = false;
    read();
  }
  return token_;
}

void Bearer::replace(std::string_view token) {
  token_ = bearer_token(token);
}

bool Bearer::refused() {
  stale_ = true;
  return !file_.empty();
}

void Bearer::read() {
  const auto content = files::read_file(file_);
  std::string fresh = content && *content ? bearer_token(**content) : std::string{};
  if (fresh.empty()) {
    if (readable_) {
      log_.write(log::Severity::warning, "the token of the Kubernetes API cannot be read",
                 {{"file", file_.string()}});
    }
    readable_ = false;
    return;
  }
  readable_ = true;
  token_ = std::move(fresh);
}

}  // namespace sluice::kube
