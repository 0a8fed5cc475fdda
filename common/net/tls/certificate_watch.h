#pragma once

#include "common/base/result.h"
#include "common/net/tls/tls_context.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::net {

/// The files of a pair.
struct TlsFiles {
  std::string certificate;
  std::string key;

  /// `tls.crt` and `tls.key`, as Kubernetes mounts a Secret.
  [[nodiscard]] static TlsFiles in(const std::string& directory) {
    return {.certificate = directory + "/tls.crt", .key = directory + "/tls.key"};
  }

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

/// Looks after the two files of a pair. A look costs two stat calls; the files are
/// read when one of them is another file, has another size or was written, and once a minute in any
/// case, for file systems whose times cannot be relied on.
class CertificateWatch {
 public:
  explicit CertificateWatch(TlsFiles files);

  /// What a look brings: a pair that was not there before, or nothing new.
  using News = std::optional<TlsPair>;

  /// Whether both files are there. Problem: the file system gives no answer.
  [[nodiscard]] Result<bool, Problem> present() const;

  /// A pair whose contents differ from those of the last one returned. A problem (a file is gone or
  /// cannot be read) is reported once, until a check succeeds again.
  [[nodiscard]] Result<News, Problem> look();

  [[nodiscard]] const std::string& certificate_path() const { return paths_[0]; }

 private:
  // The stat of a file; Kubernetes swaps a link, so that a new pair is another inode.
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t written_ns = 0;

    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  using Stamps = std::array<Stamp, 2>;

  [[nodiscard]] static Result<Stamp, Problem> stamp_of(const std::string& path);
  [[nodiscard]] Result<Stamps, Problem> stamps() const;
  [[nodiscard]] Result<News, Problem> read(const Stamps& before);
  [[nodiscard]] Result<News, Problem> once(Problem problem);

  std::array<std::string, 2> paths_;  // certificate, key
  Stamps seen_{};
  std::optional<TlsDigest> digest_;
  std::string told_;
  int looks_since_read_ = 0;
};

}  // namespace sluice::net
