#include "series/metadata_book.h"

#include <gtest/gtest.h>

namespace activescale::series {
namespace {

MetadataPage Page(const std::string& name) { return {"shop", {{name, "gauge", "Help.", ""}}}; }

TEST(MetadataBookTest, SourcesThatTellTheSameShareAPageUntilTheLastIsGone) {
  MetadataBook book;
  int made = 0;
  const auto make = [&made] {
    ++made;
    return Page("up");
  };
  auto first = book.Share(1, 100, make);
  auto second = book.Share(1, 100, make);
  const auto other = book.Share(2, 100, [] { return Page("down"); });
  EXPECT_EQ(first, second);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(book.Pages().size(), 2);
  first.reset();
  EXPECT_EQ(book.Pages().size(), 2);
  second.reset();
  ASSERT_EQ(book.Pages().size(), 1);
  EXPECT_EQ(book.Pages()[0]->metrics[0].name, "down");
  EXPECT_NE(book.Share(1, 100, make), nullptr);
  EXPECT_EQ(made, 2);
}

TEST(MetadataBookTest, AFullBookTakesNoMoreUntilSomethingIsGone) {
  MetadataBook book;
  const auto make = [] { return Page("a"); };
  auto most = book.Share(1, MetadataBook::kMaxBytes - 10, make);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(book.Share(2, 11, make), nullptr);
  EXPECT_NE(book.Share(3, 10, make), nullptr);
  EXPECT_EQ(book.Share(4, MetadataBook::kMaxBytes + 1, make), nullptr);
  most.reset();
  EXPECT_NE(book.Share(2, 11, make), nullptr);
}

}  // namespace
}  // namespace activescale::series
