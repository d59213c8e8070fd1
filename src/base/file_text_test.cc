#include "base/file_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <utility>

namespace activescale::base {
namespace {

class FileTextTest : public testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

  const std::string path_ = testing::TempDir() + "/file-text-test";
};

TEST_F(FileTextTest, AFileIsReadWhole) {
  Write(std::string("a\0\r\n", 4));
  EXPECT_EQ(ReadFile(path_), std::string("a\0\r\n", 4));
  Write(std::string(100'000, 'x'));
  EXPECT_EQ(ReadFile(path_), std::string(100'000, 'x'));
  Write("");
  EXPECT_EQ(ReadFile(path_), "");
}

TEST_F(FileTextTest, WhatIsNoFileIsTold) {
  EXPECT_EQ(ReadFile(path_ + "-absent").error(), std::errc::no_such_file_or_directory);
  EXPECT_EQ(ReadFile(testing::TempDir()).error(), std::errc::is_a_directory);
  EXPECT_EQ(ReadTokenFile(testing::TempDir()), std::nullopt);
}

TEST_F(FileTextTest, ATokenEndsBeforeTheWhiteSpaceAndAnEmptyOneIsNone) {
  const std::pair<std::string, std::optional<std::string>> cases[] = {{"s3cret", "s3cret"},
                                                                      {"s3cret \t\r\n\n", "s3cret"},
                                                                      {"", std::nullopt},
                                                                      {" \n", std::nullopt}};
  for (const auto& [text, want] : cases) {
    Write(text);
    EXPECT_EQ(ReadTokenFile(path_), want) << text;
  }
  EXPECT_EQ(ReadTokenFile(path_ + "-absent"), std::nullopt);
}

}  // namespace
}  // namespace activescale::base
