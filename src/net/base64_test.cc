#include "net/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace activescale::net {
namespace {

TEST(Base64Test, EncodesAndDecodesRfc4648Vectors) {
  const std::pair<std::string, std::string> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(EncodeBase64(bytes), text);
    EXPECT_EQ(DecodeBase64(text), bytes);
  }
  EXPECT_EQ(DecodeBase64("Zm9v\n Ym\r\nFy"), "foobar");
}

TEST(Base64Test, WhatIsNotBase64IsNothing) {
  for (const std::string text : {"Zg", "Zg=", "Z===", "====", "Zm9v!A==", "Zg==Zg==", "Zm 9"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace activescale::net
