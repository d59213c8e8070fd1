#include "redis/address.h"

#include <gtest/gtest.h>

namespace activescale::redis {
namespace {

TEST(AddressTest, ReadsWhatUsersWrite) {
  const struct {
    const char* text;
    const char* want;  // null: refused
  } cases[] = {
      {"redis", "redis:6379"},
      {"redis:7000", "redis:7000"},
      {"10.0.0.1:6380", "10.0.0.1:6380"},
      {"[::1]", "[::1]:6379"},
      {"[fe80::1]:7000", "[fe80::1]:7000"},
      {"::1", "[::1]:6379"},
      {"", nullptr},
      {":6379", nullptr},
      {"redis:", nullptr},
      {"redis:0", nullptr},
      {"redis:65536", nullptr},
      {"redis:6379x", nullptr},
      {"redis 1:6379", nullptr},
      {"user@redis:6379", nullptr},
      {"[::1", nullptr},
      {"[::1]x", nullptr},
      {"[]:6379", nullptr},
  };
  for (const auto& c : cases) {
    const auto address = ParseAddress(c.text, 6379);
    EXPECT_EQ(address.has_value(), c.want != nullptr) << c.text;
    if (address && c.want != nullptr) {
      EXPECT_EQ(address->ToString(), c.want);
    }
  }
}

}  // namespace
}  // namespace activescale::redis
