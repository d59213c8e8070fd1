#include "telemetry/watched_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace activescale::telemetry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A file of which every text but "bad" can be used.
class WatchedFileTest : public ::testing::Test {
 protected:
  WatchedFileTest() { std::filesystem::remove(path_); }
  ~WatchedFileTest() override { std::filesystem::remove(path_); }

  void Write(const std::string& text) { std::ofstream(path_) << text; }

  const std::string path_ = ::testing::TempDir() + "/watched-file-test";
  Registry registry_;
  std::vector<std::string> used_;
  WatchedFile file_{{.path = path_,
                     .what = "list of things",
                     .reloads_metric = "things_reloads_total",
                     .faulty_metric = "things_file_faulty"},
                    [this](const std::string& text) -> base::Result<void> {
                      if (text == "bad") {
                        return base::Fail(base::Code::kInvalidArgument, "line 1: bad");
                      }
                      used_.push_back(text);
                      return {};
                    },
                    registry_};
};

TEST_F(WatchedFileTest, UsesEachNewTextOnce) {
  Write("a");
  ASSERT_TRUE(file_.Load());
  EXPECT_FALSE(file_.Poll());
  Write("b");
  EXPECT_TRUE(file_.Poll());
  EXPECT_FALSE(file_.Poll());
  EXPECT_THAT(used_, ElementsAre("a", "b"));
  EXPECT_THAT(registry_.Render(), HasSubstr("things_reloads_total{result=\"reloaded\"} 1\n"));
}

TEST_F(WatchedFileTest, AFaultKeepsWhatWasThereAndIsToldOnce) {
  Write("a");
  ASSERT_TRUE(file_.Load());
  Write("bad");
  EXPECT_FALSE(file_.Poll());
  EXPECT_FALSE(file_.Poll());
  EXPECT_THAT(registry_.Render(), HasSubstr("things_file_faulty 1\n"));
  EXPECT_THAT(registry_.Render(), HasSubstr("things_reloads_total{result=\"failed\"} 1\n"));
  std::filesystem::remove(path_);
  EXPECT_FALSE(file_.Poll());
  EXPECT_THAT(registry_.Render(), HasSubstr("things_reloads_total{result=\"failed\"} 2\n"));
  EXPECT_THAT(used_, ElementsAre("a"));
  Write("a");
  EXPECT_TRUE(file_.Poll()) << "a file that is back ends its fault, whatever it says";
  EXPECT_THAT(registry_.Render(), HasSubstr("things_file_faulty 0\n"));
}

TEST_F(WatchedFileTest, TheFirstReadingFailsByName) {
  const auto absent = file_.Load();
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, base::Code::kNotFound);
  EXPECT_THAT(absent.error().message, HasSubstr("cannot read the list of things " + path_));
  Write("bad");
  const auto bad = file_.Load();
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "list of things " + path_ + ": line 1: bad");
}

}  // namespace
}  // namespace activescale::telemetry
