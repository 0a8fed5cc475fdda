#include "common/net/tls/certificate_watch.h"

#include <cerrno>
#include <fstream>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace sluice::net {
namespace {

constexpr std::int64_t kFileBytesMax = 1 << 20;
constexpr int kLooksBetweenReads = 60;

std::string error_text() {
  return std::generic_category().message(errno);
}

std::optional<std::string> contents_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file.is_open()) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  if (file.bad()) return std::nullopt;
  return text;
}

}  // namespace

CertificateWatch::CertificateWatch(TlsFiles files)
    : paths_{std::move(files.certificate), std::move(files.key)} {}

Result<bool, Problem> CertificateWatch::present() const {
  for (const std::string& path : paths_) {
    struct stat found {};

    if (::stat(path.c_str(), &found) == 0) continue;
    if (errno == ENOENT) return false;
    return Problem{"cannot check " + path + ": " + error_text(),
                   "make the certificates readable, or remove them"};
  }
  return true;
}

Result<CertificateWatch::Stamp, Problem> CertificateWatch::stamp_of(const std::string& path) {
  struct stat found {};

  if (::stat(path.c_str(), &found) != 0) {
    return Problem{"cannot check " + path + ": " + error_text(), ""};
  }
  if (found.st_size > kFileBytesMax) {
    return Problem{path + " has more than " + std::to_string(kFileBytesMax) + " bytes",
                   "give a PEM file"};
  }
  return Stamp{found.st_dev, found.st_ino, found.st_size,
               found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

Result<CertificateWatch::Stamps, Problem> CertificateWatch::stamps() const {
  Stamps found{};
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const auto stamp = stamp_of(paths_[i]);
    if (!stamp) return stamp.error();
    found[i] = *stamp;
  }
  return found;
}

Result<CertificateWatch::News, Problem> CertificateWatch::look() {
  const auto now = stamps();
  if (!now) return once(now.error());
  if (*now == seen_ && ++looks_since_read_ < kLooksBetweenReads) return News{};
  return read(*now);
}

Result<CertificateWatch::News, Problem> CertificateWatch::read(const Stamps& before) {
  std::array<std::string, 2> halves;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    auto contents = contents_of(paths_[i]);
    if (!contents) {
      return once({"cannot read " + paths_[i] + ": " + error_text(), "make it readable"});
    }
    halves[i] = std::move(*contents);
  }
  const auto after = stamps();
  if (!after) return once(after.error());
  // Swapped while they were read: the halves may not belong together. The next look is soon.
  if (*after != before) return News{};
  seen_ = before;
  looks_since_read_ = 0;
  told_.clear();
  TlsPair pair{std::move(halves[0]), std::move(halves[1])};
  const TlsDigest digest = digest_of(pair);
  if (digest_ == digest) return News{};
  digest_ = digest;
  return News{std::move(pair)};
}

Result<CertificateWatch::News, Problem> CertificateWatch::once(Problem problem) {
  if (problem.what == told_) return News{};
  told_ = problem.what;
  return problem;
}

}  // namespace sluice::net
