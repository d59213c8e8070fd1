#include "net/serving_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing/fake_clock.h"
#include "net/self_signed.h"

namespace activescale::net {
namespace {

using std::chrono::hours;
using Reload = ServingCertificate::Reload;

class ServingCertificateTest : public testing::Test {
 protected:
  ServingCertificateTest() {
    std::string pattern = testing::TempDir() + "/certXXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~ServingCertificateTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }
  [[nodiscard]] std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }
  TlsPair MakePair(hours lifetime = hours(24 * 90)) {
    return *MakeSelfSigned({"adapter.example"}, clock_.WallNow(), lifetime);
  }
  void WritePair(const TlsPair& pair) const {
    Write("tls.crt", pair.certificate_pem);
    Write("tls.key", pair.private_key_pem);
  }
  [[nodiscard]] ServingCertificateOptions Files() const {
    return {Path("tls.crt"), Path("tls.key"), "", {}};
  }
  [[nodiscard]] ServingCertificateOptions SelfSigned() const {
    return {"", "", Path("made/here"), {}};
  }

  base::FakeClock clock_;
  std::string directory_;
};

TEST_F(ServingCertificateTest, AChangedPairIsTakenAndUnchangedFilesDoNothing) {
  WritePair(MakePair(hours(48)));
  auto certificate = ServingCertificate::Load(Files(), clock_);
  ASSERT_TRUE(certificate) << certificate.error().message;
  const auto first = (*certificate)->context().Get();
  EXPECT_EQ((*certificate)->Poll(), Reload::kUnchanged);
  EXPECT_EQ((*certificate)->context().Get(), first);

  WritePair(MakePair(hours(72)));
  EXPECT_EQ((*certificate)->Poll(), Reload::kReloaded);
  EXPECT_NE((*certificate)->context().Get(), first);
  EXPECT_EQ((*certificate)->not_after(), clock_.WallNow() + hours(72));
}

TEST_F(ServingCertificateTest, AMismatchedPairKeepsTheOldOneAndIsToldOnce) {
  WritePair(MakePair());
  auto certificate = ServingCertificate::Load(Files(), clock_);
  const auto first = (*certificate)->context().Get();
  const TlsPair next = MakePair();
  Write("tls.crt", next.certificate_pem);  // half of a rotation
  EXPECT_EQ((*certificate)->Poll(), Reload::kFailed);
  EXPECT_EQ((*certificate)->Poll(), Reload::kUnchanged);
  EXPECT_EQ((*certificate)->context().Get(), first);
  Write("tls.key", next.private_key_pem);  // the other half
  EXPECT_EQ((*certificate)->Poll(), Reload::kReloaded);
  Write("tls.key", "no key");
  EXPECT_EQ((*certificate)->Poll(), Reload::kFailed);
}

TEST_F(ServingCertificateTest, DeletedFilesKeepTheOldPair) {
  WritePair(MakePair());
  auto certificate = ServingCertificate::Load(Files(), clock_);
  std::filesystem::remove(Path("tls.crt"));
  EXPECT_EQ((*certificate)->Poll(), Reload::kFailed);
  EXPECT_NE((*certificate)->context().Get(), nullptr);
  WritePair(MakePair());
  EXPECT_EQ((*certificate)->Poll(), Reload::kReloaded);
}

TEST_F(ServingCertificateTest, FilesReplacedThroughASymbolicLinkAreSeen) {
  const auto write_version = [&](const std::string& version) {
    const TlsPair pair = MakePair();
    std::filesystem::create_directory(Path(version));
    Write(version + "/tls.crt", pair.certificate_pem);
    Write(version + "/tls.key", pair.private_key_pem);
    std::filesystem::create_symlink(version, Path("next"));
    std::filesystem::rename(Path("next"), Path("..data"));
  };
  write_version("v1");
  std::filesystem::create_symlink("..data/tls.crt", Path("tls.crt"));
  std::filesystem::create_symlink("..data/tls.key", Path("tls.key"));
  auto certificate = ServingCertificate::Load(Files(), clock_);
  ASSERT_TRUE(certificate);
  write_version("v2");
  EXPECT_EQ((*certificate)->Poll(), Reload::kReloaded);
}

TEST_F(ServingCertificateTest, WithoutFilesMakesAPairAndUsesItAgain) {
  auto first = ServingCertificate::Load(SelfSigned(), clock_);
  ASSERT_TRUE(first) << first.error().message;
  const std::string made = Read("made/here/apiserver.crt");
  EXPECT_THAT(made, testing::StartsWith("-----BEGIN CERTIFICATE-----"));
  struct stat info{};
  ASSERT_EQ(stat(Path("made/here/apiserver.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);

  clock_.Advance(hours(24 * 300));
  ASSERT_TRUE(ServingCertificate::Load(SelfSigned(), clock_));
  EXPECT_EQ(Read("made/here/apiserver.crt"), made);
}

TEST_F(ServingCertificateTest, TheSelfSignedPairIsRenewedBeforeItExpiresWhileRunning) {
  auto certificate = ServingCertificate::Load(SelfSigned(), clock_);
  clock_.Advance(hours(24 * 334));
  EXPECT_EQ((*certificate)->Poll(), Reload::kUnchanged);
  clock_.Advance(hours(24 * 2));
  EXPECT_EQ((*certificate)->Poll(), Reload::kReloaded);
  EXPECT_EQ((*certificate)->not_after(), clock_.WallNow() + hours(24 * 365));
}

TEST_F(ServingCertificateTest, ABrokenSelfSignedPairIsMadeAnew) {
  ASSERT_TRUE(ServingCertificate::Load(SelfSigned(), clock_));
  Write("made/here/apiserver.key", "half a ke");
  auto certificate = ServingCertificate::Load(SelfSigned(), clock_);
  ASSERT_TRUE(certificate) << certificate.error().message;
}

TEST_F(ServingCertificateTest, FaultsAtStartSayWhichFileAndWhatToDo) {
  ServingCertificateOptions half = Files();
  half.private_key_file.clear();
  EXPECT_EQ(ServingCertificate::Load(half, clock_).error().code, base::Code::kInvalidArgument);

  const auto missing = ServingCertificate::Load(Files(), clock_);
  EXPECT_EQ(missing.error().code, base::Code::kNotFound);
  EXPECT_THAT(missing.error().message, testing::HasSubstr(Path("tls.crt")));

  WritePair({MakePair().certificate_pem, MakePair().private_key_pem});
  const auto mismatch = ServingCertificate::Load(Files(), clock_);
  EXPECT_EQ(mismatch.error().code, base::Code::kInvalidArgument);
  EXPECT_THAT(mismatch.error().message, testing::HasSubstr(Path("tls.key")));

  Write("file", "");
  ServingCertificateOptions unwritable;
  unwritable.directory = Path("file");  // not a directory
  const auto refused = ServingCertificate::Load(unwritable, clock_);
  EXPECT_EQ(refused.error().code, base::Code::kUnavailable);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("--tls-cert-file"));
}

TEST(SelfSignedTest, LocalNamesCoverLoopback) {
  EXPECT_THAT(LocalNames(), testing::IsSupersetOf({"localhost", "127.0.0.1", "::1"}));
  EXPECT_FALSE(MakeSelfSigned({}, std::chrono::system_clock::now(), hours(1)));
  const std::string long_name(70, 'a');
  EXPECT_TRUE(MakeSelfSigned({long_name + ".svc"}, std::chrono::system_clock::now(), hours(1)));
}

}  // namespace
}  // namespace activescale::net
