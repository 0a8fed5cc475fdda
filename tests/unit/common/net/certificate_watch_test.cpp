// Certificate files that change on disk, as Kubernetes changes them and otherwise.

#include "common/net/tls/certificate_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace sluice::net {
namespace {

namespace fs = std::filesystem;

class CertificateWatchTest : public ::testing::Test {
 protected:
  CertificateWatchTest() {
    std::string name = (fs::temp_directory_path() / "sluice-certs-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }

  ~CertificateWatchTest() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream{directory_ / name, std::ios::binary} << text;
  }

  void write_pair(const std::string& text) const {
    write("tls.crt", text + " certificate");
    write("tls.key", text + " key");
  }

  // A secret's volume: the files are links through a link that is swapped.
  void mount(const std::string& version) const {
    fs::create_directory(directory_ / version);
    write_pair_in(version);
    std::error_code ignored;
    fs::remove(directory_ / "..data_tmp", ignored);
    fs::create_directory_symlink(version, directory_ / "..data_tmp");
    fs::rename(directory_ / "..data_tmp", directory_ / "..data");
    for (const char* name : {"tls.crt", "tls.key"}) {
      if (!fs::exists(fs::symlink_status(directory_ / name))) {
        fs::create_symlink(fs::path{"..data"} / name, directory_ / name);
      }
    }
  }

  void write_pair_in(const std::string& version) const {
    write(version + "/tls.crt", version + " certificate");
    write(version + "/tls.key", version + " key");
  }

  static std::string certificate_in(const Result<CertificateWatch::News, Problem>& news) {
    if (!news) return "problem";
    return *news ? (*news)->certificate : "nothing";
  }

  fs::path directory_;
};

TEST_F(CertificateWatchTest, ReportsWhetherBothFilesExist) {
  const CertificateWatch watch{TlsFiles::in(directory_.string())};
  EXPECT_FALSE(*watch.present());

  write("tls.crt", "x");
  EXPECT_FALSE(*watch.present());

  write("tls.key", "x");
  EXPECT_TRUE(*watch.present());
  EXPECT_FALSE(*CertificateWatch{TlsFiles::in((directory_ / "none").string())}.present());
}

TEST_F(CertificateWatchTest, ReportsAFileSystemThatDoesNotAnswer) {
  write("file", "x");

  EXPECT_FALSE(CertificateWatch{TlsFiles::in((directory_ / "file").string())}.present());
}

TEST_F(CertificateWatchTest, ReturnsAPairOnce) {
  write_pair("first");
  CertificateWatch watch{TlsFiles::in(directory_.string())};

  EXPECT_EQ(certificate_in(watch.look()), "first certificate");
  EXPECT_EQ(certificate_in(watch.look()), "nothing");
}

TEST_F(CertificateWatchTest, ReturnsAPairThatWasWrittenInPlace) {
  write_pair("first");
  CertificateWatch watch{TlsFiles::in(directory_.string())};
  EXPECT_EQ(certificate_in(watch.look()), "first certificate");

  write_pair("second longer");

  EXPECT_EQ(certificate_in(watch.look()), "second longer certificate");
}

TEST_F(CertificateWatchTest, ReturnsAPairWhoseLinkWasSwapped) {
  mount("v1");
  CertificateWatch watch{TlsFiles::in(directory_.string())};
  EXPECT_EQ(certificate_in(watch.look()), "v1 certificate");

  mount("v2");

  EXPECT_EQ(certificate_in(watch.look()), "v2 certificate");
  EXPECT_EQ(certificate_in(watch.look()), "nothing");
}

TEST_F(CertificateWatchTest, ReturnsAPairOfWhichOnlyTheKeyChanged) {
  write_pair("first");
  CertificateWatch watch{TlsFiles::in(directory_.string())};
  EXPECT_EQ(certificate_in(watch.look()), "first certificate");

  write("tls.key", "another key");

  const auto news = watch.look();
  ASSERT_TRUE(news && *news);
  EXPECT_EQ((*news)->key, "another key");
}

TEST_F(CertificateWatchTest, ReturnsNothingForFilesThatWereOnlyTouched) {
  write_pair("first");
  CertificateWatch watch{TlsFiles::in(directory_.string())};
  EXPECT_EQ(certificate_in(watch.look()), "first certificate");

  fs::last_write_time(directory_ / "tls.crt", fs::file_time_type::min() + std::chrono::hours{24});

  EXPECT_EQ(certificate_in(watch.look()), "nothing");
}

TEST_F(CertificateWatchTest, FindsAChangeWithoutANewFileTimeWithinAMinute) {
  write_pair("first");
  CertificateWatch watch{TlsFiles::in(directory_.string())};
  EXPECT_EQ(certificate_in(watch.look()), "first certificate");
  const auto written = fs::last_write_time(directory_ / "tls.key");

  write("tls.key", "furst key");
  fs::last_write_time(directory_ / "tls.key", written);

  int looks = 0;
  while (certificate_in(watch.look()) == "nothing" && looks < 100) ++looks;
  EXPECT_LE(looks, 60);
}

TEST_F(CertificateWatchTest, ReportsMissingFilesOnceAndContinues) {
  write_pair("first");
  CertificateWatch watch{TlsFiles::in(directory_.string())};
  EXPECT_EQ(certificate_in(watch.look()), "first certificate");

  fs::remove(directory_ / "tls.key");
  EXPECT_EQ(certificate_in(watch.look()), "problem");
  EXPECT_EQ(certificate_in(watch.look()), "nothing");

  write_pair("second");
  EXPECT_EQ(certificate_in(watch.look()), "second certificate");
}

TEST_F(CertificateWatchTest, RefusesAFileTooLargeToBeACertificate) {
  write("tls.crt", std::string((1 << 20) + 1, 'x'));
  write("tls.key", "key");
  CertificateWatch watch{TlsFiles::in(directory_.string())};

  EXPECT_FALSE(watch.look());
}

}  // namespace
}  // namespace sluice::net
